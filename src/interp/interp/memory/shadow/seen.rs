//! Accesses of the lanes of a warp, decided by the phases of the earlier accesses alone.
//!
//! The lanes of a warp touch cells whose earlier accesses mostly come from the same few phases. Where such a phase is of another
//! warp, or of another block, what a read means for its cell does not depend on the lane: it is decided once for two phases of
//! earlier reads, and once for the phase of an earlier write. All else is decided access by access.

use super::Cell;
use super::phases::{Concurrency, Phases};
use super::stamp::{PhaseId, Stamp};
use crate::interp::memory::Accessor;

/// What a read leaves in its cell.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Left {
    /// The reads that are there.
    Both,
    /// Itself in the place of the first one.
    First,
    /// Itself in the place of the second one.
    Second,
}

/// The last decisions of a warp's instruction.
pub(super) struct Seen<'p> {
    phases: &'p Phases,
    who: &'p Accessor,
    /// A phase whose writes are ordered before all lanes, or none.
    quiet: PhaseId,
    /// The phases of two earlier reads, and what a read of each lane then leaves.
    reads: Option<((PhaseId, PhaseId), Left)>,
}

impl<'p> Seen<'p> {
    /// For an instruction of a warp. Nothing but barriers orders the threads of the launch.
    pub(super) fn new(phases: &'p Phases, who: &'p Accessor) -> Seen<'p> {
        Seen { phases, who, quiet: 0, reads: None }
    }

    /// Notes a weak read of a cell without strong accesses, if it races with nothing and its lane does not matter.
    #[inline(always)]
    pub(super) fn note_read(&mut self, cell: &mut Cell, mine: Stamp) -> bool {
        if !self.is_quiet(cell.write) {
            return false;
        }
        let (read, other) = (cell.read, cell.other);
        if read == Stamp::NONE {
            cell.read = mine;
            return true;
        }
        if read.same_thread(mine) || read.two_lanes(other, mine) {
            return true;
        }
        let key = (read.phase(), other.phase());
        let left = match self.reads {
            Some((known, left)) if known == key => left,
            _ => {
                let Some(left) = self.left(key) else { return false };
                self.reads = Some((key, left));
                left
            }
        };
        match left {
            Left::Both => {}
            Left::First => cell.read = mine,
            Left::Second => cell.other = mine,
        }
        true
    }

    /// Notes a weak write of a cell without strong accesses, in the same case. `changes`: whether its bytes differ afterwards.
    #[inline(always)]
    pub(super) fn note_write(&mut self, cell: &mut Cell, mine: Stamp, changes: bool) -> bool {
        let is_quiet = !changes
            || self.is_quiet(cell.write) && self.is_quiet(cell.read) && self.is_quiet(cell.other);
        if is_quiet {
            cell.write = mine;
        }
        is_quiet
    }

    /// Whether an earlier access is none, or is ordered before all lanes.
    #[inline(always)]
    fn is_quiet(&mut self, earlier: Stamp) -> bool {
        let phase = earlier.phase();
        phase == 0
            || phase == self.quiet
            || self.who.before.contains(&phase)
            || self.is_ordered(phase)
    }

    /// Whether the accesses of a phase are ordered before all lanes.
    #[inline(never)]
    fn is_ordered(&mut self, phase: PhaseId) -> bool {
        let is_ordered = self.order(phase) == Some(Concurrency::Ordered);
        if is_ordered {
            self.quiet = phase;
        }
        is_ordered
    }

    /// The order between the accesses of a phase and those of each lane; `None` if it depends on the lane.
    fn order(&self, phase: PhaseId) -> Option<Concurrency> {
        match self.who.before.contains(&phase) {
            true => Some(Concurrency::Ordered),
            false => self.phases.of_all_lanes(phase, self.who.phase),
        }
    }

    #[inline(never)]
    fn left(&self, (read, other): (PhaseId, PhaseId)) -> Option<Left> {
        let order = self.order(read)?;
        if order == Concurrency::Ordered {
            return Some(Left::First);
        }
        if other == 0 || self.order(other)? == Concurrency::Ordered {
            return Some(Left::Second);
        }
        // (Those of one phase are of two lanes.)
        let between = match read == other {
            true => Concurrency::Lanes,
            false => self.phases.of_all_lanes(read, other)?,
        };
        Some(if order > between { Left::Second } else { Left::Both })
    }
}

#[cfg(feature = "internals")]
mod tests {
    use std::ops::Range;

    use super::super::{Phase, Reports, Shadow};
    use super::*;
    use crate::interp::registers::LANES;

    crate::unit_tests!(decisions_for_all_lanes_are_those_for_each);

    /// A record in which accesses are decided by phases or, since other things than barriers might order threads, one by one.
    fn shadow(is_single: bool) -> Shadow {
        Shadow::new([256].into_iter(), (256, true), (Reports::All, is_single))
    }

    /// Random accesses of random warps with random barriers, in both ways.
    fn decisions_for_all_lanes_are_those_for_each() {
        let mut state = 1u64;
        let mut number = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        let mut races = 0;
        for _ in 0..400 {
            let mut both = [shadow(false), shadow(true)];
            let mut epochs = [0; 2];
            let mut before: [Range<PhaseId>; 2] = [0..0, 0..0];
            for _ in 0..30 {
                let (block, warp) = (number(2), number(3) as u32);
                if number(4) == 0 {
                    epochs[block as usize] += 1;
                    before[block as usize] = 0..both[0].next_phase();
                }
                let phase =
                    Phase { block, epoch: epochs[block as usize], warp, ..Phase::default() };
                let ids = both.each_mut().map(|one| one.begin(phase));
                assert_eq!(ids[0], ids[1]);
                let known = if number(2) == 0 { before[block as usize].clone() } else { 0..0 };
                let site = number(100) as u32;
                let who = Accessor { phase: ids[0], before: known, site };
                let region = (number(2) == 0).then_some(0);
                for _ in 0..number(4) {
                    let spread = [1, 2, 16, 32][number(4) as usize];
                    let offsets: [u64; LANES] = std::array::from_fn(|_| 4 * number(spread));
                    let mask = number(1 << 32) as u32 | 1;
                    let found = if number(3) > 0 {
                        both.each_mut().map(|one| {
                            one.read_all(region, (&offsets, mask, 4), &who, (None, false))
                        })
                    } else {
                        let changes = number(1 << 32) as u32;
                        let place = (&offsets, mask, 4);
                        both.each_mut()
                            .map(|one| one.write_all(region, place, changes, &who, (0, None)))
                    };
                    races += usize::from(found[0].is_some());
                    assert_eq!(found[0], found[1]);
                }
            }
            let [fast, slow] = &both;
            for (fast, slow) in [(&fast.global[0], &slow.global[0]), (&fast.shared, &slow.shared)] {
                for at in fast.made().flatten().chain(slow.made().flatten()) {
                    let of =
                        |cell: Option<&Cell>| cell.map(|cell| [cell.write, cell.read, cell.other]);
                    assert_eq!(of(fast.weak.get(at)), of(slow.weak.get(at)));
                }
            }
        }
        assert!(races > 1000, "{races}");
    }
}
