//! The outcome of a search, for people and for programs.
//!
//! In: a sketch and the outcome of its search. Out: a table as text, a [`Report`] for JSON, and for an empty
//! space the demand that no choice meets, with its place.

use std::fmt::Write as _;

use serde::Serialize;

use super::Lowered;
use super::ast::Statement;
use super::program::{Hole, HoleId};
use super::resources;
use super::search::{Cost, Found, Mode, Solution, Unsat};
use crate::source::{Diagnostic, SourceFile};

/// The outcome for programs.
#[derive(Clone, Debug, Serialize)]
pub struct Report<'a> {
    /// The sketch's file.
    pub file: &'a str,
    /// How many solutions were seen.
    pub solutions: u64,
    /// Whether the answer holds for the whole space: no bound and no signal has ended the search.
    pub exhaustive: bool,
    /// The holes of the chosen solution; none where there is no solution, or only the number was asked for.
    pub holes: Vec<HoleReport>,
    /// The cost of the chosen solution.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<CostReport>,
}

/// The cost of the chosen solution.
#[derive(Clone, Debug, Serialize)]
pub struct CostReport {
    /// By which solutions are compared.
    #[serde(flatten)]
    pub cost: Cost,
    /// The most values that a lane holds at once.
    pub registers: u32,
    /// Wavefronts of the loads whose indices were found, if their inputs are in shared memory.
    pub wavefronts: u32,
}

/// A hole of the chosen solution.
#[derive(Clone, Debug, Serialize)]
pub struct HoleReport {
    /// The line of the sketch.
    pub line: u32,
    /// The hole's first coordinate.
    pub axis: String,
    /// The expression that was found.
    pub expression: String,
    /// Its values: for each place of the second coordinate one for each place of the first.
    pub table: Vec<u8>,
}

/// The holes of a solution.
fn holes(source: &SourceFile, sketch: &Lowered, solution: &Solution) -> Vec<HoleReport> {
    let found = solution.tables.iter().zip(expressions(sketch, solution));
    let holes = sketch.program.holes.iter().zip(found);
    holes
        .map(|(hole, (table, expression))| HoleReport {
            line: source.line(hole.span.start),
            axis: hole.coordinates.first().cloned().unwrap_or_default(),
            expression,
            table: table.raw.clone(),
        })
        .collect()
}

/// The outcome for programs.
pub fn report<'a>(
    source: &'a SourceFile,
    tree: &[Statement],
    sketch: &Lowered,
    found: &Found,
) -> Report<'a> {
    let chosen = found.solutions.first();
    Report {
        file: source.name(),
        solutions: found.count,
        exhaustive: found.exhaustive,
        holes: chosen.map(|chosen| holes(source, sketch, chosen)).unwrap_or_default(),
        cost: chosen.map(|chosen| CostReport {
            cost: chosen.cost,
            registers: resources::registers(tree, sketch),
            wavefronts: resources::wavefronts(tree, sketch, chosen),
        }),
    }
}

/// A number and the noun that goes with it.
fn several(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// The expression that was found for each hole.
pub fn expressions(sketch: &Lowered, solution: &Solution) -> Vec<String> {
    let choices = solution.tables.iter().zip(&solution.recipes);
    let holes = sketch.program.holes.iter().zip(choices);
    holes
        .map(|(hole, (table, recipe))| hole.family.expression(&table.raw, recipe).to_string())
        .collect()
}

/// A cost in words; what there is none of is left out.
pub fn words(cost: Cost) -> String {
    let parts = [
        (cost.accumulates, "accumulate"),
        (cost.shuffles, "shuffle"),
        (cost.loads, "load"),
        (cost.selects, "select"),
    ];
    let parts = parts.into_iter().filter(|(number, _)| *number > 0);
    let parts: Vec<String> = parts.map(|(number, noun)| several(u64::from(number), noun)).collect();
    if parts.is_empty() { "at no cost".to_owned() } else { parts.join(", ") }
}

/// The outcome for people.
pub fn table(source: &SourceFile, sketch: &Lowered, found: &Found, mode: Mode) -> String {
    let mut text = String::new();
    let counted = several(found.count, "solution");
    let at_least = if found.exhaustive { "" } else { "at least " };
    if matches!(mode, Mode::Count | Mode::All) {
        let _ = writeln!(text, "{at_least}{counted}");
    }
    for (number, solution) in (1..).zip(&found.solutions) {
        let which = match mode {
            Mode::First => "first".to_owned(),
            Mode::Cheapest if found.exhaustive => "cheapest".to_owned(),
            Mode::Cheapest => "cheapest so far".to_owned(),
            Mode::All | Mode::Count => number.to_string(),
        };
        let _ = writeln!(text, "{which}: {}", words(solution.cost));
        text.push_str(&lines(source, sketch, solution));
    }
    text
}

/// A line for each hole: its place, its text, and its expression.
pub fn lines(source: &SourceFile, sketch: &Lowered, solution: &Solution) -> String {
    let mut text = String::new();
    let holes = holes(source, sketch, solution);
    let asked = |at: HoleId| source.slice(sketch.program.holes[at].span);
    let ids = || sketch.program.holes.keys();
    let width = ids().map(|at| asked(at).chars().count()).max().unwrap_or(0);
    for (at, hole) in ids().zip(&holes) {
        let (line, expression) = (hole.line, &hole.expression);
        let _ = writeln!(text, "  line {line:>3}  {:width$}  {expression}", asked(at));
    }
    text
}

/// The required value of a hole at a point: `2 at lane = 3, k = 1`.
fn demand(hole: &Hole, &(point, mask): &(usize, u64)) -> String {
    let values = (0..hole.values).filter(|value| mask >> value & 1 == 1);
    let values: Vec<String> = values.map(|value| value.to_string()).collect();
    let place = [point % hole.extents[0], point / hole.extents[0]];
    let place = hole.coordinates.iter().zip(place);
    let place: Vec<String> = place.map(|(name, value)| format!("{name} = {value}")).collect();
    format!("{} at {}", values.join(" or "), place.join(", "))
}

/// The sketch with family `table` in the place of a hole's own, if that has one.
pub fn with_table(source: &SourceFile, sketch: &Lowered, unsat: &Unsat) -> Option<SourceFile> {
    let (Unsat::Demand { hole, .. } | Unsat::NoMember { hole, .. } | Unsat::Crowded { hole, .. }) =
        unsat
    else {
        return None;
    };
    let range = sketch.program.holes[*hole].span.range();
    let text = source.text();
    let inner = text.get(range.clone())?.strip_prefix('?')?;
    let (family, coordinates) = inner.split_once('(')?;
    // (Only constants follow the `;` of these.)
    let coordinates = match family.trim() {
        "cond" | "part" => coordinates.split([';', ')']).next()?,
        _ => coordinates.strip_suffix(')')?,
    };
    let changed = format!("{}?table({coordinates}){}", &text[..range.start], &text[range.end..]);
    (family.trim() != "table").then(|| SourceFile::new(source.name(), changed))
}

/// Why the space is empty.
pub fn empty(source: &SourceFile, sketch: &Lowered, unsat: &Unsat) -> Diagnostic {
    let program = &sketch.program;
    let hole = |number: HoleId| program.holes[number].span;
    let goal = |number: usize| &program.goals[number];
    let (span, message, wanting) = match *unsat {
        Unsat::NoMember { hole: number, ref needed } if !needed.is_empty() => {
            let hole = &program.holes[number];
            let needed: Vec<String> = needed.iter().map(|needed| demand(hole, needed)).collect();
            let message = format!(
                "the space is empty: no member of this family does what the goals ask for: {}, ...",
                needed.join(", ")
            );
            (hole.span, message, None)
        }
        Unsat::Demand { hole: number, term, goal: wanting } => {
            let term = program.show(&program.terms, term);
            let message = format!("the space is empty: {term} cannot come through this hole");
            (hole(number), message, Some(wanting))
        }
        Unsat::Crowded { hole: number, values, cells, goal: wanting } => {
            let message = format!(
                "the space is empty: {values} values have to come through this step, and it has {cells} cells \
                 for them"
            );
            (hole(number), message, Some(wanting))
        }
        Unsat::NoMember { hole: number, .. } => {
            let message =
                "the space is empty: no member of this family does what the goals ask for";
            (hole(number), message.to_owned(), None)
        }
        Unsat::Goal { goal: number } => {
            let term = program.show(&program.terms, goal(number).term);
            let message = format!("the space is empty: {} never holds {term}", goal(number).name);
            (goal(number).span, message, None)
        }
    };
    let diagnostic = source.diagnostic(span, message);
    match wanting.map(goal) {
        Some(goal) => {
            let note = format!("{} has to hold it", goal.name);
            diagnostic.with_note(source, goal.span, note)
        }
        None => diagnostic,
    }
}
