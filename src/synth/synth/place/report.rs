//! A found placement, as people and programs read it.

use std::fmt::Write as _;

use serde::Serialize;

use super::problem::Placement;
use super::search::{Outcome, name};
use crate::source::{Diagnostic, SourceFile};

/// The outcome for programs.
#[derive(Debug, Serialize)]
pub struct Report<'a> {
    /// The sketch's file.
    pub file: &'a str,
    /// Where elements are.
    pub expression: String,
    /// The same for each element in row-major order.
    pub table: &'a [i64],
    /// Wavefronts of all accesses.
    pub wavefronts: u32,
    /// The wavefronts that they have at least, wherever elements are.
    pub least_wavefronts: u32,
    /// Bytes from the first element to the last.
    pub bytes: u64,
    /// Operators of the index.
    pub instructions: usize,
    /// How many placements were tried: all of the family.
    pub tried: usize,
    /// Each access statement.
    pub accesses: Vec<AccessReport>,
}

/// One access statement.
#[derive(Debug, Serialize)]
pub struct AccessReport {
    /// Its line.
    pub line: u32,
    /// Its wavefronts.
    pub wavefronts: u32,
    /// Its wavefronts with elements one after the other.
    pub plain: u32,
    /// The wavefronts that it has at least.
    pub least: u32,
}

/// The outcome for programs.
pub fn json<'a>(source: &'a SourceFile, placement: &Placement, outcome: &'a Outcome) -> Report<'a> {
    let accesses = placement.accesses.iter().enumerate().map(|(at, access)| AccessReport {
        line: source.line(access.span.start),
        wavefronts: outcome.cost.wavefronts[at],
        plain: outcome.plain.wavefronts[at],
        least: outcome.least[at],
    });
    Report {
        file: source.name(),
        expression: outcome.expr.to_string(),
        table: &outcome.table,
        wavefronts: outcome.cost.all(),
        least_wavefronts: outcome.least.iter().sum(),
        bytes: outcome.cost.bytes,
        instructions: outcome.cost.instructions,
        tried: outcome.tried,
        accesses: accesses.collect(),
    }
}

/// The outcome for people.
pub fn table(source: &SourceFile, placement: &Placement, outcome: &Outcome) -> String {
    let mut text = String::new();
    let cost = &outcome.cost;
    let _ = writeln!(
        text,
        "{}: {} wavefronts, {} bytes, {} instructions",
        if placement.at.is_ok() { "cheapest" } else { "given" },
        cost.all(),
        cost.bytes,
        cost.instructions
    );
    let line = source.line(placement.span.start);
    let _ = writeln!(text, "  line {line:>3}  {}  {}", source.slice(placement.span), outcome.expr);
    let report = json(source, placement, outcome);
    for access in &report.accesses {
        let AccessReport { line, wavefronts, plain, least } = access;
        let _ = writeln!(
            text,
            "  line {line:>3}  {wavefronts} wavefronts, {plain} without a placement, at least {least}"
        );
    }
    let bytes = placement.cells() as u64 * placement.element;
    let minimum = match (report.least_wavefronts == cost.all(), bytes == cost.bytes) {
        (true, true) => "no placement whatever has fewer wavefronts, and none has fewer bytes",
        (true, false) => "no placement whatever has fewer wavefronts",
        (false, true) => "no placement whatever has fewer bytes",
        (false, false) => "",
    };
    if let Ok(family) = placement.at {
        let family = name(family);
        let _ = writeln!(text, "the cheapest of all {} {family}", outcome.tried);
    }
    if !minimum.is_empty() {
        let _ = writeln!(text, "{minimum}");
    }
    text
}

/// Why there is no placement.
pub fn empty(source: &SourceFile, placement: &Placement) -> Diagnostic {
    let message = "the space is empty: no placement keeps elements apart, and together what a lane accesses together";
    source.diagnostic(placement.span, message)
}
