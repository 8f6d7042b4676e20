//! The phases of warps: stretches of execution within which nothing orders the lanes.
//!
//! A phase is the execution of one warp between two points that order its lanes, `bar.warp.sync` or a barrier of the
//! block. Each phase has a number of its own in the launch, so that a stamp needs only the number. A fence begins a new
//! phase, too, so that accesses behind it can be told from those that it releases; it does not order the lanes.

use super::stamp::{PhaseId, Stamp};

/// The number that all phases beyond the table's room share; their order is unknown.
const LAST: PhaseId = 1 << 25;

/// One phase.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Phase {
    /// Number of the block in the grid.
    pub block: u64,
    /// Barriers that the block has passed.
    pub epoch: u32,
    /// Number of the warp in its block.
    pub warp: u32,
    /// The phase with which the stretch between two points that order the warp's lanes begins: this one, unless a fence
    /// has begun another phase within the stretch.
    pub first: PhaseId,
    /// The phase with which the stretch since the last `.sync` instruction of the warp begins. Such an instruction orders no
    /// memory unless it is `bar.warp.sync`, and yet the lanes that it names have come there.
    pub gathered: PhaseId,
}

/// How far apart two accesses are that nothing orders.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Concurrency {
    /// They are ordered, or of the same thread.
    Ordered,
    /// They are of two lanes of a warp.
    Lanes,
    /// They are of two warps of a block.
    Warps,
    /// They are of two blocks.
    Blocks,
}

/// The phases of a launch, or of a part of its blocks.
#[derive(Debug)]
pub(crate) struct Phases(Vec<Phase>);

impl Phases {
    /// The record of a launch in which no phase has begun.
    pub(crate) fn new() -> Phases {
        Phases(vec![Phase::default()])
    }

    /// Begins a phase and returns its number.
    pub(crate) fn begin(&mut self, phase: Phase) -> PhaseId {
        let id = self.0.len() as PhaseId;
        if id <= LAST {
            self.0.push(Phase { first: id, gathered: id, ..phase });
        }
        id.min(LAST)
    }

    /// Begins another phase of the same stretch.
    pub(crate) fn split(&mut self, phase: PhaseId) -> PhaseId {
        let id = self.0.len() as PhaseId;
        if id <= LAST {
            let phase = *self.get(phase);
            self.0.push(phase);
        }
        id.min(LAST)
    }

    /// Begins another phase of the same stretch behind a `.sync` instruction.
    pub(crate) fn gather(&mut self, phase: PhaseId) -> PhaseId {
        let id = self.split(phase);
        if let Some(last) = self.0.get_mut(id as usize).filter(|_| id != LAST) {
            last.gathered = id;
        }
        id
    }

    /// Whether two accesses lie in one stretch without a `.sync` instruction.
    pub(crate) fn apart(&self, a: Stamp, b: Stamp) -> bool {
        a.phase() != LAST
            && b.phase() != LAST
            && self.get(a.phase()).gathered == self.get(b.phase()).gathered
    }

    /// The number of the phase that begins next.
    pub(crate) fn next(&self) -> PhaseId {
        (self.0.len() as PhaseId).min(LAST)
    }

    /// The phase with this number.
    #[inline]
    pub(crate) fn get(&self, id: PhaseId) -> &Phase {
        &self.0[id as usize]
    }

    /// The order between accesses in two phases, whichever lanes perform them; `None` if it depends on these.
    pub(crate) fn of_all_lanes(&self, a: PhaseId, b: PhaseId) -> Option<Concurrency> {
        if a == LAST || b == LAST {
            return None;
        }
        let (a, b) = (self.get(a), self.get(b));
        match () {
            () if a.block != b.block => Some(Concurrency::Blocks),
            () if a.epoch != b.epoch => Some(Concurrency::Ordered),
            () if a.warp != b.warp => Some(Concurrency::Warps),
            () if a.first == b.first => None,
            () => Some(Concurrency::Ordered),
        }
    }

    /// Whether anything orders two accesses. Accesses of two blocks are never ordered.
    #[inline]
    pub(crate) fn concurrency(&self, a: Stamp, b: Stamp) -> Concurrency {
        if a.phase() == LAST || b.phase() == LAST {
            return Concurrency::Ordered;
        }
        if a.phase() == b.phase() {
            return if a.lane() == b.lane() { Concurrency::Ordered } else { Concurrency::Lanes };
        }
        let lanes = (a.lane(), b.lane());
        let (a, b) = (self.get(a.phase()), self.get(b.phase()));
        match () {
            () if a.block != b.block => Concurrency::Blocks,
            () if a.epoch != b.epoch => Concurrency::Ordered,
            () if a.warp != b.warp => Concurrency::Warps,
            () if a.first == b.first && lanes.0 != lanes.1 => Concurrency::Lanes,
            () => Concurrency::Ordered,
        }
    }
}
