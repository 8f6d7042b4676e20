//! A found network, as people and programs read it.

use std::fmt::Write as _;

use serde::Serialize;

use super::execute::traced;
use super::law::Value;
use super::measure::{Measures, measures};
use super::outcome::{Solution, Unsat};
use super::problem::{Kind, MOST_LANES, Network};
use crate::source::{Diagnostic, SourceFile};

/// The outcome for programs.
#[derive(Debug, Serialize)]
pub struct Report<'a> {
    /// The sketch's file.
    pub file: &'a str,
    /// The holes.
    pub holes: Vec<HoleReport>,
    /// Whether operands of the operator changed places.
    pub turned: bool,
    /// The least and the greatest number of lanes for which it was executed, each number between them too.
    pub executed: [usize; 2],
    /// Its costs for powers of two, and for the number of lanes in the sketch.
    pub costs: Vec<CostReport>,
}

/// A hole and its expression.
#[derive(Debug, Serialize)]
pub struct HoleReport {
    /// The line of the sketch.
    pub line: u32,
    /// The found expression.
    pub expression: String,
}

/// The costs of a network for a number of lanes.
#[derive(Debug, Serialize)]
pub struct CostReport {
    /// The number of lanes.
    pub lanes: usize,
    /// The costs.
    #[serde(flatten)]
    pub measures: Measures,
}

fn holes(source: &SourceFile, network: &Network, solution: &Solution) -> Vec<HoleReport> {
    let found = network.holes.iter().zip(&solution.choice);
    found
        .map(|(hole, choice)| {
            let parts: Vec<String> = choice.iter().map(ToString::to_string).collect();
            let expression = match parts.is_empty() {
                true => "always".to_owned(),
                false => parts.join(", "),
            };
            HoleReport { line: source.line(hole.span.start), expression }
        })
        .collect()
}

/// The numbers of lanes for which a solution was executed.
fn executed(network: &Network) -> [usize; 2] {
    if network.size.is_some() { [2, MOST_LANES] } else { [network.lanes; 2] }
}

/// For which numbers of lanes a solution was executed, in words.
pub fn extent(network: &Network) -> String {
    let segments = if network.goal.segmented { ", with segments" } else { "" };
    match executed(network) {
        [from, to] if from < to => format!("executed for {from} to {to} lanes{segments}"),
        [lanes, _] => format!("executed for {lanes} lanes{segments}"),
    }
}

/// The outcome for programs.
pub fn json<'a>(source: &'a SourceFile, network: &Network, solution: &Solution) -> Report<'a> {
    let executed = executed(network);
    let powers = (1..).map(|power| 1usize << power).take_while(|size| *size <= executed[1]);
    let mut sizes: Vec<usize> = powers.filter(|size| *size >= executed[0]).collect();
    sizes.push(network.lanes);
    sizes.sort_unstable();
    sizes.dedup();
    let costs = sizes.into_iter().map(|lanes| {
        let trace = traced(network, &solution.choice, solution.turned, lanes);
        let measures = measures(network, lanes, &trace, Some(&solution.choice));
        CostReport { lanes, measures }
    });
    Report {
        file: source.name(),
        holes: holes(source, network, solution),
        turned: solution.turned,
        executed,
        costs: costs.collect(),
    }
}

/// The outcome for people.
pub fn table(source: &SourceFile, network: &Network, solution: &Solution) -> String {
    let mut text = String::new();
    let Measures { depth, shuffles, operations, fanout, conflicts, instructions } =
        solution.measures;
    let lanes = network.lanes;
    let _ = writeln!(
        text,
        "{lanes} lanes: depth {depth}, {shuffles} shuffles, {operations} operations, fan-out {fanout}, {conflicts} \
         conflicts, {instructions} instructions"
    );
    let asked = |at: usize| source.slice(network.holes[at].span);
    let width = (0..network.holes.len()).map(|at| asked(at).chars().count()).max().unwrap_or(0);
    for (at, hole) in holes(source, network, solution).iter().enumerate() {
        let (line, expression) = (hole.line, &hole.expression);
        let _ = writeln!(text, "  line {line:>3}  {:width$}  {expression}", asked(at));
    }
    if solution.turned {
        text.push_str("  the operands of the operator change places\n");
    }
    let _ = writeln!(text, "{}", extent(network));
    text
}

fn shown(value: Value) -> String {
    match value {
        None => "nothing known".to_owned(),
        Some((from, to)) if from == to => format!("x[{from}]"),
        Some((from, to)) => format!("x[{from}] to x[{to}]"),
    }
}

/// Why there is no network.
pub fn empty(source: &SourceFile, network: &Network, unsat: &Unsat, over: bool) -> Diagnostic {
    let goal = network.goal.span;
    let space = if over { "the search has not ended" } else { "the space is empty" };
    match unsat {
        Unsat::Drawn(lane, holds, wanted) => {
            let message = format!(
                "in the drawn network lane {lane} ends with {}, and not with {}",
                shown(*holds),
                shown(*wanted)
            );
            let span = network.drawn.as_ref().map_or(goal, |drawn| drawn.span);
            let error = source.diagnostic(span, message);
            error.with_note(source, goal, "which is asked for here".to_owned())
        }
        Unsat::Steps(lane, elements, steps) => {
            let message = format!(
                "{space}: lane {lane} needs {elements} elements, and {steps} steps bring at most {} \
                 together",
                1u64 << steps
            );
            source.diagnostic(goal, message)
        }
        Unsat::Hole(hole) => {
            let hole = &network.holes[*hole];
            let what = match hole.kind {
                Kind::Guard => "no condition of this family holds where the drawn network combines",
                _ => "no expression of this family gives the sources of the drawn network",
            };
            let error = source.diagnostic(hole.span, format!("{space}: {what}"));
            let hint = match hole.kind {
                Kind::Guard => "further parts can be named: `?cond(lane, 2 ** s, 2 ** (s + 1))`",
                _ => "further parts can be named: `?fit(lane, 2 ** s, 2 ** (s + 1))`",
            };
            error.with_hint(hint)
        }
        Unsat::NoExpression(tried, reached, guarded) => {
            let message = match (reached, guarded) {
                (0, _) => format!("{space}: none of {tried} sources leads to this"),
                (_, 0) => format!(
                    "{space}: none of {tried} expressions gives the drawn steps for every number of lanes"
                ),
                _ => format!(
                    "{space}: of {tried} sources {reached} lead to this, none under a condition of the \
                     family for every number of lanes"
                ),
            };
            source.diagnostic(goal, message)
        }
    }
}
