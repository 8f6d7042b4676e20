//! Matrix fragments between memory and registers. All lanes take part.

use super::access::{AccessFault, Intent, Spaces};
use super::banks::wavefronts;
use super::tally::Tally;
use super::watch::Watch;
use crate::interp::counters::Counters;
use crate::interp::fault::FaultKind;
use crate::interp::memory::Kind;
use crate::interp::poison::Poison;
use crate::interp::program::Destination;
use crate::interp::program::rare::{FragmentBase, FragmentMove};
use crate::interp::registers::{FULL, LANES, Registers, lanes};
use crate::ptx::StateSpace;

impl Spaces<'_> {
    /// `ldmatrix`, `stmatrix`, `wmma.load`, `wmma.store`.
    ///
    /// # Errors
    /// A row that is misaligned or out of bounds, a race.
    pub(super) fn fragment(
        &self,
        registers: &mut Registers,
        fragment: &FragmentMove,
        counters: &mut Counters,
        (watch, poison): (&mut Watch<'_>, Option<&Poison>),
    ) -> Result<(), AccessFault> {
        let addresses = self.addresses(registers, &fragment.place);
        for (lane, &address) in addresses.iter().enumerate().take(fragment.givers) {
            if !address.is_multiple_of(u64::from(fragment.align)) {
                let message =
                    format!("address {address:#x} is not a multiple of {}", fragment.align);
                return Err(AccessFault::new(lane, FaultKind::Misaligned, message));
            }
        }
        let strides = fragment.stride.map_or([0; LANES], |slot| registers.w32[slot]);
        let base = FragmentBase { addresses, strides };
        let intent = if fragment.store { Intent::Write } else { Intent::Read };
        let what = (fragment.place.space, fragment.bytes, intent);
        let mut tally = Tally::default();
        for (index, &((file, slot), shift)) in fragment.elements.iter().enumerate() {
            let of_lane = |lane| (fragment.address)(&base, lane, index);
            let addresses: [u64; LANES] = std::array::from_fn(of_lane);
            self.parts(what, &addresses, FULL, |part, home| {
                tally.add_lines(part, home);
                // Rows of 16 bytes, as eight lanes each give them.
                if index == 0 && home == StateSpace::Shared && fragment.in_rows {
                    let givers = FULL >> (LANES - fragment.givers);
                    let cost = wavefronts(&base.addresses, givers, 16);
                    counters.shared_wavefronts += cost;
                    counters.single.note(FULL, cost);
                }
                if fragment.store {
                    watch.note_written((part, home), (0, fragment.bytes), part.lanes);
                    let holds = |poison: &&Poison| poison.lanes((file, slot)) & part.lanes != 0;
                    if let Some(poison) = poison.filter(holds) {
                        let what = ((file, slot), shift);
                        watch.mark_poison((part, home), (0, fragment.bytes), what, poison)?;
                    } else {
                        lanes(part.lanes).for_each(|lane| part.written(lane, 0, fragment.bytes));
                    }
                } else if watch.world.is_some() {
                    let dest = Destination { file, slot, sign_to: 0 };
                    let (what, place) = ((0, fragment.bytes), (part, home));
                    watch.look_for_symbols(place, what, (dest, shift / 16), part.lanes);
                } else if let Some(marks) = part.window.marks() {
                    for lane in lanes(part.lanes) {
                        let bits = marks.read(part.offsets[lane], lane, fragment.bytes);
                        if bits != 0 {
                            let place = (home, part.offsets[lane]);
                            watch.found((file, slot), place, lane, bits << shift);
                        }
                    }
                }
                for lane in lanes(part.lanes) {
                    let (at, bytes) = (part.offsets[lane], fragment.bytes);
                    let mask = u64::MAX >> (64 - 8 * bytes) << shift;
                    let old = registers.get(file, slot, lane);
                    let kind = if fragment.store {
                        part.window.write(at, lane, bytes, (old & mask) >> shift);
                        Kind::Write { changes: true }
                    } else {
                        let value = part.window.read(at, lane, bytes) << shift;
                        registers.set(file, slot, lane, old & !mask | value);
                        Kind::Read
                    };
                    watch.note(part, home, lane, 0, bytes, kind, None)?;
                }
                Ok(())
            })?;
        }
        tally.count_matrix(counters, fragment.store);
        Ok(())
    }
}
