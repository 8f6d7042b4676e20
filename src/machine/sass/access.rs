//! Accesses to memory by kind, and their requests.

use std::collections::BTreeMap;

use super::opcodes::Role;

/// A kind of accesses by a warp.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Access {
    /// Its kind and its state space.
    pub role: Role,
    /// Bytes of each lane.
    pub bytes: u32,
    /// Whether it stands under a guard predicate.
    pub guarded: bool,
}

/// The mean request of the accesses of a kind.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Request {
    /// The share of warps that execute it: those with a lane whose guard is true.
    pub executed: f64,
    /// Cycles of the load/store unit, where the first-level cache has all bytes.
    pub cycles: f64,
    /// Lines that it looks up, in all passes through the unit.
    pub lines: f64,
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
        lines: 1.0,
        from_l2: 0.0,
        from_memory: 0.0,
        misses: 1.0,
        memory_misses: 1.0,
    };
}

impl Request {
    /// Cycles of the load/store unit where bytes are missing, or still on their way: two lines, which an access has whose
    /// lanes cross a line's end, are looked up together as where they are there, further ones at `lines_in_cycle`.
    pub fn cycles_of_fetch(&self, lines_in_cycle: f64) -> f64 {
        self.cycles.max(1.0 + (self.lines - 2.0) / lines_in_cycle)
    }

    /// Several accesses to neighbouring bytes as one: lanes go in as many passes, and in each fewer of them conflict.
    fn joined(self, parts: u32) -> Request {
        let parts = f64::from(parts);
        Request {
            executed: self.executed,
            cycles: self.cycles.max(parts),
            lines: self.lines.max(parts),
            from_l2: parts * self.from_l2,
            from_memory: parts * self.from_memory,
            misses: (parts * self.misses).min(1.0),
            memory_misses: (parts * self.memory_misses).min(1.0),
        }
    }
}

/// The requests of a kernel, by their kind.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Requests {
    /// The mean request of each kind.
    pub by_kind: BTreeMap<Access, Request>,
    /// Bytes that a lane loads on the path through the text.
    pub loaded: f64,
    /// Bytes that it stores there.
    pub stored: f64,
    /// Whether that path goes through a loop.
    pub iterates: bool,
}

impl Requests {
    /// Those of a kind; of a kind that the text lacks, those with or without guards; of accesses that ptxas has joined,
    /// the requests of their parts; otherwise [`Request::UNKNOWN`].
    pub fn of(&self, access: Access) -> Request {
        let own = |bytes: u32| {
            let of = |guarded: bool| self.by_kind.get(&Access { bytes, guarded, ..access });
            of(access.guarded).or_else(|| of(!access.guarded)).copied()
        };
        let parts = [2, 4, 8, 16].into_iter().find_map(|parts| {
            let part = own(access.bytes / parts).filter(|_| access.bytes.is_multiple_of(parts))?;
            Some(part.joined(parts))
        });
        own(access.bytes).or(parts).unwrap_or(Request::UNKNOWN)
    }
}
