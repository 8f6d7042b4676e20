//! The outcome of a search for a network: a solution, or why there is none.

use super::law::Value;
use super::measure::Measures;
use crate::synth::expr::Expr;

/// A solution.
#[derive(Clone, Debug)]
pub struct Solution {
    /// For each hole its expression, or the conditions that all have to hold.
    pub choice: Vec<Vec<Expr>>,
    /// Whether operands changed places.
    pub turned: bool,
    /// Its costs for the number of lanes of the sketch.
    pub measures: Measures,
}

/// Why there is nothing.
#[derive(Clone, Debug)]
pub enum Unsat {
    /// The drawn network does not compute the goal: the lane, the value it shall hold, and the value it holds in the
    /// end.
    Drawn(usize, Value, Value),
    /// A goal has more elements than the steps can combine: the lane, the number of elements, the number of steps.
    Steps(usize, u64, usize),
    /// No expression of this hole has the values of the example.
    Hole(usize),
    /// Sources that were tried; those that lead to the goals; those of them for which there were conditions too.
    NoExpression(usize, usize, usize),
}

/// The outcome of a search.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The solution.
    pub solution: Option<Solution>,
    /// Why there is none.
    pub unsat: Option<Unsat>,
    /// Whether a bound ended the search.
    pub over: bool,
}

impl Outcome {
    /// A solution was found.
    pub fn solved(solution: Solution) -> Outcome {
        Outcome { solution: Some(solution), unsat: None, over: false }
    }

    /// There is none, or a bound came first.
    pub fn unsat(unsat: Unsat, over: bool) -> Outcome {
        Outcome { solution: None, unsat: Some(unsat), over }
    }
}
