//! One file's way through the program, as one function; every subcommand is this line stopped
//! earlier or joined later.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use rayon::prelude::*;

use crate::cfg::{self, Flow};
use crate::emulate::{self, KernelTrace, Limits};
use crate::ptx::{self, Body, Depth, Function, Module, StateSpace, Statement};
use crate::report::{self, Decision, KernelReport, LoadReport, Report};
use crate::rewrite::{self, Edit, Edits, Mode, Names, StrategyName};
use crate::shuffle::{self, Finding, Refusal, Verdict};
use crate::source::{Diagnostic, SourceFile};
use crate::timings::Timings;
use crate::verify::{self, Verdict as Judged};

pub use crate::rewrite::LineMap;

/// What the user may choose about a rewrite.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Which version of the code is wanted.
    pub mode: Mode,
    /// Which code stands for a decision.
    pub strategy: StrategyName,
    /// How decisions are made.
    pub shuffle: shuffle::Options,
    /// Bounds on the work.
    pub limits: Limits,
    /// Look into every body, also those with too few loads for an exchange, to report their loads.
    pub all_bodies: bool,
    /// Only this kernel.
    pub kernel: Option<String>,
    /// Adds up where the time goes.
    pub timings: Option<Arc<Timings>>,
    /// Number of the first accepted candidate to replace, from 1 in source order.
    pub first_shuffle: Option<usize>,
    /// Number of the last accepted candidate to replace.
    pub last_shuffle: Option<usize>,
    /// Functions to leave as they are, and why.
    pub left_out: Vec<(String, String)>,
}

impl Options {
    fn reason_to_leave_out(&self, function: &Function<'_>) -> Option<&String> {
        self.left_out.iter().find(|(name, _)| name == function.name.text).map(|(_, reason)| reason)
    }
}

/// A finished rewrite.
#[derive(Debug)]
pub struct Rewritten {
    /// The new text; equal to the input where nothing was replaced.
    pub text: String,
    /// What was decided.
    pub report: Report,
    /// Which line of the input each line of `text` came from.
    pub lines: LineMap,
}

/// One function on its way: everything that was found out about it.
struct Analysis<'m, 's> {
    function: &'m Function<'s>,
    result: Result<Decided<'m, 's>, String>,
}

struct Decided<'m, 's> {
    flow: Flow<'m, 's>,
    trace: KernelTrace,
    findings: Vec<Finding>,
}

/// Rewrites one module.
///
/// # Errors
/// A syntax error. Whatever else goes wrong inside a function leaves that function as it was and
/// says so in the report.
pub fn rewrite(source: &SourceFile, options: &Options) -> Result<Rewritten, Diagnostic> {
    let depth = if options.all_bodies { Depth::All } else { Depth::Rewritable };
    let timings = options.timings.as_deref();
    let module = Timings::measure(timings, "parse", || ptx::parse(source, depth))?;
    let unsupported = unsupported(&module);
    let mut analyses: Vec<Analysis<'_, '_>> = module
        .functions()
        .filter(|function| wanted(function, options))
        .collect::<Vec<_>>()
        .par_iter()
        .map(|&function| Analysis {
            function,
            result: match (&unsupported, options.reason_to_leave_out(function)) {
                (Some(reason), _) | (None, Some(reason)) => Err(reason.clone()),
                (None, None) => analyse(source, function, options),
            },
        })
        .collect();
    Timings::measure(timings, "select", || select(&mut analyses, options));
    let report = Report {
        file: source.name().to_owned(),
        kernels: analyses.iter().map(|analysis| kernel_report(source, analysis)).collect(),
    };
    let unchanged =
        |report| Rewritten { text: source.text().to_owned(), report, lines: LineMap::default() };
    let Some(strategy) = rewrite::strategy(options.mode, options.strategy) else {
        return Ok(unchanged(report));
    };
    let names = Names::for_text(source.text());
    let mut edits: Vec<Edit> = Vec::new();
    for analysis in &analyses {
        let (Ok(decided), Body::Parsed { span, .. }) = (&analysis.result, &analysis.function.body)
        else {
            continue;
        };
        let body = span.start as usize + 1;
        let Decided { flow, trace, findings } = decided;
        let plan =
            rewrite::plan(source, flow, trace, findings, body, &names, options.shuffle.planted);
        if !plan.replacements.is_empty() {
            edits.extend(Timings::measure(timings, "rewrite", || strategy.edits(&plan)));
        }
    }
    match Edits::new(edits) {
        Ok(edits) if edits.is_empty() => Ok(unchanged(report)),
        Ok(edits) => {
            let (text, lines) = edits.apply(source.text());
            Ok(Rewritten { text, report, lines })
        }
        Err(overlap) => {
            log::error!("{}: {overlap}; the file is left as it is", source.name());
            Ok(unchanged(report))
        }
    }
}

/// Rewrites one module and proves the result ([`verify::verify`]); functions for which there is no
/// proof are left as they are, and the report says so.
///
/// # Errors
/// A syntax error.
pub fn rewrite_proved(source: &SourceFile, options: &Options) -> Result<Rewritten, Diagnostic> {
    let rewritten = rewrite(source, options)?;
    if rewritten.text == source.text() {
        return Ok(rewritten);
    }
    let result = SourceFile::new(source.name(), rewritten.text.as_str());
    let judged = verify::verify(source, &result, &verify::Options::default())?;
    let unproved: Vec<(String, String)> = judged
        .functions
        .iter()
        .filter(|function| function.verdict != Judged::Equal)
        .map(|function| {
            let why = function.problems.first().map_or("", |problem| problem.reason.as_str());
            log::warn!("{}: {}: not proved: {why}", source.name(), function.name);
            (function.name.clone(), format!("the rewrite was not proved: {why}"))
        })
        .collect();
    if unproved.is_empty() && judged.problems.is_empty() {
        return Ok(rewritten);
    }
    let mut options = options.clone();
    options.left_out.extend(unproved);
    if judged.problems.is_empty() {
        rewrite(source, &options)
    } else {
        // Something outside of functions: nothing of it is used.
        options.mode = Mode::Original;
        rewrite(source, &options)
    }
}

/// What a visitor of [`for_each_trace`] sees of a function: its control flow and trace, or why there
/// is none.
pub type Traced<'a, 'm, 's> = Result<(&'a Flow<'m, 's>, &'a mut KernelTrace), String>;

/// Parses a module and emulates the functions wanted, one after the other.
///
/// # Errors
/// A syntax error.
pub fn for_each_trace(
    source: &SourceFile,
    options: &Options,
    visit: &mut dyn FnMut(&Function<'_>, Traced<'_, '_, '_>),
) -> Result<(), Diagnostic> {
    let module = ptx::parse(source, Depth::All)?;
    for function in module.functions().filter(|function| wanted(function, options)) {
        match emulated(source, function, options) {
            Ok((flow, mut trace)) => visit(function, Ok((&flow, &mut trace))),
            Err(reason) => visit(function, Err(reason)),
        }
    }
    Ok(())
}

fn wanted(function: &Function<'_>, options: &Options) -> bool {
    !matches!(function.body, Body::Absent)
        && options.kernel.as_deref().is_none_or(|name| function.name.text == name)
}

/// What the module's version and target must allow for the instructions we emit (PTX ISA, "shfl.sync",
/// "activemask"): ISA 6.2 and sm_30.
fn unsupported(module: &Module<'_>) -> Option<String> {
    if module.version.is_none_or(|version| version < (6, 2)) {
        let (major, minor) = module.version.unwrap_or_default();
        return Some(format!("PTX ISA {major}.{minor}: `activemask` needs 6.2"));
    }
    let architecture = module.target.iter().find_map(|word| {
        let digits: String = word
            .strip_prefix("sm_")
            .or_else(|| word.strip_prefix("compute_"))?
            .chars()
            .take_while(char::is_ascii_digit)
            .collect();
        digits.parse::<u32>().ok()
    });
    match architecture {
        Some(number) if number >= 30 => None,
        _ => Some("the target has no `shfl.sync`, which needs sm_30".to_owned()),
    }
}

fn emulated<'m, 's>(
    source: &'m SourceFile,
    function: &'m Function<'s>,
    options: &Options,
) -> Result<(Flow<'m, 's>, KernelTrace), String> {
    let timings = options.timings.as_deref();
    let flow = Timings::measure(timings, "flow", || cfg::build(source, function))
        .map_err(|error| error.to_string())?;
    let trace =
        Timings::measure(timings, "emulate", || emulate::run(function, &flow, &options.limits))
            .map_err(|large| large.0)?;
    Ok((flow, trace))
}

fn analyse<'m, 's>(
    source: &'m SourceFile,
    function: &'m Function<'s>,
    options: &Options,
) -> Result<Decided<'m, 's>, String> {
    if let Body::Unparsed { global_loads, .. } = function.body {
        return Err(format!("{global_loads} global loads: nothing to exchange"));
    }
    // A panic in here is a bug of ours; the function is left as it is and the build goes on.
    let attempt = std::panic::catch_unwind(AssertUnwindSafe(|| {
        let (flow, mut trace) = emulated(source, function, options)?;
        let findings = Timings::measure(options.timings.as_deref(), "decide", || {
            shuffle::decide(source, function, &flow, &mut trace, &options.shuffle)
        });
        Ok(Decided { flow, trace, findings })
    }));
    let result =
        attempt.unwrap_or_else(|_| Err("internal error: the analysis panicked".to_owned()));
    if let Err(reason) = &result {
        log::info!("{}: {} is left as it is: {reason}", source.name(), function.name.text);
    }
    result
}

/// Numbers the accepted candidates in source order and drops those outside the chosen range.
fn select(analyses: &mut [Analysis<'_, '_>], options: &Options) {
    let first = options.first_shuffle.unwrap_or(1);
    let last = options.last_shuffle.unwrap_or(usize::MAX);
    let mut number = 0;
    for analysis in analyses {
        let Ok(decided) = &mut analysis.result else { continue };
        for finding in &mut decided.findings {
            if matches!(finding.verdict, Verdict::Covered(_)) {
                number += 1;
                if number < first || number > last {
                    finding.verdict = Verdict::Kept(Refusal::NotSelected);
                }
            }
        }
    }
}

fn kernel_report(source: &SourceFile, analysis: &Analysis<'_, '_>) -> KernelReport {
    let name = analysis.function.name.text.to_owned();
    let decided = match &analysis.result {
        Ok(decided) => decided,
        Err(reason) => {
            let mut loads = Vec::new();
            kept_loads(
                source,
                analysis.function.statements().unwrap_or_default(),
                reason,
                &mut loads,
            );
            let global_loads = match analysis.function.body {
                Body::Unparsed { global_loads, .. } => global_loads,
                _ => loads.len(),
            };
            let skipped = Some(reason.clone());
            return KernelReport { name, global_loads, skipped, loads, ..KernelReport::default() };
        }
    };
    let loads: Vec<LoadReport> =
        decided.findings.iter().map(|finding| load_report(source, decided, finding)).collect();
    let deltas: Vec<u32> = loads.iter().filter_map(|l| l.delta.map(i32::unsigned_abs)).collect();
    let average_delta =
        (!deltas.is_empty()).then(|| f64::from(deltas.iter().sum::<u32>()) / deltas.len() as f64);
    KernelReport {
        name,
        global_loads: loads.len(),
        shuffles: deltas.len(),
        average_delta,
        skipped: None,
        loads,
    }
}

fn load_report(source: &SourceFile, decided: &Decided<'_, '_>, finding: &Finding) -> LoadReport {
    let flow = &decided.flow;
    let ast = flow.insts[finding.inst as usize].ast;
    let line = |inst: u32| source.line(flow.insts[inst as usize].ast.span.start);
    let mut report = LoadReport {
        line: line(finding.inst),
        register: operand_text(source, ast),
        bytes: finding.bytes,
        decision: Decision::Keep,
        source_line: None,
        delta: None,
        guards: None,
        rule: None,
        reason: None,
    };
    match &finding.verdict {
        Verdict::Kept(refusal) => {
            report.rule = Some(refusal.rule().to_owned());
            report.reason = Some(refusal.to_string());
        }
        Verdict::Covered(covered) => {
            let guards = &covered.guards;
            let mut names: Vec<String> = Vec::new();
            if guards.linear_lanes {
                names.push("linear-lanes".to_owned());
            }
            if guards.whole_warp {
                names.push("whole-warp".to_owned());
            }
            for check in &guards.no_wrap {
                let register = &flow.registers[check.register.0 as usize];
                names.push(format!("no-wrap {register}"));
            }
            if let Some((register, negated)) = guards.source_active {
                let register = &flow.registers[register.0 as usize];
                let sign = if negated { "!" } else { "" };
                names.push(format!("source-active {sign}{register}"));
            }
            if guards.global_address {
                names.push("global-address".to_owned());
            }
            report.decision = Decision::Shuffle;
            report.source_line = Some(line(covered.source));
            report.delta = Some(covered.delta);
            report.guards = Some(names);
        }
    }
    report
}

/// The global loads of a function that is left as it is as a whole, all for one reason.
fn kept_loads(
    source: &SourceFile,
    statements: &[Statement<'_>],
    reason: &str,
    found: &mut Vec<LoadReport>,
) {
    for statement in statements {
        match statement {
            Statement::Block { statements, .. } => kept_loads(source, statements, reason, found),
            Statement::Instruction(ast)
                if matches!(ast.mnemonic(), "ld" | "ldu")
                    && matches!(ast.space(), StateSpace::Global | StateSpace::Generic) =>
            {
                let elements = ast.modifiers().find_map(|m| m.strip_prefix('v')?.parse().ok());
                let bits = ast.types().last().map_or(0, |ty| ty.bits());
                found.push(LoadReport {
                    line: source.line(ast.span.start),
                    register: operand_text(source, ast),
                    bytes: bits / 8 * elements.unwrap_or(1),
                    decision: Decision::Keep,
                    source_line: None,
                    delta: None,
                    guards: None,
                    rule: Some(report::FUNCTION_LEFT.to_owned()),
                    reason: Some(reason.to_owned()),
                });
            }
            _ => {}
        }
    }
}

/// The destination operand as written.
fn operand_text(source: &SourceFile, instruction: &ptx::Instruction<'_>) -> String {
    use ptx::Operand;
    match instruction.operands.first() {
        Some(Operand::Name(name)) => name.text.to_owned(),
        Some(Operand::Vector(_, span)) => source.slice(*span).to_owned(),
        Some(Operand::Sink(span)) => source.slice(*span).to_owned(),
        _ => String::new(),
    }
}
