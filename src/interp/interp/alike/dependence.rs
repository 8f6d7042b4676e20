//! How registers depend on the block.

use super::{LEVEL, Slope};

/// How a register depends on the block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Dependence {
    /// No instruction has written it yet.
    Unwritten,
    /// The number is known, and all lanes and blocks have it.
    Known(u64),
    /// It grows with the block index.
    Affine(Slope),
    /// Otherwise.
    Other,
}

use Dependence::{Known, Other, Unwritten};

/// The same in all blocks.
pub(super) const SAME: Dependence = Dependence::Affine(LEVEL);

impl Dependence {
    pub(super) fn join(self, other: Dependence) -> Dependence {
        match (self, other) {
            (Unwritten, known) | (known, Unwritten) => known,
            (one, other) if one == other => one,
            (one, other) if one.is_same() && other.is_same() => SAME,
            _ => Other,
        }
    }

    pub(super) fn is_same(self) -> bool {
        matches!(self, Known(_) | SAME)
    }

    pub(super) fn slope(self) -> Slope {
        match self {
            Dependence::Affine(slope) => slope,
            _ => LEVEL,
        }
    }
}
