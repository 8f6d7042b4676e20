//! The log of texts that are rewritten: for each a summary, and a sentence with the reasons.
//!
//! At the level `info` a text has these lines once, with its final outcome; a build's attempts that are taken back are
//! logged at the level `debug`.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::env;
use super::large_stack::on_large_stack;
use crate::kernels::{Rules, demangled};
use crate::pipeline::{REWRITABLE, Rewritten};
use crate::ptx::{self, FunctionKind};
use crate::report::Report;
use crate::source::{Diagnostic, SourceFile, listed};
use crate::timings::Stopwatch;

/// The milliseconds that rewriting took, by the names of the texts.
#[derive(Default)]
pub(super) struct Outcomes(RefCell<BTreeMap<String, f64>>);

impl Outcomes {
    /// Rewrites a text; the time counts for it.
    pub(super) fn timed(
        &self,
        source: &SourceFile,
        rewrite: impl FnOnce() -> Result<Rewritten, String>,
    ) -> Result<Rewritten, String> {
        let watch = Stopwatch::start();
        let result = rewrite();
        *self.0.borrow_mut().entry(source.name().to_owned()).or_default() += watch.milliseconds();
        if let Ok(rewritten) = &result {
            log::debug!("{}: rewritten: {}", source.name(), rewritten.report.summary());
        }
        result
    }

    /// How many seconds rewriting a text took.
    pub(super) fn seconds(&self, source: &SourceFile) -> f64 {
        self.0.borrow().get(source.name()).copied().unwrap_or_default() / 1000.0
    }

    /// Logs the outcome for a text.
    pub(super) fn log(&self, source: &SourceFile, report: &Report) {
        let spent = self.0.borrow().get(source.name()).copied().unwrap_or_default();
        log(source, report, spent);
    }
}

/// Rewrites one input and logs the outcome.
pub(super) fn summarised(
    source: &SourceFile,
    rewrite: impl FnOnce() -> Result<Rewritten, Diagnostic>,
) -> Result<Rewritten, Diagnostic> {
    let watch = Stopwatch::start();
    let result = rewrite();
    if let Ok(rewritten) = &result {
        log(source, &rewritten.report, watch.milliseconds());
    }
    result
}

/// Logs what was done with a text and why, and where to read more.
fn log(source: &SourceFile, report: &Report, milliseconds: f64) {
    let taken_back = report.kernels.iter().filter(|kernel| kernel.is_taken_back()).count();
    let taken_back = match taken_back {
        0 => String::new(),
        count => format!(", {count} taken back"),
    };
    let summary = report.summary();
    log::info!("{}: {summary}{taken_back}, {milliseconds:.1} ms", source.name());
    let rules = report.rules();
    let more: Vec<String> = rules.iter().map(|rule| format!("`ptxasw explain {rule}`")).collect();
    let more = if more.is_empty() { String::new() } else { format!(" [{}]", more.join(", ")) };
    log::info!("{}: {}{more}", source.name(), report.sentence());
}

/// Logs the patterns of `PTXASW_KERNELS` that match no function of a text, at the level `warn`. (It is not a warning of
/// the call: a build has many files, and one variable for all.)
pub(super) fn log_unused_rules(source: &SourceFile, rules: &Rules) {
    if !log::log_enabled!(log::Level::Warn) {
        return;
    }
    if let Ok(Ok(Some(line))) = on_large_stack(|| unused_rules(source, rules)) {
        log::warn!("{}: {}: {line}", source.name(), env::KERNELS);
    }
}

fn unused_rules(source: &SourceFile, rules: &Rules) -> Option<String> {
    let module = ptx::parse(source, REWRITABLE).ok()?;
    let functions = module.functions().map(|function| function.name.text);
    let unused = rules.unused(&functions.collect::<Vec<_>>());
    let kernels = module.functions().filter(|function| function.kind == FunctionKind::Entry);
    let kernels: Vec<String> = kernels.map(|kernel| demangled(kernel.name.text)).collect();
    let [unused, kernels] =
        [&unused, &kernels].map(|names| listed(names.iter().map(String::as_str)));
    let is_worth_a_line = !unused.is_empty() && !kernels.is_empty();
    is_worth_a_line.then(|| format!("no kernel matches {unused}; the kernels here are {kernels}"))
}
