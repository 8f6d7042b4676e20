//! The order of threads by other means than barriers of whole blocks: release and acquire (PTX ISA, "Memory Consistency
//! Model: Release and Acquire Patterns", "Synchronizes"), and barriers with a thread count, at which some threads only
//! arrive or which are for some warps of the block: accesses of the arriving threads happen before later accesses of
//! the waiting ones.
//!
//! In: fences and strong accesses, in the order in which the interpreter performs them. Out: for each thread the
//! accesses that happen before its next one. A fence alone orders nothing:
//!
//! - a release is a fence followed by a strong write of the same thread, or a write with `.release`;
//! - an acquire is a strong read of the value that was written, or of one that atomic operations have made of it, followed
//!   by a fence of the same thread, or a read with `.acquire`;
//! - the scope of each of these must include the other thread: a fence of a block orders nothing between blocks.
//!
//! It errs on the side of silence where programs commonly rely on more than the manual promises: a barrier of the block
//! completes the acquires of its threads as a fence would, and their fences count for all of them afterwards (the sample
//! `threadFenceReduction` of the CUDA SDK does both); `bar.warp.sync` does the latter for its warp.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::clock::{Clock, Shared, join};
use super::phases::Phase;
use super::stamp::PhaseId;
use crate::interp::memory::{Order, Scope};
use crate::interp::registers::{LANES, Mask, lanes};

/// A location in memory: the region or, in shared memory, the block; and the word.
pub(super) type Location = (Result<usize, u64>, u64);

/// The accesses that are ordered before a thread, or before all threads of a block.
#[derive(Clone, Debug, Default)]
struct Knowledge {
    /// The accesses that happen before its next access.
    known: Shared,
    /// The accesses that join `known` at its next fence: by releases of any block, and of its own.
    seen: [Shared; 2],
    /// `known` at its last fence of the device, and at its last fence of any scope. Its strong writes release this.
    released: [Shared; 2],
}

impl Knowledge {
    fn join(&mut self, other: &Knowledge) {
        join(&mut self.known, &other.known);
        for at in 0..2 {
            join(&mut self.seen[at], &other.seen[at]);
            join(&mut self.released[at], &other.released[at]);
        }
    }
}

/// The accesses that are ordered before the threads of a block.
#[derive(Debug, Default)]
struct OfBlock {
    /// All of them.
    all: Knowledge,
    /// The lanes of each warp besides.
    warps: BTreeMap<u32, Vec<Knowledge>>,
    /// The phase that came first behind the last barrier.
    epoch: PhaseId,
}

/// The accesses released at a location.
#[derive(Debug, Default)]
struct Record {
    /// With the scope of the device.
    wide: Shared,
    /// With any scope, by block.
    blocks: BTreeMap<u64, Shared>,
}

/// The order of the threads of a launch, or of a part of its blocks.
#[derive(Debug, Default)]
pub(super) struct Orders {
    blocks: FxHashMap<u64, OfBlock>,
    records: FxHashMap<Location, Record>,
    /// The accesses ordered before the arrivals at a barrier, by block and number.
    gates: FxHashMap<(u64, u32), Knowledge>,
}

/// A thread that accesses: its phase with the phase's number, and its lane.
#[derive(Clone, Copy, Debug)]
pub(super) struct Thread {
    /// The phase of the warp.
    pub phase: Phase,
    /// Its number.
    pub id: PhaseId,
    /// The lane.
    pub lane: usize,
}

impl Orders {
    fn lane(&mut self, thread: Thread) -> &mut Knowledge {
        let block = self.blocks.entry(thread.phase.block).or_default();
        let warp = block.warps.entry(thread.phase.warp);
        let warp = warp.or_insert_with(|| vec![Knowledge::default(); LANES]);
        &mut warp[thread.lane]
    }

    /// The accesses that are ordered before a thread's next one, its own included.
    fn now(&self, thread: Thread) -> Shared {
        let block = self.blocks.get(&thread.phase.block);
        let epoch = block.map_or(0, |block| block.epoch);
        let mut now =
            Some(std::sync::Arc::new(Clock::of_lane(thread.phase, thread.id, thread.lane, epoch)));
        if let Some(block) = block {
            join(&mut now, &block.all.known);
            if let Some(warp) = block.warps.get(&thread.phase.warp) {
                join(&mut now, &warp[thread.lane].known);
            }
        }
        now
    }

    /// A fence of a thread.
    pub(super) fn fence(&mut self, thread: Thread, scope: Scope) {
        let common = match self.blocks.get(&thread.phase.block) {
            Some(block) => block.all.seen.clone(),
            None => Default::default(),
        };
        let own = self.lane(thread);
        let device = scope == Scope::Device;
        for at in if device { 0..2 } else { 1..2 } {
            let seen = std::mem::take(&mut own.seen[at]);
            join(&mut own.known, &seen);
            join(&mut own.known, &common[at]);
        }
        let now = self.now(thread);
        let own = self.lane(thread);
        if device {
            own.released[0] = now.clone();
        }
        own.released[1] = now;
    }

    /// A strong read of a thread.
    pub(super) fn observe(&mut self, thread: Thread, location: Location, order: Order) {
        let Some(record) = self.records.get(&location) else { return };
        let own = record.blocks.get(&thread.phase.block).cloned().flatten();
        let wide = if order.scope == Scope::Device { record.wide.clone() } else { None };
        let knows = self.lane(thread);
        if order.acquires {
            join(&mut knows.known, &own);
            join(&mut knows.known, &wide);
        } else {
            join(&mut knows.seen[1], &own);
            join(&mut knows.seen[0], &wide);
        }
    }

    /// A strong write of a thread; `replaces`: it is not made from the value that was there.
    pub(super) fn publish(
        &mut self,
        thread: Thread,
        location: Location,
        order: Order,
        replaces: bool,
    ) {
        let [mut wide, mut any] = self.lane(thread).released.clone();
        if let Some(block) = self.blocks.get(&thread.phase.block) {
            join(&mut wide, &block.all.released[0]);
            join(&mut any, &block.all.released[1]);
        }
        if order.releases {
            let now = self.now(thread);
            (wide, any) = (now.clone(), now);
        }
        if replaces {
            self.records.remove(&location);
        }
        if any.is_none() {
            return;
        }
        let record = self.records.entry(location).or_default();
        if order.scope == Scope::Device {
            join(&mut record.wide, &wide);
        }
        join(record.blocks.entry(thread.phase.block).or_default(), &any);
    }

    /// A barrier of a block, in front of phase `next`.
    pub(super) fn barrier(&mut self, number: u64, next: PhaseId) {
        self.gates.retain(|&(block, _), _| block != number);
        let block = self.blocks.entry(number).or_default();
        block.epoch = next;
        for warp in std::mem::take(&mut block.warps).into_values() {
            warp.iter().for_each(|lane| block.all.join(lane));
        }
        for seen in std::mem::take(&mut block.all.seen) {
            join(&mut block.all.known, &seen);
        }
    }

    /// Lanes of a warp, `whole`: all that have not ended, arrive at a barrier with a thread count.
    pub(super) fn arrive(&mut self, thread: Thread, (mask, whole): (Mask, bool), gate: u32) {
        let (block, mut all) = (thread.phase.block, Knowledge::default());
        for lane in lanes(mask) {
            let thread = Thread { lane, ..thread };
            all.join(&self.lane(thread).clone());
            if !whole {
                join(&mut all.known, &self.now(thread));
            }
        }
        if whole {
            let epoch = self.blocks.get(&block).map_or(0, |block| block.epoch);
            let clock = Clock::of_warp(thread.phase, thread.id, epoch);
            join(&mut all.known, &Some(std::sync::Arc::new(clock)));
        }
        for seen in std::mem::take(&mut all.seen) {
            join(&mut all.known, &seen);
        }
        self.gates.entry((block, gate)).or_default().join(&all);
    }

    /// A barrier opens for the lanes of each warp that wait at it, which are not all threads of the block.
    pub(super) fn open(&mut self, block: u64, gate: u32, waiting: &[Mask]) {
        let Some(known) = self.gates.remove(&(block, gate)) else { return };
        let block = self.blocks.entry(block).or_default();
        for (warp, &mask) in (0..).zip(waiting).filter(|&(_, &mask)| mask != 0) {
            let warp = block.warps.entry(warp);
            let warp = warp.or_insert_with(|| vec![Knowledge::default(); LANES]);
            // This includes the accesses of each of them, since they have arrived.
            lanes(mask).for_each(|lane| warp[lane].clone_from(&known));
        }
    }

    /// `bar.warp.sync` of a warp.
    pub(super) fn sync_warp(&mut self, block: u64, warp: u32) {
        let block = self.blocks.get_mut(&block);
        let Some(warp) = block.and_then(|block| block.warps.get_mut(&warp)) else { return };
        let mut all = Knowledge::default();
        warp.iter().for_each(|lane| all.join(lane));
        warp.fill(all);
    }

    /// Whether a thread knows of an earlier access.
    pub(super) fn covers(&self, thread: Thread, earlier: Thread) -> bool {
        self.knows(thread, |clock| clock.covers(earlier.phase, earlier.id, earlier.lane))
    }

    /// Whether a thread has acquired all that was released at a location.
    pub(super) fn has_acquired(&self, thread: Thread, location: Location) -> bool {
        let Some(Record { wide, blocks }) = self.records.get(&location) else { return false };
        let released = wide.iter().chain(blocks.values().flatten());
        released.into_iter().all(|released| self.knows(thread, |clock| clock.includes(released)))
    }

    fn knows(&self, thread: Thread, test: impl Fn(&Clock) -> bool) -> bool {
        let Some(block) = self.blocks.get(&thread.phase.block) else { return false };
        let own = block.warps.get(&thread.phase.warp).map(|warp| &warp[thread.lane].known);
        [Some(&block.all.known), own].into_iter().flatten().flatten().any(|clock| test(clock))
    }

    /// The same for several lanes.
    pub(super) fn fences(&mut self, thread: Thread, mask: Mask, scope: Scope) {
        lanes(mask).for_each(|lane| self.fence(Thread { lane, ..thread }, scope));
    }
}
