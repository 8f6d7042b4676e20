//! The interpreter on the kernels of the forms: its instructions share no code with the emulator's,
//! so that both and the reference are three opinions.

use std::collections::BTreeMap;

use ptxasw::interp::{self, Fault, FaultKind};
use ptxasw::launch::{Argument, Buffer, DEFAULT_LIMIT, Launch, Meet, Type};
use ptxasw::ptx::{self, Depth, Module};
use ptxasw::source::SourceFile;

use super::check::HEADER;
use super::form::Form;
use super::operands::{self, Random};
use super::reference;

/// Launches per form.
const ROUNDS: usize = if cfg!(debug_assertions) { 12 } else { 200 };

/// Compares what the interpreter stores with the reference. False where the interpreter does not
/// model the instruction and says so.
///
/// # Errors
/// The first difference.
pub fn check(form: &Form) -> Result<bool, String> {
    let fail = |what: String| format!("`{}`: {what}", form.line);
    let source = SourceFile::new("form.ptx", format!("{HEADER}{}", form.kernel("k")));
    let module = ptx::parse(&source, Depth::All).map_err(|e| fail(e.to_string()))?;
    let mut random = Random::new(&form.line);
    for _ in 0..ROUNDS {
        let values = operands::values(form, &mut random);
        let carry = operands::carry(&mut random);
        let Some(expected) = reference::results(form, &values, carry) else { continue };
        match run(&module, &values, carry, expected.len()) {
            Ok(actual) if actual == expected => {}
            Ok(actual) => {
                let what = format!("of {values:x?}, {carry} is {expected:x?}, not {actual:x?}");
                return Err(fail(what));
            }
            Err(fault) if fault.kind == FaultKind::Unsupported => return Ok(false),
            Err(fault) => return Err(fail(fault.diagnostic(&source).to_string())),
        }
    }
    Ok(true)
}

fn run(module: &Module<'_>, values: &[u64], carry: u64, results: usize) -> Result<Vec<u64>, Fault> {
    let out = Buffer { ty: Type::U64, bytes: vec![0; 8 * results] };
    let mut args = vec![
        Argument::Pointer { buffer: "out".to_owned(), offset: 0 },
        Argument::Value((carry as u32).to_le_bytes().to_vec()),
    ];
    args.extend(values.iter().map(|value| Argument::Value(value.to_le_bytes().to_vec())));
    let launch = Launch {
        races: false,
        kernel: None,
        grid: [1; 3],
        block: [1; 3],
        dynamic_shared: 0,
        buffers: BTreeMap::from([("out".to_owned(), out)]),
        pointers: Default::default(),
        args,
        limit: DEFAULT_LIMIT,
        meet: Meet::default(),
        values: Default::default(),
        store_conflicts: true,
        variables: None,
        symbolic_args: Default::default(),
        uninitialized: true,
    };
    let outcome = interp::run(module, &launch)?;
    Ok(outcome.buffers["out"].elements().collect())
}
