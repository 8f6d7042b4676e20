//! The problem that the sketch of a network describes.

use rustc_hash::FxHashMap;
use std::sync::Arc;

use super::law::Law;
use super::order::Measure;
use crate::source::Span;
use crate::synth::expr::Expr;

/// The most lanes of a network, and the greatest number of lanes for which it is executed.
pub(super) const MOST_LANES: usize = 1024;

/// The most steps.
pub(super) const MOST_STEPS: usize = 4096;

/// The names of the first and the last lane of a lane's segment.
pub(super) const SEGMENT: [&str; 2] = ["head", "tail"];

/// An expression that is known, or a hole.
#[derive(Clone, Debug)]
pub enum Slot {
    /// It stands in the sketch.
    Fixed(Expr),
    /// The hole of this number.
    Hole(usize),
}

/// The role of a hole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// The element that a lane begins with.
    Initial,
    /// The lane whose value comes in.
    Source,
    /// Whether it is combined.
    Guard,
}

/// Something to be found.
#[derive(Clone, Debug)]
pub struct Hole {
    /// Its place in the text.
    pub span: Span,
    /// Its role.
    pub kind: Kind,
    /// The leaves of its expressions, beside small numbers.
    pub leaves: Vec<Arc<Expr>>,
    /// The expressions in its place before it was opened.
    pub before: Vec<Expr>,
    /// The number of its repeat.
    pub repeat: usize,
}

/// One step: a lane takes another one's value and puts it before its own, or behind it.
#[derive(Clone, Debug)]
pub struct Stage {
    /// The lane that the value is of.
    pub source: Slot,
    /// Conditions that stand in the sketch.
    pub guards: Vec<Expr>,
    /// The condition that is to be found.
    pub guard: Option<usize>,
    /// Whether the value goes behind the lane's own.
    pub behind: bool,
    /// The line.
    pub span: Span,
}

/// Steps, once for each number.
#[derive(Clone, Debug)]
pub struct Repeat {
    /// The counting variable.
    pub variable: String,
    /// Where the numbers begin.
    pub from: Expr,
    /// The number behind the last.
    pub to: Expr,
    /// The steps.
    pub stages: Vec<Stage>,
}

/// The goal.
#[derive(Clone, Debug)]
pub struct Goal {
    /// The lane that holds the result, if it is one alone.
    pub only: Option<Expr>,
    /// The last element of a lane's product; backward, the first.
    pub input: Expr,
    /// Whether products go to the end.
    pub backward: bool,
    /// Whether they stop at the borders of segments.
    pub segmented: bool,
    /// Its line.
    pub span: Span,
}

/// A drawn network.
#[derive(Clone, Debug)]
pub struct Drawn {
    /// The number of lanes.
    pub lanes: usize,
    /// For each step the pairs of source and target.
    pub steps: Vec<Vec<(u32, u32, Span)>>,
    /// Where it stands.
    pub span: Span,
}

/// The sketch.
#[derive(Clone, Debug)]
pub struct Network {
    /// Params and their values, as far as nothing else is given.
    pub texts: Vec<(String, Expr)>,
    /// What `-D` gives.
    pub given: Vec<(String, i64)>,
    /// The axis of lanes.
    pub lane: String,
    /// How many there are in the sketch.
    pub lanes: usize,
    /// The param that says how many there are.
    pub size: Option<String>,
    /// Whether values may meet more often than once.
    pub idempotent: bool,
    /// The element that a lane begins with.
    pub initial: Slot,
    /// The steps.
    pub repeats: Vec<Repeat>,
    /// The goal.
    pub goal: Goal,
    /// The holes.
    pub holes: Vec<Hole>,
    /// The drawn network.
    pub drawn: Option<Drawn>,
    /// Whether expressions were opened, and with them the order of the operands.
    pub relaxed: bool,
    /// The order of measures of a solution's cost.
    pub order: Vec<Measure>,
}

impl Network {
    /// The laws of the operator.
    pub fn law(&self) -> Law {
        Law { idempotent: self.idempotent }
    }

    /// The values of params for a number of lanes.
    pub fn params(&self, lanes: usize) -> FxHashMap<String, i64> {
        let mut known: FxHashMap<String, i64> = FxHashMap::default();
        for (name, expr) in &self.texts {
            let given = self.given.iter().rev().find(|given| given.0 == *name).map(|given| given.1);
            let value = match &self.size {
                Some(size) if size == name => Some(lanes as i64),
                _ => given.or_else(|| expr.value(&|name| known.get(name).copied())),
            };
            known.extend(value.map(|value| (name.clone(), value)));
        }
        known
    }

    /// The repeats with their numbers in the order in which they are executed; `None` where a bound has no value.
    pub fn rounds(&self, params: &FxHashMap<String, i64>) -> Option<Vec<(usize, i64)>> {
        let mut rounds = Vec::new();
        for (number, repeat) in self.repeats.iter().enumerate() {
            let of = |expr: &Expr| expr.value(&|name| params.get(name).copied());
            let (from, to) = (of(&repeat.from)?, of(&repeat.to)?);
            if (to - from).unsigned_abs() as usize > MOST_STEPS {
                return None;
            }
            let numbers: Vec<i64> =
                if from <= to { (from..to).collect() } else { (to..from).rev().collect() };
            rounds.extend(numbers.into_iter().map(|value| (number, value)));
        }
        Some(rounds)
    }

    /// Every number of lanes for which the network shall compute the goal.
    pub fn sizes(&self) -> Vec<usize> {
        if self.size.is_some() { (2..=MOST_LANES).collect() } else { vec![self.lanes] }
    }
}
