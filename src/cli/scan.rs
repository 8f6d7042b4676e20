//! `ptxasw synth` on a sketch with a `loop`: the loop in, an associative operator with its proof out.

use super::exit::{Failure, Status};
use super::io;
use super::options::Output;
use crate::source::SourceFile;
use crate::synth::Defines;
use crate::synth::ast::Statement;
use crate::synth::scan::{self, report};
use crate::timings::Timings;

/// Solves the sketch and writes what was found, for programs or for people.
///
/// # Errors
/// The loop cannot be read, there is no operator, or the result cannot be written.
pub fn run(
    source: &SourceFile,
    tree: &[Statement],
    defines: &Defines,
    json: bool,
    output: &Output,
    timings: Option<&Timings>,
) -> Result<Status, Failure> {
    let subject = Timings::measure(timings, "lower", || scan::read(source, tree, defines))?;
    let outcome =
        Timings::measure(timings, "search", || crate::solver::session(|| scan::solve(&subject)));
    log::info!(
        "{}: {} sets of auxiliary accumulators, {} candidates refuted, {} claims",
        source.name(),
        outcome.sets,
        outcome.refuted,
        outcome.claims
    );
    if json {
        output.write(&io::json(&report::report(source, &outcome))?)?;
    }
    match &outcome.found {
        Some(found) => {
            if !json {
                output.write(&report::table(&outcome))?;
            }
            if found.unproved.is_empty() { Ok(Status::SUCCESS) } else { Ok(Status::BUDGET) }
        }
        None if outcome.exhausted => {
            eprintln!(
                "{}: the search has not ended: it has fitted as many operators as it may",
                source.name()
            );
            Ok(Status::BUDGET)
        }
        None => {
            let why = report::none(source, &subject, &outcome);
            Err(Failure::from(why).with_status(Status::EMPTY))
        }
    }
}
