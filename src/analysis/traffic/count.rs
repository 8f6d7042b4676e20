//! Sectors and wavefronts of the addresses of one request.

use smallvec::SmallVec;

use crate::isa::banks;
use crate::lanes::LANES;

/// Bytes of a sector of the caches.
pub const SECTOR: i64 = 32;

/// Bytes after which the banks of shared memory repeat.
pub(super) const BANK_BYTES: i64 = 128;

/// Banks of shared memory, each four bytes wide.
const BANKS: usize = 32;

/// Distinct pieces of `size` bytes that hold `bytes` bytes from each address on.
pub(super) fn pieces(addresses: &[i64], bytes: i64, size: i64) -> u32 {
    let mut found = [0; 2 * LANES];
    let mut count = 0;
    let mut add = |piece: i64| {
        // Mostly addresses ascend.
        if count > 0 && found[count - 1] == piece {
            return;
        }
        if count < found.len() {
            found[count] = piece;
            count += 1;
        }
    };
    for address in addresses {
        let (first, last) = (address.div_euclid(size), (address + bytes - 1).div_euclid(size));
        add(first);
        if last != first {
            add(last);
        }
    }
    let found = &mut found[..count];
    if !found.is_sorted() {
        found.sort_unstable();
    }
    1 + found.windows(2).filter(|two| two[0] != two[1]).count() as u32
}

/// Wavefronts of shared memory, as [`banks::wavefronts`] counts them. `mask` names the lanes whose addresses are given, a bit
/// for each.
pub fn wavefronts(addresses: &[i64], mask: u32, bytes: i64) -> u32 {
    // (Any multiple of the banks may be added: then no address is negative.)
    let above = |address: &i64| address.wrapping_add(1 << 62) as u64;
    let addresses: SmallVec<[u64; LANES]> = addresses.iter().map(above).collect();
    banks::wavefronts(&addresses, mask, bytes as u64)
}

/// Passes of an atomic operation on shared memory: each bank serves one lane in a pass.
pub fn passes(addresses: &[i64]) -> u32 {
    let mut banks = [0; BANKS];
    let bank = |address: &i64| address.div_euclid(4).rem_euclid(BANKS as i64) as usize;
    addresses.iter().for_each(|address| banks[bank(address)] += 1);
    banks.into_iter().max().unwrap_or(0)
}

/// How many pieces of `size` bytes hold `bytes` bytes.
pub(super) fn holding(bytes: i64, size: i64) -> u32 {
    ((bytes + size - 1) / size) as u32
}

/// Distinct addresses.
pub(super) fn distinct(addresses: &[i64]) -> u32 {
    let mut all = addresses.to_vec();
    all.sort_unstable();
    all.dedup();
    all.len() as u32
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;

    crate::unit_tests!(sectors_of_strides, conflicts_as_the_guide_has_them);

    fn strided(stride: i64) -> Vec<i64> {
        (0..32).map(|lane| lane * stride).collect()
    }

    fn sectors_of_strides() {
        assert_eq!(
            [4, 8, 16, 32, 128].map(|stride| pieces(&strided(stride), 4, SECTOR)),
            [4, 8, 16, 32, 32]
        );
        assert_eq!([4, -4].map(|stride| pieces(&strided(stride), 4, SECTOR)), [4, 5]);
        assert_eq!(pieces(&strided(16), 16, SECTOR), 16);
        assert_eq!(pieces(&strided(0), 4, SECTOR), 1);
    }

    fn conflicts_as_the_guide_has_them() {
        assert_eq!(
            [4, 8, 128, 132, 0].map(|stride| wavefronts(&strided(stride), u32::MAX, 4)),
            [1, 2, 32, 1, 1]
        );
        assert_eq!([8, 16].map(|bytes| wavefronts(&strided(bytes), u32::MAX, bytes)), [2, 4]);
        assert_eq!(wavefronts(&strided(128), u32::MAX, 16), 32);
        // Lanes 7 and 8 access 16 bytes each, in quarters of the warp; 8 and 15 in the same quarter.
        let two = [0, 128];
        assert_eq!([0x180, 0x8100].map(|mask| wavefronts(&two, mask, 16)), [2, 2]);
        assert_eq!([0x180, 0x8100].map(|mask| banks::least(&two, mask, 16)), [2, 1]);
        assert_eq!([passes(&strided(0)), passes(&strided(4))], [32, 1]);
    }
}
