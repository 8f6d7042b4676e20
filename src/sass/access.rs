//! Accesses to memory by kind, and what they take.

use std::collections::BTreeMap;

use super::opcodes::Role;

/// A kind of accesses by a warp.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Access {
    /// What it does, and where.
    pub role: Role,
    /// Bytes of each lane.
    pub bytes: u32,
    /// Whether it stands under a guard predicate.
    pub guarded: bool,
}

/// What the accesses of a kind take: means.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Request {
    /// The share of warps that execute it: those of which some lane finds its guard true.
    pub executed: f64,
    /// Cycles of the load/store unit.
    pub cycles: f64,
    /// Bytes between the multiprocessor and the second-level cache.
    pub from_l2: f64,
    /// Bytes of these that come from memory.
    pub from_memory: f64,
    /// The share of accesses that get bytes from the second-level cache.
    pub misses: f64,
    /// The share of accesses that get bytes from memory.
    pub memory_misses: f64,
}

impl Request {
    /// Of lanes whose addresses are not known: one cycle; a load waits for memory.
    pub const UNKNOWN: Request = Request {
        executed: 1.0,
        cycles: 1.0,
        from_l2: 0.0,
        from_memory: 0.0,
        misses: 1.0,
        memory_misses: 1.0,
    };
}

/// What the requests of a kernel take, by their kind.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Requests {
    /// What those of each kind take.
    pub by_kind: BTreeMap<Access, Request>,
    /// Bytes of a lane that all of them load and store on the path through the text; 0 where that is not known.
    pub bytes: f64,
}

impl Requests {
    /// Those of a kind; of a kind that the text lacks, those with or without guards; otherwise [`Request::UNKNOWN`].
    pub fn of(&self, access: Access) -> Request {
        let other = Access { guarded: !access.guarded, ..access };
        let found = self.by_kind.get(&access).or_else(|| self.by_kind.get(&other));
        found.copied().unwrap_or(Request::UNKNOWN)
    }
}
