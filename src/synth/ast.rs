//! The tree of a sketch, in the order of its lines.

use super::expr::{Cmp, Expr};
use super::network::ast::Item as NetworkItem;
use super::place::ast::Item as PlaceItem;
use crate::source::Span;

/// A name and where it stands.
#[derive(Clone, Debug)]
pub struct Name {
    /// The name.
    pub text: String,
    /// Its place.
    pub span: Span,
}

/// An expression and where it stands.
#[derive(Clone, Debug)]
pub struct Spanned {
    /// The expression.
    pub expr: Expr,
    /// Its place.
    pub span: Span,
}

/// A hole as it is written: `?xform(reg; lane)`.
#[derive(Clone, Debug)]
pub struct HoleText {
    /// Its family's name.
    pub family: Name,
    /// What stands before the semicolon.
    pub first: Vec<Spanned>,
    /// What stands behind it.
    pub second: Vec<Spanned>,
    /// All of it.
    pub span: Span,
}

/// One index.
#[derive(Clone, Debug)]
pub enum Index {
    /// An ordinary expression.
    Plain(Spanned),
    /// To be found.
    Hole(HoleText),
}

/// An array with its indices.
#[derive(Clone, Debug)]
pub struct Reference {
    /// The array.
    pub array: Name,
    /// Its indices.
    pub indices: Vec<Index>,
    /// All of it.
    pub span: Span,
}

/// A condition of a part.
#[derive(Clone, Debug)]
pub enum When {
    /// To be found.
    Hole(HoleText),
    /// A comparison.
    Compare(Cmp, Spanned, Spanned),
}

/// A product under conditions.
#[derive(Clone, Debug)]
pub struct Part {
    /// The factors.
    pub factors: Vec<Reference>,
    /// What has to hold, all of it; at most one of them is to be found.
    pub when: Vec<When>,
}

impl Part {
    /// The conditions that are to be found.
    pub fn holes(&self) -> impl Iterator<Item = &HoleText> {
        self.when.iter().filter_map(|when| match when {
            When::Hole(hole) => Some(hole),
            When::Compare(..) => None,
        })
    }
}

/// The right-hand side of a fold or goal.
#[derive(Clone, Debug)]
pub struct Folded {
    /// The operator; none for a single product.
    pub operator: Option<Name>,
    /// The axes that are folded.
    pub axes: Vec<Name>,
    /// What is folded.
    pub parts: Vec<Part>,
}

/// One statement.
#[derive(Clone, Debug)]
pub enum Statement {
    /// A parameter with its value, which `-D` replaces.
    Param(Name, Spanned),
    /// Axes and their extents.
    Axis(Vec<(Name, Spanned)>),
    /// Inputs and their shapes.
    Input(Vec<Reference>),
    /// A family that the sketch lists: name, coordinates, members.
    Family(Name, Vec<Name>, Vec<Spanned>),
    /// `load` and `step`: what the first is, is read from the second.
    Move(Reference, Reference),
    /// A fold.
    Fold(Reference, Folded),
    /// A goal.
    Goal(Reference, Folded),
    /// A statement of a network.
    Network(NetworkItem),
    /// A statement of a placement.
    Place(PlaceItem),
    /// What makes a solution cheap.
    Minimise(Vec<Name>),
    /// A serial loop, or what is asked of it.
    Loop(LoopStatement),
}

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
    /// What is made of the accumulators.
    Result(Vec<SpannedValue>),
    /// What the operator is made of.
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
    /// What is read of each element, with types.
    pub over: Vec<(Name, Name)>,
    /// What is the same for all elements, with types.
    pub given: Vec<(Name, Name)>,
    /// What is taken for granted of arithmetic.
    pub assuming: Option<Name>,
    /// The assignments, in their order.
    pub body: Vec<(Name, SpannedValue)>,
    /// All of it.
    pub span: Span,
}
