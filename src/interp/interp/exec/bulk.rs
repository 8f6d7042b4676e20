//! Bulk copies between global and shared memory. They are performed at once, one lane after the other:
//! a program that waits as the manual demands sees no difference.

use super::access::{AccessFault, Intent, Spaces};
use super::watch::Watch;
use crate::interp::counters::Counters;
use crate::interp::fault::FaultKind;
use crate::interp::memory::Window;
use crate::interp::poison::{Source, Spot};
use crate::interp::program::Place;
use crate::interp::program::transaction::BulkCopy;
use crate::interp::registers::{Mask, Registers, lanes};
use crate::ptx::StateSpace;

/// The alignment of sizes and addresses in bytes.
const GRAIN: u32 = 16;

/// The bytes that a bulk copy reads or writes.
struct Stretch<'a> {
    window: Window<'a>,
    home: StateSpace,
    offset: u64,
}

impl Stretch<'_> {
    /// The poisoned bits of an element, and where they come from.
    fn poison(&self, skip: u64, (lane, bytes): (usize, u32), watch: &Watch<'_>) -> (u64, Source) {
        let offset = self.offset + skip;
        let bits = self.window.marks().map_or(0, |marks| marks.read(offset, lane, bytes));
        let source = match self.window.poison_source(offset) {
            Some(source) => Source::from_bits(source),
            None => watch.source(self.home, offset, lane),
        };
        (bits, source)
    }

    /// How many 128-byte lines of global memory these bytes touch.
    fn lines(&self, bytes: u32) -> u64 {
        match self.home {
            StateSpace::Global if bytes > 0 => {
                ((self.offset + u64::from(bytes) - 1) >> 7) - (self.offset >> 7) + 1
            }
            _ => 0,
        }
    }
}

impl<'a> Spaces<'a> {
    /// `cp.async.bulk`, `cp.reduce.async.bulk`.
    ///
    /// # Errors
    /// A size or address that is misaligned, an access out of bounds, a bad `mbarrier` object.
    pub(super) fn copy_bulk(
        &self,
        registers: &Registers,
        copy: &BulkCopy,
        mask: Mask,
        counters: &mut Counters,
        watch: &mut Watch<'_>,
    ) -> Result<(), AccessFault> {
        for lane in lanes(mask) {
            let size = registers.w32[copy.size][lane];
            let from = self.stretch(registers, &copy.from, size, Intent::Read, lane)?;
            let to = self.stretch(registers, &copy.to, size, Intent::Write, lane)?;
            let step = copy.reduce.map_or(4, |(_, bytes)| bytes);
            for skip in (0..u64::from(size)).step_by(step as usize) {
                let new = from.window.read(from.offset + skip, lane, step);
                let at = to.offset + skip;
                if copy.reduce.is_some() {
                    let read = [&from, &to].into_iter();
                    let poisoned =
                        read.map(|s| s.poison(skip, (lane, step), watch)).find(|p| p.0 != 0);
                    if let Some((_, source)) = poisoned {
                        let what = "what this bulk copy combines";
                        return Err(AccessFault::poisoned(lane, what, source));
                    }
                } else {
                    self.copy_poison((&from, &to), skip, lane, watch);
                }
                let value = match copy.reduce {
                    Some((run, _)) => run(to.window.read(at, lane, step), new, 0),
                    None => new,
                };
                to.window.write(at, lane, step, value);
            }
            counters.global_load_requests += u64::from(from.home == StateSpace::Global);
            counters.global_load_wavefronts += from.lines(size);
            counters.global_store_requests += u64::from(to.home == StateSpace::Global);
            counters.global_store_wavefronts += to.lines(size);
            for stretch in [&from, &to].into_iter().filter(|s| s.home == StateSpace::Shared) {
                counters.shared_requests += 1;
                // All banks give a word each.
                let end = stretch.offset + u64::from(size);
                counters.shared_wavefronts += end.div_ceil(128) - stretch.offset / 128;
            }
            if let Some(barrier) = &copy.barrier {
                self.complete_transaction(registers, barrier, lane, size)?;
            }
        }
        Ok(())
    }

    /// Copies the poison of a word: undetermined bits stay undetermined, and are reported at their use.
    fn copy_poison(
        &self,
        (from, to): (&Stretch<'_>, &Stretch<'_>),
        skip: u64,
        lane: usize,
        watch: &mut Watch<'_>,
    ) {
        let ((bits, source), at) = (from.poison(skip, (lane, 4), watch), to.offset + skip);
        let owner =
            |stretch: &Stretch<'_>| watch.owner_of(stretch.window.region, stretch.home, lane);
        watch.copy_word((owner(from), from.offset + skip), (owner(to), at));
        if let (Some(world), Some(region)) = (watch.world, to.window.region) {
            world.state().memory.write(region, at, 4);
        }
        if let Some(marks) = to.window.marks() {
            marks.write(at, lane, 4, bits);
        }
        if bits == 0 {
            return;
        }
        match to.window.region.and_then(|region| self.global.regions().get(region)) {
            Some(region) => region.poison(at, bits as u32, source.bits()),
            None => {
                if let Some(marks) = watch.marks.as_deref_mut() {
                    let (space, warp) = (to.home, watch.warp);
                    marks.copy(Spot { space, warp, lane, offset: at }, source);
                }
            }
        }
    }

    fn stretch(
        &self,
        registers: &Registers,
        place: &Place,
        size: u32,
        intent: Intent,
        lane: usize,
    ) -> Result<Stretch<'a>, AccessFault> {
        let address = self.addresses(registers, place)[lane];
        let fault = |kind, message| AccessFault::new(lane, kind, message);
        let outside = |message| AccessFault {
            outside: self.beside(address, size),
            ..fault(FaultKind::OutOfBounds, message)
        };
        if !size.is_multiple_of(GRAIN) || !address.is_multiple_of(u64::from(GRAIN)) {
            let message = format!(
                "a bulk copy of {size} bytes at {address:#x}: both must be multiples of {GRAIN}"
            );
            return Err(fault(FaultKind::Misaligned, message));
        }
        let (window, home) = self.window(place.space, address, intent).map_err(outside)?;
        match window.offset(address, size) {
            Some(offset) => Ok(Stretch { window, home, offset }),
            None => Err(outside(self.outside(window, address, size, home))),
        }
    }
}
