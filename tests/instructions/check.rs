//! Emulates the kernel of a form and holds the terms it stores against the reference.

use ptxasw::cfg::{self, Inst};
use ptxasw::emulate::{self, Effect, KernelTrace, Limits, SymbolKind};
use ptxasw::expr::{Evaluator, SymbolId, TermId};
use ptxasw::ptx::{self, Depth};
use ptxasw::solver;
use ptxasw::source::SourceFile;
use typed_index_collections::TiVec;

use super::form::Form;
use super::operands::{self, Random};
use super::reference;

/// What every module begins with.
pub const HEADER: &str = ".version 8.2\n.target sm_90\n.address_size 64\n";

/// Values for how many operand tuples are computed: as many as this many evaluated terms allow, but
/// within [`ROUNDS`].
const EVALUATIONS: usize = if cfg!(debug_assertions) { 8_000 } else { 2_000_000 };
const ROUNDS: (usize, usize) = if cfg!(debug_assertions) { (100, 1_000) } else { (4_000, 20_000) };
/// One in `BY_Z3` tuples is computed by z3, too.
const BY_Z3: usize = if cfg!(debug_assertions) { 50 } else { 500 };

/// Applies a function to every instruction of a module's only kernel.
///
/// # Errors
/// The mistake in the text.
pub fn with_instructions<T>(
    text: &str,
    visit: impl FnMut(&Inst<'_, '_>) -> T,
) -> Result<Vec<T>, String> {
    let source = SourceFile::new("kernel.ptx", text);
    let module = ptx::parse(&source, Depth::All).map_err(|e| e.to_string())?;
    let function = module.functions().next().ok_or("no function")?;
    let flow = cfg::build(&source, function).map_err(|e| e.to_string())?;
    Ok(flow.insts.iter().map(visit).collect())
}

/// The trace of a module's only kernel, and the values it stores, in order.
///
/// # Errors
/// The mistake in the text.
pub fn stored(text: &str) -> Result<(KernelTrace, Vec<Option<TermId>>), String> {
    let source = SourceFile::new("kernel.ptx", text);
    let module = ptx::parse(&source, Depth::All).map_err(|e| e.to_string())?;
    let function = module.functions().next().ok_or("no function")?;
    let flow = cfg::build(&source, function).map_err(|e| e.to_string())?;
    let trace = emulate::run(function, &flow, &Limits::default()).map_err(|e| e.0)?;
    let stores = trace.accesses.iter().filter(|access| access.effect == Effect::Store);
    let values = stores.flat_map(|access| access.values.iter().copied()).collect();
    Ok((trace, values))
}

/// Compares a form's terms with the reference.
///
/// # Errors
/// The first difference.
pub fn check(form: &Form) -> Result<(), String> {
    let fail = |what: String| format!("`{}`: {what}", form.line);
    let text = format!("{HEADER}{}", form.kernel("k"));
    let (trace, terms) = stored(&text).map_err(fail)?;
    let terms: Option<Vec<TermId>> = terms.into_iter().collect();
    let terms = terms.ok_or_else(|| fail("a stored value is not known".to_owned()))?;
    let inputs = inputs(&trace).map_err(fail)?;
    let mut random = Random::new(&form.line);
    let (least, most) = ROUNDS;
    let rounds = (EVALUATIONS / trace.arena.len()).clamp(least, most);
    let mut compared = 0;
    for round in 0..rounds {
        let values = operands::values(form, &mut random);
        let carry = operands::carry(&mut random);
        let Some(expected) = reference::results(form, &values, carry) else { continue };
        compared += 1;
        let assign = |symbol: SymbolId| match inputs[symbol] {
            Input::Source(index) => values[index],
            Input::Carry => carry,
            // Not to be mistaken for a value that does not matter.
            Input::Other => 0x1234_5678_9abc_def1 ^ round as u64,
        };
        let mut evaluator = Evaluator::new(&trace.arena, |symbol, _| assign(symbol));
        let actual: Vec<u64> = terms.iter().map(|&term| evaluator.value(term)).collect();
        if actual != expected {
            return Err(fail(format!("of {values:x?}, {carry} is {expected:x?}, not {actual:x?}")));
        }
        if round % BY_Z3 == 0 {
            let by_z3: Vec<Option<u64>> = terms
                .iter()
                .map(|&term| solver::value(&trace.arena, &trace.symbols, term, &assign))
                .collect();
            if by_z3 != expected.iter().map(|&value| Some(value)).collect::<Vec<_>>() {
                let what = format!("of {values:x?}, {carry}: z3 has {by_z3:x?} for {expected:x?}");
                return Err(fail(what));
            }
        }
    }
    // The manual leaves some results open, but never most of them.
    if compared * 20 < rounds {
        return Err(fail(format!("only {compared} of {rounds} operand tuples have a result")));
    }
    Ok(())
}

#[derive(Clone, Copy)]
enum Input {
    Source(usize),
    Carry,
    Other,
}

/// What each symbol of the trace stands for.
fn inputs(trace: &KernelTrace) -> Result<TiVec<SymbolId, Input>, String> {
    trace
        .symbols
        .iter()
        .map(|(_, info)| match &info.kind {
            SymbolKind::Parameter { name, .. } if name == "carry" => Ok(Input::Carry),
            SymbolKind::Parameter { name, .. } => match name.strip_prefix('s') {
                Some(number) => number.parse().map(Input::Source).map_err(|e| e.to_string()),
                None => Ok(Input::Other),
            },
            _ => Ok(Input::Other),
        })
        .collect()
}
