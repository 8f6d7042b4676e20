//! The tree of the statements that only placements have.

use crate::source::Span;
use crate::synth::ast::{Index, Name, Reference, Spanned};

/// A statement of a placement.
#[derive(Clone, Debug)]
pub enum Item {
    /// An array in shared memory.
    Shared(Shared),
    /// What warps access.
    Access(Access),
}

/// `shared tile[i, lane] of 4 at ?place(i; lane)`
#[derive(Clone, Debug)]
pub struct Shared {
    /// The array, with an axis for each index.
    pub array: Reference,
    /// The bytes of an element.
    pub bytes: Spanned,
    /// Where elements are, counted in elements.
    pub at: Index,
}

/// `access tile[lane, i] by 16 for i`
#[derive(Clone, Debug)]
pub struct Access {
    /// The element that a lane accesses, or the first of several.
    pub reference: Reference,
    /// The bytes that a lane accesses; those of one element if nothing is said.
    pub by: Option<Spanned>,
    /// The axes for whose places warps access one after the other.
    pub rounds: Vec<Name>,
    /// All of it.
    pub span: Span,
}
