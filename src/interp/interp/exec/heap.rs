//! The device heap: `malloc` and `free` of a kernel.

use std::collections::BTreeMap;

/// The granularity of allocations in bytes.
const GRAIN: u64 = 16;

/// The blocks of the heap's region.
#[derive(Debug)]
pub(crate) struct Heap {
    /// Address of its first byte.
    base: u64,
    /// First byte and size of each free stretch; no two of them touch.
    free: BTreeMap<u64, u64>,
    used: BTreeMap<u64, u64>,
}

impl Heap {
    /// A heap of `bytes` bytes, all free.
    pub(crate) fn new(base: u64, bytes: u64) -> Heap {
        Heap { base, free: BTreeMap::from([(0, bytes)]), used: BTreeMap::new() }
    }

    /// The address of `bytes` new bytes, the first that fit; null if none do.
    pub(crate) fn allocate(&mut self, bytes: u64) -> u64 {
        let size = bytes.max(1).div_ceil(GRAIN).saturating_mul(GRAIN);
        let Some((&at, &room)) = self.free.iter().find(|&(_, &room)| room >= size) else {
            return 0;
        };
        self.free.remove(&at);
        if room > size {
            self.free.insert(at + size, room - size);
        }
        self.used.insert(at, size);
        self.base + at
    }

    /// Releases an allocation. Returns whether the address was one that [`Heap::allocate`] returned
    /// and is still in use; null counts as one.
    pub(crate) fn release(&mut self, address: u64) -> bool {
        if address == 0 {
            return true;
        }
        let at = address.wrapping_sub(self.base);
        let Some(mut size) = self.used.remove(&at) else { return false };
        let mut start = at;
        if let Some(behind) = self.free.remove(&(at + size)) {
            size += behind;
        }
        if let Some((&before, &room)) = self.free.range(..at).next_back()
            && before + room == at
        {
            self.free.remove(&before);
            start = before;
            size += room;
        }
        self.free.insert(start, size);
        true
    }
}
