//! Names, expressions, indices and conditions of a sketch.

use crate::source::Span;
use crate::synth::expr::{Cmp, Expr};

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
    /// The coordinates before the semicolon.
    pub first: Vec<Spanned>,
    /// The coordinates behind it.
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
    /// The conditions, which all have to hold; at most one of them is a hole.
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
    /// The products to fold.
    pub parts: Vec<Part>,
}
