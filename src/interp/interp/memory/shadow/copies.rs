//! Copies by `cp.async` that their threads have not waited for: anybody who touches the copied bytes meanwhile may find the
//! old bytes or the new ones (PTX ISA, "cp.async": "Non-blocking").

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::stamp::{Site, Stamp};

/// A thread of the block: its warp and its lane.
pub(super) type Owner = (u32, usize);

/// The words of shared memory that copies write, by their offsets, and the micro-operation of each copy.
type Words = Vec<(u64, Site)>;

/// The copies of a thread.
#[derive(Debug, Default)]
struct Queue {
    /// Those that belong to no group yet.
    open: Words,
    /// The groups, oldest first.
    groups: VecDeque<Words>,
}

/// The copies of a block.
#[derive(Debug, Default)]
pub(super) struct Copies {
    /// The copy that writes a word, by the word's offset.
    pending: FxHashMap<u64, Stamp>,
    threads: FxHashMap<Owner, Queue>,
}

impl Copies {
    /// Begins a copy to `bytes` bytes at an offset, a multiple of 4.
    pub(super) fn begin(&mut self, owner: Owner, (offset, bytes): (u64, u32), stamp: Stamp) {
        let queue = self.threads.entry(owner).or_default();
        for word in (offset..offset + u64::from(bytes)).step_by(4) {
            self.pending.insert(word, stamp);
            queue.open.push((word, stamp.site()));
        }
    }

    /// Makes a group of the copies that belong to none.
    pub(super) fn commit(&mut self, owner: Owner) {
        let queue = self.threads.entry(owner).or_default();
        queue.groups.push_back(std::mem::take(&mut queue.open));
    }

    /// A thread waits for all its groups except for the `keep` newest, or for all its copies if that is none. Returns the
    /// words that have been written.
    pub(super) fn wait(&mut self, owner: Owner, keep: Option<usize>) -> Words {
        let Some(queue) = self.threads.get_mut(&owner) else { return Words::new() };
        let count = queue.groups.len().saturating_sub(keep.unwrap_or(0));
        let mut words: Words = queue.groups.drain(..count).flatten().collect();
        if keep.is_none() {
            words.append(&mut queue.open);
        }
        for (word, _) in &words {
            self.pending.remove(word);
        }
        words
    }

    /// Whether there are none that a thread has not waited for.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// The copy that writes one of some bytes.
    #[inline]
    pub(super) fn find(&self, (offset, bytes): (u64, u32)) -> Option<Stamp> {
        if self.pending.is_empty() {
            return None;
        }
        let words = (offset & !3..offset + u64::from(bytes)).step_by(4);
        words.into_iter().find_map(|word| self.pending.get(&word).copied())
    }

    /// Forgets all copies.
    pub(super) fn clear(&mut self) {
        self.pending.clear();
        self.threads.clear();
    }
}
