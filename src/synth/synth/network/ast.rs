//! The tree of the statements that only networks have.

use crate::source::Span;
use crate::synth::ast::{Name, Reference, Spanned, When};

/// A statement of a network.
#[derive(Clone, Debug)]
pub enum Item {
    /// The laws of the operator, each a word.
    Laws(Vec<Name>),
    /// The array that the steps change, and its initial value.
    State(Reference, Reference),
    /// Steps, once for each number.
    Repeat(Repeat),
    /// A drawn network.
    Example(Example),
    /// The required final state.
    Goal(Scan),
}

/// `repeat s in 0..5 { ... }`
#[derive(Clone, Debug)]
pub struct Repeat {
    /// Whether the expressions in it are opened.
    pub relax: bool,
    /// The counting variable.
    pub variable: Name,
    /// The first number; if it is greater than the last one, the numbers descend.
    pub from: Spanned,
    /// The number behind the last one.
    pub to: Spanned,
    /// The steps.
    pub steps: Vec<Step>,
    /// All of it.
    pub span: Span,
}

/// A step of a network.
#[derive(Clone, Debug)]
pub struct Step {
    /// The array that the step writes.
    pub target: Reference,
    /// The operand.
    pub from: Reference,
    /// The right operand, if the step combines two.
    pub with: Option<Reference>,
    /// The conditions, which all have to hold.
    pub when: Vec<When>,
    /// All of it.
    pub span: Span,
}

/// `example n = 16 { 0>1 2>3; 1>3 }`
#[derive(Clone, Debug)]
pub struct Example {
    /// The number of lanes.
    pub lanes: Spanned,
    /// For each step the pairs of source and target, each with its place.
    pub steps: Vec<Vec<(u32, u32, Span)>>,
    /// The name behind the word.
    pub span: Span,
}

/// `goal v[lane] = scan(*) x[lane] backward segmented`
#[derive(Clone, Debug)]
pub struct Scan {
    /// The array of the result.
    pub of: Reference,
    /// The last element of each lane's product; backward, the first.
    pub input: Reference,
    /// Whether products go to the end.
    pub backward: bool,
    /// Whether they stop at the borders of segments.
    pub segmented: bool,
    /// All of it.
    pub span: Span,
}
