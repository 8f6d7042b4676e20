//! Which accesses are known to have happened: a vector clock over the phases of warps.

use std::collections::BTreeMap;
use std::sync::Arc;

use smallvec::SmallVec;

use super::phases::Phase;
use super::stamp::PhaseId;

/// The accesses of a warp that are known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Known {
    /// Those of all lanes in phases in front of this one.
    before: PhaseId,
    /// Those of single lanes up to and with a phase.
    lanes: SmallVec<[(usize, PhaseId); 1]>,
}

/// A set of accesses that is closed under the happens-before order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Clock {
    /// For each block a phase: all accesses of its threads before this phase are in the set.
    blocks: BTreeMap<u64, PhaseId>,
    /// The same for single warps of a block.
    warps: BTreeMap<(u64, u32), Known>,
}

/// A clock that several threads may share; none knows nothing.
pub(super) type Shared = Option<Arc<Clock>>;

impl Clock {
    /// The accesses that are ordered before a lane without synchronisation by others: those of its block before
    /// `epoch`, those of its warp before the stretch that begins with `phase.first`, and its own up to phase `id`.
    pub(super) fn of_lane(phase: Phase, id: PhaseId, lane: usize, epoch: PhaseId) -> Clock {
        let mut clock = Clock::default();
        clock.blocks.insert(phase.block, epoch);
        let known = Known { before: phase.first, lanes: SmallVec::from_elem((lane, id), 1) };
        clock.warps.insert((phase.block, phase.warp), known);
        clock
    }

    /// The same for a warp whose lanes have all come to one place in phase `id`.
    pub(super) fn of_warp(phase: Phase, id: PhaseId, epoch: PhaseId) -> Clock {
        let mut clock = Clock::default();
        clock.blocks.insert(phase.block, epoch);
        let known = Known { before: id + 1, lanes: SmallVec::new() };
        clock.warps.insert((phase.block, phase.warp), known);
        clock
    }

    /// Whether an access of a lane in a phase is known.
    pub(super) fn covers(&self, phase: Phase, id: PhaseId, lane: usize) -> bool {
        let of_block = self.blocks.get(&phase.block).is_some_and(|&bound| id < bound);
        of_block
            || self.warps.get(&(phase.block, phase.warp)).is_some_and(|known| {
                id < known.before || known.lanes.iter().any(|&(l, last)| l == lane && id <= last)
            })
    }

    /// Whether all that `other` knows is known.
    pub(super) fn includes(&self, other: &Clock) -> bool {
        let blocks = other
            .blocks
            .iter()
            .all(|(block, bound)| *bound <= self.blocks.get(block).copied().unwrap_or_default());
        blocks
            && other.warps.iter().all(|(warp, theirs)| {
                self.warps.get(warp).is_some_and(|mine| {
                    let lane = |&(lane, last): &(usize, PhaseId)| {
                        last < mine.before
                            || mine.lanes.iter().any(|&(l, own)| l == lane && last <= own)
                    };
                    theirs.before <= mine.before && theirs.lanes.iter().all(lane)
                })
            })
    }

    /// Adds all that `other` knows.
    fn join(&mut self, other: &Clock) {
        for (&block, &bound) in &other.blocks {
            let own = self.blocks.entry(block).or_default();
            *own = (*own).max(bound);
        }
        for (&warp, theirs) in &other.warps {
            let own = self.warps.entry(warp).or_default();
            own.before = own.before.max(theirs.before);
            for &(lane, last) in &theirs.lanes {
                match own.lanes.iter_mut().find(|(l, _)| *l == lane) {
                    Some((_, mine)) => *mine = (*mine).max(last),
                    None => own.lanes.push((lane, last)),
                }
            }
        }
    }
}

/// Adds what `other` knows to what `own` knows.
pub(super) fn join(own: &mut Shared, other: &Shared) {
    let Some(more) = other else { return };
    match own {
        None => *own = Some(Arc::clone(more)),
        Some(mine) if Arc::ptr_eq(mine, more) => {}
        Some(mine) => {
            if !mine.includes(more) {
                Arc::make_mut(mine).join(more);
            }
        }
    }
}
