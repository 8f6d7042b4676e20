//! The requests and wavefronts of one access.

use super::banks;
use super::part::Part;
use crate::interp::counters::Counters;
use crate::interp::registers::{LANES, lanes};
use crate::ptx::StateSpace;

/// The lines and windows that an access has touched.
#[derive(Default)]
pub struct Tally {
    /// Whether it touched global memory.
    pub global: bool,
    shared: bool,
    local: bool,
    /// Distinct 128-byte lines of global memory.
    pub lines: u64,
    /// Wavefronts of shared memory.
    pub banks: u64,
    /// The lines themselves, for an instruction that accesses memory in several steps.
    touched: Vec<(Option<usize>, u64)>,
}

impl Tally {
    /// Adds a part.
    pub fn add(&mut self, part: &Part<'_>, home: StateSpace) {
        match home {
            StateSpace::Global => {
                self.global = true;
                self.lines += distinct_lines(part);
            }
            StateSpace::Shared => self.shared = true,
            StateSpace::Local => self.local = true,
            _ => {}
        }
    }

    /// Adds the wavefronts of shared memory, for an access of `bytes` in each lane.
    pub fn add_banks(&mut self, part: &Part<'_>, home: StateSpace, bytes: u32) {
        if home == StateSpace::Shared {
            self.banks += banks::wavefronts(&part.offsets, part.lanes, u64::from(bytes));
        }
    }

    /// As [`Tally::add`], for one of several steps: a line counts once, however many steps touch it.
    pub fn add_lines(&mut self, part: &Part<'_>, home: StateSpace) {
        self.add(part, home);
        if home == StateSpace::Global {
            let region = part.window.region;
            self.touched.extend(lanes(part.lanes).map(|lane| (region, part.offsets[lane] >> 7)));
        }
    }

    /// Distinct lines that all steps together have touched.
    pub fn distinct(&mut self) -> u64 {
        self.touched.sort_unstable();
        self.touched.dedup();
        self.touched.len() as u64
    }

    /// Counts requests to shared and local memory.
    pub fn count_others(&self, counters: &mut Counters) {
        counters.shared_requests += u64::from(self.shared);
        counters.shared_wavefronts += self.banks;
        counters.local_requests += u64::from(self.local);
    }
}

/// Distinct 128-byte lines of a part. No lane's access lies in two, being aligned to its size.
fn distinct_lines(part: &Part<'_>) -> u64 {
    let mut seen = [0; LANES];
    let mut count = 0;
    let mut highest = None;
    for lane in lanes(part.lanes) {
        let line = part.offsets[lane] >> 7;
        // Mostly lines ascend.
        if highest < Some(line) || highest != Some(line) && !seen[..count].contains(&line) {
            seen[count] = line;
            count += 1;
            highest = highest.max(Some(line));
        }
    }
    count as u64
}
