//! The model of shared memory: 32 banks, each of one word of four bytes in a wavefront (CUDA C++ Programming Guide,
//! "Shared Memory"). A warp that accesses 8 bytes for each lane does so half by half, one that accesses 16 by quarters.

use smallvec::SmallVec;

/// Banks.
const BANKS: usize = 32;

/// Bytes of a word.
const WORD: u64 = 4;

/// Lanes of a warp.
pub const LANES: usize = super::limits::WARP_SIZE as usize;

/// How many lanes access together: all, half or a quarter of a warp for 4, 8 and 16 bytes each.
pub fn together(bytes: u64) -> usize {
    match bytes {
        0..=4 => LANES,
        5..=8 => LANES / 2,
        _ => LANES / 4,
    }
}

/// The items of lanes that access together: `each` has one for each lane of the mask.
fn turns<T>(each: &[T], mask: u32, bytes: u64) -> impl Iterator<Item = &[T]> {
    let together = together(bytes);
    let all = if together == LANES { u32::MAX } else { (1 << together) - 1 };
    let mut rest = each;
    (0..LANES).step_by(together).map(move |first| {
        let count = (mask & all << first).count_ones() as usize;
        let (now, later) = rest.split_at(count.min(rest.len()));
        rest = later;
        now
    })
}

/// The wavefronts of one access: each lane of the mask accesses `bytes` bytes at its address.
pub fn wavefronts(addresses: &[u64], mask: u32, bytes: u64) -> u32 {
    let each = |lanes: &[u64]| {
        let words = lanes.iter().flat_map(|at| at / WORD..(at + bytes).div_ceil(WORD));
        most_in_a_bank(words)
    };
    turns(addresses, mask, bytes).map(each).sum()
}

/// The most different words of one bank.
fn most_in_a_bank(words: impl Iterator<Item = u64> + Clone) -> u32 {
    let first = words.clone().min().unwrap_or(0) / BANKS as u64;
    let mut rows = [0u64; BANKS];
    for word in words.clone() {
        // Words that lie too far apart for a bit each are sorted.
        let row = word / BANKS as u64 - first;
        if row >= u64::from(u64::BITS) {
            return most_of_sorted(words.collect());
        }
        rows[word as usize % BANKS] |= 1 << row;
    }
    rows.iter().map(|rows| rows.count_ones()).max().unwrap_or(0)
}

fn most_of_sorted(mut words: SmallVec<[u64; 2 * LANES]>) -> u32 {
    words.sort_unstable();
    words.dedup();
    let mut banks = [0u32; BANKS];
    words.into_iter().for_each(|word| banks[word as usize % BANKS] += 1);
    banks.into_iter().max().unwrap_or(0)
}

/// The wavefronts that an access has at least, wherever its bytes are; the cells of each lane are given by number or address.
pub fn least<T: Copy + Ord>(cells: &[T], mask: u32, bytes: u64) -> u32 {
    let each = |lanes: &[T]| {
        let mut cells = lanes.to_vec();
        cells.sort_unstable();
        cells.dedup();
        let distinct = cells.len() as u64 * bytes;
        distinct.div_ceil(WORD * BANKS as u64) as u32
    };
    turns(cells, mask, bytes).map(each).sum()
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;

    crate::unit_tests!(
        words_of_one_bank_wait_for_each_other,
        lanes_that_take_no_part_leave_the_parts_as_they_are,
        wide_accesses_go_in_parts,
        words_far_apart_are_counted_as_those_beside_each_other
    );

    fn strided(stride: u64, bytes: u64) -> u32 {
        let addresses: Vec<u64> = (0..32).map(|lane| lane * stride).collect();
        wavefronts(&addresses, u32::MAX, bytes)
    }

    fn words_of_one_bank_wait_for_each_other() {
        assert_eq!([4, 8, 12, 64, 128, 132].map(|stride| strided(stride, 4)), [1, 2, 1, 16, 32, 1]);
        assert_eq!(strided(0, 4), 1, "one word for all");
        assert_eq!(strided(2, 2), 1, "two lanes in each word");
    }

    fn lanes_that_take_no_part_leave_the_parts_as_they_are() {
        // Lanes 0 and 31 are never in one part of a wide access.
        assert_eq!([4, 8, 16].map(|bytes| wavefronts(&[0, 0], 1 << 31 | 1, bytes)), [1, 2, 2]);
        assert_eq!([4, 8, 16].map(|bytes| least(&[3, 3], 1 << 31 | 1, bytes)), [1, 2, 2]);
    }

    fn wide_accesses_go_in_parts() {
        assert_eq!([8, 16, 128].map(|stride| strided(stride, 8)), [2, 4, 32]);
        assert_eq!([16, 128, 144].map(|stride| strided(stride, 16)), [4, 32, 4]);
    }
    fn words_far_apart_are_counted_as_those_beside_each_other() {
        for seed in 0..2_000u64 {
            let bits = [6, 10, 12][seed as usize % 3];
            let word =
                |at: u64| (40 * seed + at).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - bits);
            let words: Vec<u64> = (0..40).map(word).collect();
            let sorted = most_of_sorted(words.iter().copied().collect());
            assert_eq!(most_in_a_bank(words.iter().copied()), sorted, "{words:?}");
        }
    }
}
