//! Cells before their places in a program are known.

use super::node::Point;
use crate::synth::term::{Fold, TermId};

/// Why there is no program.
#[derive(Debug)]
pub(super) struct Refused {
    /// The reason.
    pub message: String,
    /// The hole that it has to do with.
    pub hole: Option<usize>,
}

/// An error without a place in the text.
///
/// # Errors
/// Always.
pub(super) fn refused<T>(hole: Option<usize>, message: impl Into<String>) -> Result<T, Refused> {
    Err(Refused { message: message.into(), hole })
}

/// A slot over virtual cells.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Slot {
    /// The factors: numbers of virtual cells.
    pub factors: Vec<u32>,
    /// The point of the condition under which it takes part.
    pub guard: Option<Point>,
}

/// A cell before its place in the program is known.
#[derive(Debug)]
pub(super) enum Virtual {
    /// It holds this from the beginning.
    Initial(TermId),
    /// One of these, by the value at a point.
    Move(Point, Vec<u32>),
    /// A fold.
    Fold(Fold, Vec<Slot>),
}
