//! Holes in kernels are filled before any other stage, whatever the settings for rewrites: a text with holes cannot be
//! assembled.
//!
//! A hole that cannot be filled is an error in the report, with the place in the CUDA source if a `.loc` names it. A
//! text whose holes are filled is not rewritten further.

use crate::holes::{self, Filled};
use crate::pipeline::{Options, Rewritten};
use crate::remarks;
use crate::report::{HoleReport, Report};
use crate::source::{Diagnostic, SourceFile};

/// A rewriter of one module, such as [`pipeline::rewrite`](crate::pipeline::rewrite).
pub type Rewriter = dyn Fn(&SourceFile, &Options) -> Result<Rewritten, Diagnostic> + Sync;

/// Fills the holes of a text; one that has none goes to the rewriter.
///
/// # Errors
/// Those of the rewriter.
pub fn filled(
    source: &SourceFile,
    options: &Options,
    rewriter: &Rewriter,
) -> Result<Rewritten, Diagnostic> {
    match holes::fill(source) {
        Ok(None) => rewriter(source, options),
        Ok(Some(filled)) => Ok(rewritten(source, filled)),
        Err(diagnostic) => {
            let errors = vec![message(source, &diagnostic)];
            let report = Report { file: source.name().to_owned(), errors, ..Report::default() };
            Ok(Rewritten::unchanged(source, report))
        }
    }
}

fn rewritten(source: &SourceFile, filled: Filled) -> Rewritten {
    let Filled { text, lines, kernels } = filled;
    let holes = kernels.iter().flat_map(|kernel| {
        let cost = kernel.cost;
        kernel.holes.iter().map(move |hole| HoleReport {
            kernel: kernel.name.clone(),
            specification: kernel.specification.clone(),
            hole: hole.id,
            family: hole.family.to_owned(),
            line: hole.line,
            expression: hole.expression.clone(),
            solutions: kernel.solutions,
            cheapest: kernel.cheapest,
            cost: [cost.accumulates, cost.shuffles, cost.loads, cost.selects],
        })
    });
    let holes: Vec<HoleReport> = holes.collect();
    for hole in &holes {
        let HoleReport { kernel, hole, family, expression, solutions, .. } = hole;
        log::info!(
            "{}: {kernel}: hole {hole} of {family} is {expression}; solutions seen: {solutions}",
            source.name()
        );
    }
    let report = Report { file: source.name().to_owned(), holes, ..Report::default() };
    Rewritten { text, report, lines, ..Rewritten::default() }
}

/// The message about a hole, at the place in the CUDA if that is known. The caller writes `error:` in front of it.
fn message(source: &SourceFile, diagnostic: &Diagnostic) -> String {
    let origin = diagnostic.position.and_then(|at| remarks::origin(source, at.line));
    let (shown, message) = (diagnostic.to_string(), &diagnostic.message);
    match origin {
        Some(origin) => {
            let below = shown.replacen(&format!(" error: {message}"), " in the PTX", 1);
            format!("{origin}: {message}\n{below}")
        }
        None => shown.replacen(": error: ", ": ", 1),
    }
}
