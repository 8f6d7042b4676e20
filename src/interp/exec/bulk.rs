//! Bulk copies between global and shared memory. They are performed at once, one lane after the other:
//! a program that waits as the manual demands sees no difference.

use super::access::{AccessFault, Intent, Spaces};
use super::watch::Watch;
use crate::interp::counters::Counters;
use crate::interp::fault::FaultKind;
use crate::interp::memory::Window;
use crate::interp::program::Place;
use crate::interp::program::transaction::BulkCopy;
use crate::interp::registers::{Mask, Registers, lanes};
use crate::ptx::StateSpace;

/// Sizes and addresses must be multiples of so many bytes.
const GRAIN: u32 = 16;

/// The bytes that a bulk copy reads or writes.
struct Stretch<'a> {
    window: Window<'a>,
    home: StateSpace,
    offset: u64,
}

impl Stretch<'_> {
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
    pub fn copy_bulk(
        &self,
        registers: &Registers,
        copy: &BulkCopy,
        mask: Mask,
        counters: &mut Counters,
        watch: &Watch<'_>,
    ) -> Result<(), AccessFault> {
        for lane in lanes(mask) {
            let size = registers.w32[copy.size as usize][lane];
            let from = self.stretch(registers, &copy.from, size, Intent::Read, lane)?;
            let to = self.stretch(registers, &copy.to, size, Intent::Write, lane)?;
            let step = copy.reduce.map_or(4, |(_, bytes)| bytes);
            for skip in (0..u64::from(size)).step_by(step as usize) {
                let new = from.window.read(from.offset + skip, lane, step);
                let at = to.offset + skip;
                let unwritten = |stretch: &Stretch<'_>| {
                    let marks = stretch.window.marks();
                    marks.is_some_and(|marks| marks.read(stretch.offset + skip, lane, step) != 0)
                };
                let old = copy.reduce.is_some().then_some(&to);
                if let Some(stretch) =
                    [Some(&from), old].into_iter().flatten().find(|s| unwritten(s))
                {
                    let source = watch.source(stretch.home, stretch.offset + skip, lane);
                    return Err(AccessFault::poisoned(lane, "what this bulk copy reads", source));
                }
                if let Some(marks) = to.window.marks() {
                    marks.write(at, lane, step, 0);
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
