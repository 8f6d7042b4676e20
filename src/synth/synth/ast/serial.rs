//! Serial loops of a sketch.

use super::Name;
use crate::source::Span;

/// A value of a loop as it is written.
#[derive(Clone, Debug)]
pub enum Value {
    /// A number.
    Number(i64),
    /// A boolean.
    Truth(bool),
    /// A name.
    Name(String),
    /// `-a` and `!a`.
    Prefix(char, Box<SpannedValue>),
    /// An operator between two operands, or `max` or `min` of two.
    Infix(String, Box<SpannedValue>, Box<SpannedValue>),
    /// A choice: condition, where it holds, where it does not.
    If(Box<[SpannedValue; 3]>),
}

/// A value of a loop and where it stands.
#[derive(Clone, Debug)]
pub struct SpannedValue {
    /// The value.
    pub value: Value,
    /// Its place.
    pub span: Span,
}

/// A statement about a serial loop.
#[derive(Clone, Debug)]
pub enum LoopStatement {
    /// The loop itself.
    Loop(LoopText),
    /// The results, as functions of the accumulators.
    Result(Vec<SpannedValue>),
    /// The operators that the associative operator may use.
    Operators(Vec<Name>),
    /// The most auxiliary accumulators.
    Aux(Name),
}

/// An accumulator as it is written.
#[derive(Clone, Debug)]
pub struct Start {
    /// Its name.
    pub name: Name,
    /// Its type, if the sketch names one.
    pub kind: Option<Name>,
    /// Its value in front of the loop.
    pub value: SpannedValue,
}

/// A serial loop as it is written.
#[derive(Clone, Debug)]
pub struct LoopText {
    /// The accumulators.
    pub start: Vec<Start>,
    /// The values read from each element, with types.
    pub over: Vec<(Name, Name)>,
    /// The loop-invariant values, with types.
    pub given: Vec<(Name, Name)>,
    /// The assumption about arithmetic, such as `exact` or `real`.
    pub assuming: Option<Name>,
    /// The assignments, in their order.
    pub body: Vec<(Name, SpannedValue)>,
    /// All of it.
    pub span: Span,
}
