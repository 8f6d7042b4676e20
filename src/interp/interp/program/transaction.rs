//! Micro-operations on `mbarrier` objects, and the bulk copies that complete transactions on them.

use super::place::{AtomicFn, Place};
use super::rare::Cell;
use crate::interp::registers::Slot;

/// The operation of an `mbarrier` instruction. Counts are narrow registers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum MBarrierKind {
    /// `init`: a new object; the expected arrivals in each phase.
    Init(Slot),
    /// `inval`.
    Invalidate,
    /// `expect_tx`.
    ExpectTx(Slot),
    /// `complete_tx`.
    CompleteTx(Slot),
    /// `arrive`, `arrive_drop`.
    Arrive {
        /// The number of arrivals.
        count: Slot,
        /// The number of transactions to expect first.
        expect: Option<Slot>,
        /// Whether later phases expect that many fewer.
        drop: bool,
        /// Whether the phase must not end here.
        no_complete: bool,
        /// The register that receives the state from before.
        state: Option<Slot>,
    },
    /// `test_wait`, `try_wait`: a predicate that tells whether a phase has ended.
    Test {
        /// The predicate.
        done: Slot,
        /// The phase: a state (wide register) or its parity (narrow register).
        phase: Cell,
    },
}

/// An `mbarrier` instruction (PTX ISA, "Parallel Synchronization and Communication Instructions:
/// mbarrier").
#[derive(Debug)]
pub(crate) struct MBarrier {
    /// The object, 8 bytes in shared memory.
    pub place: Place,
    /// The operation.
    pub kind: MBarrierKind,
    /// Whether the operation neither releases nor acquires (`.relaxed`).
    pub relaxed: bool,
}

/// A thread's operation on the copies that it has begun by `cp.async`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CopyGroup {
    /// `commit_group`.
    Commit,
    /// `wait_group`: waits for all groups except for that many of the newest.
    Wait(usize),
    /// `wait_all`, or an object that counts their end.
    All,
}

/// `cp.async.bulk`, `cp.reduce.async.bulk` without a tensor map; performed at once.
#[derive(Debug)]
pub(crate) struct BulkCopy {
    /// The address that is copied to.
    pub to: Place,
    /// The address that is copied from.
    pub from: Place,
    /// The number of bytes, a narrow register; a multiple of 16.
    pub size: Slot,
    /// The object on which the bytes are counted as completed.
    pub barrier: Option<Place>,
    /// The function that combines the bytes with those in memory, and the bytes of an element; `None`
    /// for a plain copy.
    pub reduce: Option<(AtomicFn, u32)>,
}
