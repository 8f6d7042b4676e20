//! A branch on symbols under way.

use super::value::Value;
use crate::algebra::Predicate;
use crate::interp::program::Pc;
use crate::interp::program::rare::Cell;
use crate::interp::registers::{LANES, Mask};

/// The values of some registers in all lanes.
pub(super) type Rows = Vec<[Value; LANES]>;

/// A branch on symbols under way.
#[derive(Debug)]
pub(super) struct Fork {
    /// Where both ways meet.
    pub meet: Pc,
    /// Where the second way begins.
    pub other: Pc,
    /// The lanes.
    pub mask: Mask,
    /// When each lane takes the first way.
    pub predicates: [Predicate; LANES],
    /// The registers that one of the ways writes.
    pub cells: Vec<Cell>,
    /// Their values at the branch.
    pub before: Rows,
    /// What the first way has left in them, once it has ended.
    pub first: Option<Rows>,
}

impl Fork {
    /// When a lane takes the way that is executed at present.
    pub(super) fn predicate(&self, lane: usize) -> Predicate {
        let predicate = self.predicates[lane];
        if self.first.is_some() { predicate.not() } else { predicate }
    }
}
