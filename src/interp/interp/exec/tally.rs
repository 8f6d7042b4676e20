//! The requests and wavefronts of one access.

use super::banks;
use super::part::Part;
use crate::interp::counters::Counters;
use crate::interp::registers::{FULL, LANES, Mask, lanes};
use crate::ptx::StateSpace;

/// The lines and windows that an access has touched.
#[derive(Default)]
pub(super) struct Tally {
    /// Whether it touched global memory.
    pub global: bool,
    shared: bool,
    local: bool,
    /// Distinct 128-byte lines of global memory.
    pub lines: u64,
    /// Distinct 32-byte sectors of global memory.
    pub sectors: u64,
    /// Wavefronts of shared memory.
    pub banks: u64,
    /// The sectors themselves, for an instruction that accesses memory in several steps.
    touched: Vec<(Option<usize>, u64)>,
}

impl Tally {
    /// Adds a part.
    pub(super) fn add(&mut self, part: &Part<'_>, home: StateSpace) {
        match home {
            StateSpace::Global => {
                self.global = true;
                let (lines, sectors) = distinct(part);
                self.lines += lines;
                self.sectors += sectors;
            }
            StateSpace::Shared => self.shared = true,
            StateSpace::Local => self.local = true,
            _ => {}
        }
    }

    /// Adds the wavefronts of shared memory, for an access of `bytes` in each lane.
    pub(super) fn add_banks(&mut self, part: &Part<'_>, home: StateSpace, bytes: u32) {
        if home == StateSpace::Shared {
            self.banks += banks::wavefronts(&part.offsets, part.lanes, u64::from(bytes));
        }
    }

    /// As [`Tally::add`], for one of several steps: a line or sector counts once, however many steps touch it.
    pub(super) fn add_lines(&mut self, part: &Part<'_>, home: StateSpace) {
        self.add(part, home);
        if home == StateSpace::Global {
            let region = part.window.region;
            self.touched.extend(lanes(part.lanes).map(|lane| (region, part.offsets[lane] >> 5)));
        }
    }

    /// Counts the request of a whole warp for a matrix, which is that of all steps together, whichever lane has which
    /// element.
    pub(super) fn count_matrix(&mut self, counters: &mut Counters, store: bool) {
        let (lines, sectors) = self.distinct();
        if store {
            counters.global_store_requests += u64::from(self.global);
            counters.global_store_wavefronts += lines;
            counters.global_store_sectors += sectors;
        } else {
            counters.global_load_requests += u64::from(self.global);
            counters.global_load_wavefronts += lines;
            counters.global_load_sectors += sectors;
        }
        if self.global && !self.shared && !self.local {
            counters.single.note(FULL, sectors);
        }
        self.count_others(counters, 0);
    }

    /// Distinct lines and sectors that all steps together have touched.
    fn distinct(&mut self) -> (u64, u64) {
        self.touched.sort_unstable();
        self.touched.dedup();
        let line = |&(region, sector): &(Option<usize>, u64)| (region, sector >> 2);
        let lines = self.touched.chunk_by(|a, b| line(a) == line(b)).count();
        (lines as u64, self.touched.len() as u64)
    }

    /// Counts requests to shared and local memory, and the cost of the request of these lanes.
    pub(super) fn count_others(&self, counters: &mut Counters, mask: Mask) {
        if mask != 0 && self.global != self.shared && !self.local {
            counters.single.note(mask, if self.global { self.sectors } else { self.banks });
        }
        counters.shared_requests += u64::from(self.shared);
        counters.shared_wavefronts += self.banks;
        counters.local_requests += u64::from(self.local);
    }
}

/// Distinct 128-byte lines and 32-byte sectors of a part. No lane's access lies in two, being aligned to its size.
pub(super) fn distinct(part: &Part<'_>) -> (u64, u64) {
    let mut sectors = [0; LANES];
    let (mut count, mut lines, mut ascends) = (0, 0, true);
    for lane in lanes(part.lanes) {
        let sector = part.offsets[lane] >> 5;
        match sectors[..count].last() {
            Some(&last) if last == sector => continue,
            Some(&last) => {
                ascends &= last < sector;
                lines += u64::from(last >> 2 != sector >> 2);
            }
            None => lines = 1,
        }
        sectors[count] = sector;
        count += 1;
    }
    // Mostly addresses ascend.
    if ascends {
        return (lines, count as u64);
    }
    let sectors = &mut sectors[..count];
    sectors.sort_unstable();
    let runs = |shift: u32| sectors.chunk_by(|a, b| a >> shift == b >> shift).count() as u64;
    (runs(2), runs(0))
}
