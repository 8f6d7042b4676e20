//! Atomics of a warp: `atom`, `red`.

use super::access::{AccessFault, Intent, Part, Spaces};
use super::banks;
use super::tally;
use super::watch::Watch;
use crate::interp::counters::Counters;
use crate::interp::memory::Kind;
use crate::interp::poison::Poison;
use crate::interp::program::Atomic;
use crate::interp::registers::{Mask, Registers, Slot, lanes};
use crate::ptx::StateSpace;

impl Spaces<'_> {
    /// `atom`, `red`: one lane after the other, in ascending order.
    pub(super) fn atomic(
        &self,
        registers: &mut Registers,
        atomic: &Atomic,
        mask: Mask,
        counters: &mut Counters,
        (watch, poison): (&mut Watch<'_>, Option<&Poison>),
    ) -> Result<(), AccessFault> {
        let addresses = self.addresses(registers, &atomic.place);
        let what = (atomic.place.space, atomic.align, Intent::Write);
        counters.atomic_requests += 1;
        let (mut passes, mut cost, mut parts) = (0, 0, 0);
        let done = self.parts(what, &addresses, mask, |part, home| {
            parts += 1;
            passes += match home {
                StateSpace::Shared => banks::turns(&part.offsets, part.lanes),
                _ => banks::repeats(&part.offsets, part.lanes),
            };
            cost = if home == StateSpace::Shared { passes } else { tally::distinct(part).1 };
            for lane in lanes(part.lanes) {
                let kind = Kind::Write { changes: true };
                let strong = Some(atomic.order.of_atomic());
                watch.note(part, home, lane, 0, atomic.align, kind, strong)?;
                let at = part.offsets[lane];
                if let (Some(poison), Some(world)) = (poison, watch.world) {
                    let what = (part, home);
                    let with = (&mut *watch, poison, world);
                    if self.sum_of_symbols(registers, atomic, what, lane, with)? {
                        watch.strong(part, home, lane, (atomic.order, true, Some(false)));
                        continue;
                    }
                }
                match poison.filter(|poison| poison.recorder.is_some()) {
                    Some(poison) => watch.pass_marks((part, home), atomic, lane, poison),
                    None => watch.mark_atomic((part, home), atomic, lane)?,
                }
                watch.note_written((part, home), (0, atomic.align), 1 << lane);
                if let Some(compare) = atomic.wide {
                    exchange_pair(registers, atomic, part, lane, compare);
                    watch.strong(part, home, lane, (atomic.order, true, Some(false)));
                    continue;
                }
                // A comparison that fails writes nothing.
                let mut writes = Some(false);
                for (index, &(d, (file, slot))) in atomic.elements.iter().enumerate() {
                    let at = at + index as u64 * u64::from(atomic.bytes);
                    let old = part.window.read(at, lane, atomic.bytes);
                    let b = registers.get(file, slot, lane);
                    if atomic.c.is_some() && old != b {
                        writes = None;
                    }
                    let c = atomic.c.map_or(0, |(file, slot)| registers.get(file, slot, lane));
                    part.window.write(at, lane, atomic.bytes, (atomic.run)(old, b, c));
                    if let Some((file, slot)) = d {
                        registers.set(file, slot, lane, old);
                    }
                }
                watch.strong(part, home, lane, (atomic.order, true, writes));
            }
            Ok(())
        });
        counters.atomic_passes += passes;
        if mask != 0 && parts == 1 {
            counters.single.note(mask, cost);
        }
        done
    }
}

impl Watch<'_> {
    /// Marks the bytes that an atomic operation of a lane writes. The result of an exchange of unwritten bytes is
    /// poison; every other operation depends on them.
    ///
    /// # Errors
    /// The operation depends on bytes that nobody has written.
    #[inline(always)]
    fn mark_atomic(
        &mut self,
        (part, home): (&Part<'_>, StateSpace),
        atomic: &Atomic,
        lane: usize,
    ) -> Result<(), AccessFault> {
        let Some(marks) = part.window.marks() else { return Ok(()) };
        let (at, step) = (part.offsets[lane], atomic.bytes.min(8));
        for skip in (0..atomic.align).step_by(step as usize) {
            let offset = at + u64::from(skip);
            let bits = marks.read(offset, lane, step);
            if bits != 0 {
                if !atomic.exchanges {
                    let what = "the old value that this atomic operation works on";
                    return Err(AccessFault::poisoned(lane, what, self.source(home, offset, lane)));
                }
                let index = (skip / step) as usize;
                let (element, half) = match atomic.wide {
                    Some(_) => (0, index as u32),
                    None => (index, 0),
                };
                if let Some(&(Some((file, slot)), _)) = atomic.elements.get(element) {
                    self.found((file, slot.plus(half)), (home, offset), lane, bits);
                }
                marks.write(offset, lane, step, 0);
            }
        }
        Ok(())
    }
}

impl Watch<'_> {
    /// Passes the marks of approximate values on: what an atomic operation of a lane writes depends on the old value and the
    /// operands, its result on the old value.
    fn pass_marks(
        &mut self,
        (part, home): (&Part<'_>, StateSpace),
        atomic: &Atomic,
        lane: usize,
        poison: &Poison,
    ) {
        let Some(marks) = part.window.marks() else { return };
        let step = atomic.bytes.min(8);
        for (index, &(d, b)) in atomic.elements.iter().enumerate() {
            let offset = part.offsets[lane] + index as u64 * u64::from(atomic.bytes);
            let old = marks.read(offset, lane, step);
            if let Some(cell) = d.filter(|_| old != 0) {
                self.found(cell, (home, offset), lane, old);
            }
            let given = atomic.c.into_iter().chain([b]);
            let given = given.fold(0, |all, cell| all | poison.bits(cell, lane));
            let kept = if atomic.exchanges { 0 } else { old };
            marks.write(offset, lane, step, if kept | given == 0 { 0 } else { u64::MAX });
        }
    }
}

fn exchange_pair(
    registers: &mut Registers,
    atomic: &Atomic,
    part: &Part<'_>,
    lane: usize,
    compare: bool,
) {
    let at = part.offsets[lane];
    let pair = |slot: Slot| [0, 1].map(|half| registers.w64[slot.plus(half)][lane]);
    let Some(&(d, (_, b))) = atomic.elements.first() else { return };
    let old = [0, 8].map(|skip| part.window.read(at + skip, lane, 8));
    let b = pair(b);
    let new = match (compare, atomic.c) {
        (true, Some((_, c))) if old == b => pair(c),
        (true, _) => old,
        (false, _) => b,
    };
    part.window.write(at, lane, 8, new[0]);
    part.window.write(at + 8, lane, 8, new[1]);
    if let Some((_, d)) = d {
        registers.w64[d][lane] = old[0];
        registers.w64[d.plus(1)][lane] = old[1];
    }
}
