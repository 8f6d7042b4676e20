//! The outcome for a loop, for people and for programs.

use std::fmt::Write as _;

use serde::Serialize;

use super::auxiliary::Witness;
use super::examples::List;
use super::growth::Growth;
use super::laws::LAWS;
use super::search::{Found, Outcome};
use super::subject::Loop;
use super::term::{self, INPUT, Shared, Sort, Term};
use crate::source::{Diagnostic, SourceFile};

/// The outcome for programs.
#[derive(Clone, Debug, Serialize)]
pub struct Report<'a> {
    /// The sketch's file.
    pub file: &'a str,
    /// How many operators were found: one or none.
    pub solutions: u64,
    /// Whether no bound has ended the search.
    pub exhaustive: bool,
    /// The operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operator: Option<OperatorReport>,
    /// How many sets of auxiliary accumulators were tried.
    pub sets: u64,
    /// How many candidates were refuted by two lists.
    pub refuted: u32,
}

/// An operator.
#[derive(Clone, Debug, Serialize)]
pub struct OperatorReport {
    /// Over which numbers the laws hold.
    pub numbers: &'static str,
    /// Whether the laws also hold for sums and products that wrap around.
    pub wraps: bool,
    /// Whether all laws are proved for lists of all lengths.
    pub proved: bool,
    /// Those that are not.
    pub unproved: Vec<&'static str>,
    /// The accumulators, auxiliary ones at the end.
    pub accumulators: Vec<AccumulatorReport>,
    /// The results, as functions of the accumulators.
    pub result: Vec<String>,
    /// Invariants of all states that lists reach, as far as the proof needs them.
    pub invariants: Vec<String>,
}

/// An accumulator of an operator.
#[derive(Clone, Debug, Serialize)]
pub struct AccumulatorReport {
    /// Its name.
    pub name: String,
    /// Whether the search has added it.
    pub auxiliary: bool,
    /// Its value in front of the loop, which is the operator's unit.
    pub unit: String,
    /// Its value after one more element.
    pub step: String,
    /// Its value for a list of one element.
    pub lift: String,
    /// Its value after two lists with the states `a` and `b`.
    pub combine: String,
}

fn operator(found: &Found) -> OperatorReport {
    let subject = &found.subject;
    let plain = |term: &Term| term::show(term, &|variable| subject.name(variable, "", ""));
    let both = |term: &Term| term::show(term, &|variable| subject.name(variable, "a.", "b."));
    let start = |at: usize| {
        let accumulator = &subject.accumulators[at];
        term::constant(accumulator.sort, accumulator.start)
    };
    let lift = |term: &Shared| {
        let by = |variable: u32| match variable {
            0..INPUT if planted!(Bug::LiftFromZeros) => term::constant(subject.sort(variable), 0),
            0..INPUT => start(variable as usize),
            _ => term::variable(variable),
        };
        plain(&term::substitute(term, &by))
    };
    let accumulators =
        subject.accumulators.iter().enumerate().map(|(at, accumulator)| AccumulatorReport {
            name: accumulator.name.clone(),
            auxiliary: at >= subject.own,
            unit: plain(&start(at)),
            step: plain(&accumulator.step),
            lift: lift(&accumulator.step),
            combine: both(&found.combine[at]),
        });
    OperatorReport {
        numbers: match (subject.has(Sort::Real), subject.only_compared, subject.has(Sort::Integer))
        {
            (false, ..) => "integers",
            (_, true, false) => "floats",
            (_, true, true) => "integers and floats",
            (_, false, false) => "reals",
            (_, false, true) => "integers and reals",
        },
        wraps: found.is_polynomial(),
        proved: found.unproved.is_empty(),
        unproved: found.unproved.clone(),
        accumulators: accumulators.collect(),
        result: subject.result.iter().map(|term| plain(term)).collect(),
        invariants: found.invariants.iter().map(|term| plain(term)).collect(),
    }
}

/// The outcome for programs.
pub fn report<'a>(source: &'a SourceFile, outcome: &Outcome) -> Report<'a> {
    Report {
        file: source.name(),
        solutions: u64::from(outcome.found.is_some()),
        exhaustive: !outcome.exhausted,
        operator: outcome.found.as_ref().map(operator),
        sets: outcome.sets,
        refuted: outcome.refuted,
    }
}

/// A number and the noun that goes with it.
fn several(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// The operator for people.
pub fn table(outcome: &Outcome) -> String {
    let mut text = String::new();
    let Some(found) = &outcome.found else { return text };
    let operator = operator(found);
    let auxiliary = operator.accumulators.iter().filter(|a| a.auxiliary).count() as u64;
    let proof = if operator.proved { "proved" } else { "unproved" };
    let _ = writeln!(text, "operator: {}, {proof}", several(auxiliary, "auxiliary accumulator"));
    let width = operator.accumulators.iter().map(|a| a.name.len()).max().unwrap_or(0);
    for accumulator in operator.accumulators.iter().filter(|a| a.auxiliary) {
        let AccumulatorReport { name, unit, step, .. } = accumulator;
        let _ = writeln!(text, "  step              {name:width$}' = {step}, at first {unit}");
    }
    for (title, of) in [
        ("unit", (|a| &a.unit) as fn(&AccumulatorReport) -> &String),
        ("lift(x)", |a| &a.lift),
        ("combine(a, b)", |a| &a.combine),
    ] {
        for (at, accumulator) in operator.accumulators.iter().enumerate() {
            let title = if at == 0 { title } else { "" };
            let _ =
                writeln!(text, "  {title:16}  {:width$} = {}", accumulator.name, of(accumulator));
        }
    }
    let _ = writeln!(text, "  {:16}  {}", "project", operator.result.join(", "));
    let numbers = match (operator.numbers, operator.wraps) {
        ("reals", _) => "over the reals: rounding is left out of account",
        ("integers and reals", _) => {
            "over integers and reals: no sum or product of integers may wrap around, and rounding is left out of account"
        }
        ("floats", _) => {
            "over floating-point numbers without NaN, which are only compared: nothing is rounded"
        }
        ("integers and floats", _) => {
            "over floating-point numbers without NaN, which are only compared (nothing is rounded), and integers: no sum \
             or product of these may wrap around"
        }
        (_, true) => "over the integers, and modulo any number: wrap-around is allowed",
        (_, false) => "over the integers: no sum or product may wrap around",
    };
    let _ = writeln!(text, "{proof} for lists of all lengths, {numbers}");
    for law in LAWS {
        let open = if operator.unproved.contains(&law) { "  (unknown)" } else { "" };
        let _ = writeln!(text, "  {law}{open}");
    }
    if !operator.invariants.is_empty() {
        let _ = writeln!(text, "  on the states that lists reach; induction proves of them:");
        for invariant in &operator.invariants {
            let _ = writeln!(text, "    {invariant}");
        }
    }
    text
}

/// A list as it is written.
fn list(elements: &List, subject: &Loop) -> String {
    let element = |element: &Vec<i64>| {
        let values = element.iter().zip(&subject.inputs).map(|(value, read)| match read.sort() {
            Sort::Boolean => (*value != 0).to_string(),
            _ => value.to_string(),
        });
        let values: Vec<String> = values.collect();
        if values.len() == 1 { values.concat() } else { format!("({})", values.join(", ")) }
    };
    let elements: Vec<String> = elements.iter().map(element).collect();
    format!("[{}]", elements.join(", "))
}

/// Why there is no operator.
pub fn none(source: &SourceFile, subject: &Loop, outcome: &Outcome) -> Diagnostic {
    if let Some(Growth { name, degree }) = &outcome.growth {
        let message = format!(
            "no operator is right: after n elements `{name}` is a polynomial of degree {degree}^n in its value before \
             them, and the degree of an operator is the same for all lists"
        );
        return source.diagnostic(subject.span, message);
    }
    let most = subject.most as u64;
    let sets = several(outcome.sets, "set");
    let message = format!(
        "the space is empty: with none of {sets} of up to {} there is an operator",
        several(most, "auxiliary accumulator")
    );
    let mut diagnostic = source.diagnostic(subject.span, message);
    if let Some(Witness { front, lists: [a, b] }) = &outcome.witness {
        let [front, a, b] = [front, a, b].map(|elements| list(elements, subject));
        let note = format!(
            "the accumulators alone do not tell {a} from {b}, behind {front} they differ, and what else was \
             accumulated does not make up for it"
        );
        diagnostic = diagnostic.with_note(source, subject.span, note);
    }
    diagnostic
}
