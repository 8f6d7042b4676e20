//! One access in 64 bits: by which thread, where in the program, and in which phase of its warp.

use crate::interp::memory::{Scope, Strength};

/// Number of a micro-operation among those of all functions.
pub(crate) type Site = u32;

/// Number of a phase in [`super::Phases`]; 0 is none.
pub(crate) type PhaseId = u32;

/// An access, or none.
///
/// | bits | meaning |
/// |---|---|
/// | 0 to 30 | the phase; 0: no access |
/// | 31 | whether the access is strong for its block only |
/// | 32 to 36 | the lane |
/// | 37 | whether the access is strong (volatile, atomic, ...) |
/// | 38 | whether it is a volatile or relaxed load or store that orders nothing |
/// | 39 to 63 | the site |
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Stamp(u64);

const LANE_SHIFT: u32 = 32;
const STRONG_SHIFT: u32 = 37;
const LOOSE_SHIFT: u32 = 38;
const SITE_SHIFT: u32 = 39;
const NARROW_SHIFT: u32 = 31;
/// The bits of the phase.
const PHASE: u64 = (1 << NARROW_SHIFT) - 1;
/// The bits that name a thread in a phase.
const THREAD: u64 = (1 << STRONG_SHIFT) - 1 - (1 << NARROW_SHIFT);

impl Stamp {
    /// No access.
    pub(crate) const NONE: Stamp = Stamp(0);

    /// The access of a lane. A site that is too large for its bits is kept modulo 2^25.
    #[inline]
    pub(crate) fn new(phase: PhaseId, lane: usize, site: Site, strong: Option<Strength>) -> Stamp {
        Stamp(
            u64::from(phase)
                | u64::from(strong.is_some_and(|s| s.scope == Scope::Block)) << NARROW_SHIFT
                | (lane as u64) << LANE_SHIFT
                | u64::from(strong.is_some()) << STRONG_SHIFT
                | u64::from(strong.is_some_and(|s| s.loose)) << LOOSE_SHIFT
                | u64::from(site) << SITE_SHIFT,
        )
    }

    /// The phase; 0 if there was no access.
    #[inline]
    pub(crate) fn phase(self) -> PhaseId {
        (self.0 & PHASE) as u32
    }

    /// The lane in its warp.
    #[inline]
    pub(crate) fn lane(self) -> usize {
        (self.0 >> LANE_SHIFT & 31) as usize
    }

    /// The micro-operation that accesses.
    #[inline]
    pub(crate) fn site(self) -> Site {
        (self.0 >> SITE_SHIFT) as Site
    }

    /// Whether the access is strong.
    #[inline]
    pub(crate) fn strong(self) -> bool {
        self.0 >> STRONG_SHIFT & 1 != 0
    }

    /// Whether the access is a volatile or relaxed load or store that orders nothing.
    #[inline]
    pub(crate) fn loose(self) -> bool {
        self.0 >> LOOSE_SHIFT & 1 != 0
    }

    /// Whether the access is strong for the threads of its block only.
    #[inline]
    pub(crate) fn narrow(self) -> bool {
        self.0 >> NARROW_SHIFT & 1 != 0
    }

    /// Whether `self` and `other` are weak accesses of different lanes in the phase of `third`.
    pub(crate) fn two_lanes(self, other: Stamp, third: Stamp) -> bool {
        let same_phase = (self.0 ^ third.0 | other.0 ^ third.0) & PHASE == 0;
        same_phase && self.lane() != other.lane() && !self.strong() && !other.strong()
    }

    /// Whether both are accesses of one thread in one phase.
    #[inline]
    pub(crate) fn same_thread(self, other: Stamp) -> bool {
        (self.0 ^ other.0) & THREAD == 0
    }
}
