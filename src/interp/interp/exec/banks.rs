//! Wavefronts of shared memory, which has 32 banks of four bytes (CUDA C++ Programming Guide, "Shared Memory"): a bank
//! gives one word in a wavefront, to all lanes that want it. Lanes that access 8 bytes each take turns in halves of
//! the warp, those that access 16 in quarters.

use crate::interp::registers::{LANES, Mask, lanes};

/// Banks.
const BANKS: usize = 32;

/// Marks a bank that nobody has asked.
const NONE: u64 = u64::MAX;

/// The wavefronts of lanes that access `bytes` bytes each at these offsets.
pub(super) fn wavefronts(offsets: &[u64; LANES], mask: Mask, bytes: u64) -> u64 {
    let together = LANES / (bytes.next_power_of_two() as usize / 4).clamp(1, 4);
    let all = if together == LANES { Mask::MAX } else { (1 << together) - 1 };
    let turns = (0..LANES).step_by(together);
    turns.map(|first| turn(offsets, mask & (all << first), bytes)).sum()
}

/// The wavefronts of lanes that access together.
fn turn(offsets: &[u64; LANES], mask: Mask, bytes: u64) -> u64 {
    if mask == 0 {
        return 0;
    }
    // Words of one row are in banks of their own.
    let (mut least, mut most) = (u64::MAX, 0);
    for lane in lanes(mask) {
        least = least.min(offsets[lane]);
        most = most.max(offsets[lane]);
    }
    if (most + bytes).div_ceil(4) - least / 4 <= BANKS as u64 {
        return 1;
    }
    let mut held = [NONE; BANKS];
    let words = |lane: usize| offsets[lane] / 4..(offsets[lane] + bytes).div_ceil(4);
    let mut conflict = false;
    for word in lanes(mask).flat_map(words) {
        let bank = &mut held[word as usize % BANKS];
        conflict |= *bank != NONE && *bank != word;
        *bank = word;
    }
    if !conflict {
        return 1;
    }
    let mut all: Vec<u64> = lanes(mask).flat_map(words).collect();
    all.sort_unstable();
    all.dedup();
    let mut counts = [0; BANKS];
    all.into_iter().for_each(|word| counts[word as usize % BANKS] += 1);
    counts.into_iter().max().unwrap_or(1)
}

/// The passes of an atomic operation on shared memory: each bank performs one operation in a pass, on one word, for one lane.
pub(super) fn turns(offsets: &[u64; LANES], mask: Mask) -> u64 {
    let mut counts = [0; BANKS];
    lanes(mask).for_each(|lane| counts[(offsets[lane] / 4) as usize % BANKS] += 1);
    counts.into_iter().max().unwrap_or(0)
}

/// The passes of an atomic operation on global memory: one operation on each address in a pass.
pub(super) fn repeats(offsets: &[u64; LANES], mask: Mask) -> u64 {
    let mut all: Vec<u64> = lanes(mask).map(|lane| offsets[lane]).collect();
    all.sort_unstable();
    all.chunk_by(|a, b| a == b).map(|same| same.len() as u64).max().unwrap_or(0)
}
