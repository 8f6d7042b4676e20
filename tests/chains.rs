//! Chains of every kind (`tests/chains/kinds/`): no input makes us abort, hang or take memory without bound. Judged by
//! counts: steps charged to the terms, units of the solver, lengths of the output. `scripts/bench chains` shows times
//! and peak memory.

mod kinds;

use kinds::Kind;
use ptxasw::cfg;
use ptxasw::emulate::{self, Limits};
use ptxasw::expr::within;
use ptxasw::pipeline::{self, Options};
use ptxasw::ptx::{self, Depth, Function, Module};
use ptxasw::report::Report;
use ptxasw::reuse::shared::Surroundings;
use ptxasw::source::SourceFile;
use ptxasw::tracing;
use ptxasw::verify::{self, Verdict};
use ptxasw::{reuse, select};
use rayon::prelude::*;

use crate::common::share;

/// Instructions of a chain; in a short run half as many.
const LENGTH: usize = 6_000;

fn length() -> usize {
    LENGTH.min(share(2 * LENGTH as u64) as usize)
}

/// Kinds whose steps are a small multiple of their length: those of computations alone.
const LINEAR: &[&str] = &[
    "mad",
    "mad-of-two",
    "add-index",
    "xor-add",
    "guarded-add",
    "squares",
    "squares-compared",
    "16-squares-and-branches",
    "sum-of-products",
    "shl-mul",
    "variable-shifts",
    "prmt",
    "bit-fields",
    "min-max",
    "selp-constants",
    "mul-wide",
    "mul-64",
    "widen-narrow",
    "div-rem",
    "div-64",
    "carry",
    "pack-unpack",
    "predicates",
    "predicates-doubled",
    "counting",
    "guarded-moves",
];

/// What one function took, and whether it came to an end.
fn steps(source: &SourceFile, function: &Function<'_>, limits: &Limits) -> (u64, bool) {
    let Ok(flow) = cfg::build(source, function) else { return (0, false) };
    let Ok(mut trace) = emulate::run(function, &flow, limits) else { return (limits.steps, false) };
    let (legal, options) = (reuse::Options::default(), select::Options::default());
    // (No chain is in shared memory.)
    let module = Module::default();
    let around = Surroundings::new(source, &module);
    let decided = within(|| {
        select::decide((source, &around), function, &flow, &mut trace, &legal, &options)
            .decisions
            .len()
    })
    .is_ok();
    (trace.arena.spent(), decided)
}

/// Without any limit to speak of, so that growth shows.
fn steps_of(kind: &Kind, length: usize) -> u64 {
    let source = SourceFile::new(kind.name, (kind.text)(length));
    let module = ptx::parse(&source, Depth::All).unwrap_or_else(|e| panic!("{}: {e}", kind.name));
    let limits = Limits { steps: 1_000_000_000, ..Limits::default() };
    module.functions().map(|function| steps(&source, function, &limits).0).sum()
}

/// Three times as long is three times as many steps, where a quadratic cost would be nine times as
/// many; what does not depend on the length is allowed for.
#[test]
fn computations_take_steps_in_proportion_to_their_length() {
    let failures: Vec<String> = kinds::kinds()
        .par_iter()
        .filter(|kind| LINEAR.contains(&kind.name))
        .filter_map(|kind| {
            let (short, long) = (steps_of(kind, length() / 3), steps_of(kind, length()));
            let most = 4 * short + 1_000_000;
            (long > most).then(|| format!("{}: {short} steps, then {long}", kind.name))
        })
        .collect();
    assert!(failures.is_empty(), "{failures:#?}");
}

/// Whatever a kind costs, the work ends by the limit, and the report gives a reason for each load that is left out.
#[test]
fn every_kind_ends_by_its_limit() {
    let limits = Limits { steps: 1_000_000, ..Limits::default() };
    kinds::kinds().par_iter().for_each(|kind| {
        let source = SourceFile::new(kind.name, (kind.text)(LENGTH));
        let module = ptx::parse(&source, Depth::All).unwrap_or_else(|e| panic!("{e}"));
        for function in module.functions() {
            let (taken, _) = steps(&source, function, &limits);
            // The last charge may go beyond.
            assert!(taken < 2 * limits.steps, "{}: {taken} steps", kind.name);
        }
        let options = Options { limits, all_bodies: true, ..Options::paper() };
        let report = rewritten(kind.name, &source, &options);
        for kernel in &report.kernels {
            let loads = kernel.loads.iter().filter_map(|load| load.reason.as_deref());
            for reason in loads.chain(kernel.skipped.as_deref()) {
                assert!(!reason.contains("internal error"), "{}: {reason}", kind.name);
            }
        }
    });
}

fn rewritten(name: &str, source: &SourceFile, options: &Options) -> Report {
    pipeline::rewrite(source, options).unwrap_or_else(|e| panic!("{name}: {e}")).report
}

/// Every command on every kind: nothing panics, and the output is at most some multiple of the text's length.
#[test]
fn every_command_ends_on_every_kind() {
    let failures: Vec<String> =
        kinds::kinds().par_iter().flat_map(|kind| commands(kind, length())).collect();
    assert!(failures.is_empty(), "{failures:#?}");
}

fn commands(kind: &Kind, length: usize) -> Vec<String> {
    let text = (kind.text)(length);
    let source = SourceFile::new(kind.name, text.as_str());
    let mut failures = Vec::new();
    let mut fail = |what: &str| failures.push(format!("{}: {what}", kind.name));
    let options = Options { all_bodies: true, ..Options::paper() };
    let report = rewritten(kind.name, &source, &options);
    for kernel in &report.kernels {
        if kernel.skipped.as_deref().is_some_and(|reason| reason.contains("internal error")) {
            fail("the analysis panicked");
        }
        if kernel.shuffles > options.select.most {
            fail("more loads are replaced than may be");
        }
    }
    let mut shown = 0;
    let traced = pipeline::for_each_trace(&source, &options, &mut |function, traced| {
        if let Ok((flow, trace)) = traced {
            let described = within(|| {
                tracing::describe(&tracing::View::default(), &source, function, flow, trace)
            });
            shown += described.map_or(0, |report| report.to_string().len());
            shown += cfg::dot(&source, function.name.text, flow, &|_| Vec::new()).len();
        }
    });
    if traced.is_err() {
        fail("no trace");
    }
    // A term is shown with at most 512 parts, and a path with 64 conditions.
    if shown > 1000 * text.len() {
        fail(&format!("{shown} bytes are printed for {}", text.len()));
    }
    // Something that does nothing, so that the texts are compared.
    let at = text.rfind("ret;").unwrap_or(0);
    let other = format!("{}.reg .b32 %none; mov.u32 %none, 0; {}", &text[..at], &text[at..]);
    let other = SourceFile::new("other", other);
    match verify::verify(&source, &other, &verify::Options::default()) {
        Ok(judged) => {
            if judged.verdict == Verdict::Different {
                fail("the same is found different");
            }
            for problem in judged.functions.iter().flat_map(|function| &function.problems) {
                if problem.reason.contains("internal error") {
                    fail(&problem.reason);
                }
            }
        }
        Err(error) => fail(&error.to_string()),
    }
    failures
}
