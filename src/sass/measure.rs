//! What a kernel takes of a multiprocessor, as one number for each number of resident warps, by which two versions of it
//! are compared.
//!
//! In: the static schedule of a kernel, and what its accesses to memory take ([`Requests`]). Out: a [`Measure`]. Units of
//! the multiprocessor are kept busy by what is executed; what a warp alone takes beyond that are latencies, which other
//! warps fill ([`queue`]). It ranks versions of one piece of code and predicts no time: what the caches hold is not known.

use std::collections::BTreeMap;

use serde::Serialize;

use super::code::{self, Function};
use super::cubin;
use super::opcodes::Pipe;
use super::paths::Histogram;
use super::queue;
use super::schedule::{Access, SCHEDULERS, Schedule};
use super::timing::{Level, Timing};
use crate::isa::multiprocessor::Multiprocessor;

/// What one request of a warp takes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Request {
    /// Cycles of the load/store unit.
    pub cycles: f64,
    /// Bytes between the multiprocessor and the second-level cache.
    pub from_l2: f64,
    /// Bytes of these that come from memory.
    pub from_memory: f64,
}

impl Request {
    /// Of lanes whose addresses are not known: one cycle.
    pub const UNKNOWN: Request = Request { cycles: 1.0, from_l2: 0.0, from_memory: 0.0 };
}

/// What the requests of a kernel take, by their kind. Those that it lacks are [`Request::UNKNOWN`].
pub type Requests = BTreeMap<Access, Request>;

/// Cycles of one execution of a kernel by a warp.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Measure {
    /// Cycles of a warp that has the multiprocessor to itself.
    pub alone: f64,
    /// Cycles that it keeps each unit busy.
    pub busy: BTreeMap<&'static str, f64>,
}

impl Measure {
    /// The measure of a kernel.
    pub fn new(schedule: &Schedule, timing: &Timing, requests: &Requests) -> Measure {
        let mut busy: BTreeMap<&'static str, f64> = BTreeMap::new();
        busy.insert("issue", schedule.sum(|block| block.instructions as f64) / SCHEDULERS);
        let (mut queued, mut from_l2, mut from_memory) = (0.0, 0.0, 0.0);
        for (access, count) in schedule.accesses() {
            let request = requests.get(&access).copied().unwrap_or(Request::UNKNOWN);
            queued += count * (request.cycles - 1.0).max(0.0);
            from_l2 += count * request.from_l2;
            from_memory += count * request.from_memory;
        }
        for (pipe, cycles) in schedule.pipes() {
            *busy.entry(pipe.into()).or_default() += cycles;
        }
        *busy.entry(Pipe::Lsu.into()).or_default() += queued;
        for (level, bytes) in [(Level::L2, from_l2), (Level::Memory, from_memory)] {
            let cycles = timing.bytes(level).map_or(0.0, |each| bytes / each);
            busy.insert(level.into(), cycles);
        }
        let alone = schedule.issue_cycles() + schedule.wait_cycles() + queued;
        Measure { alone, busy }
    }

    /// Cycles of the multiprocessor for each of `warps` resident warps.
    pub fn cycles(&self, warps: u32) -> f64 {
        let busy: Vec<f64> = self.busy.values().copied().collect();
        queue::cycles_per_warp(&busy, self.alone, warps)
    }
}

/// The numbers of resident warps for which versions are compared: an eighth, a quarter and half of those that fit on a
/// multiprocessor, and all.
pub fn occupancies(architecture: u32) -> impl Iterator<Item = u32> {
    let most = Multiprocessor::of(architecture).map(|on| on.warps);
    most.into_iter().flat_map(|most| [8, 4, 2, 1].map(|part| most / part))
}

/// The instructions that each kernel of a cubin executes, by the kernels' names; without those whose schedule is not
/// known.
///
/// # Errors
/// Why the bytes cannot be read.
pub fn executed(bytes: &[u8]) -> Result<BTreeMap<String, Histogram>, String> {
    let cubin = cubin::read(bytes)?;
    let of_function = |function: Function| {
        let schedule = Schedule::new(&function, cubin.architecture, None).ok()?;
        Some((function.name, schedule.executed))
    };
    Ok(code::functions(bytes)?.into_iter().filter_map(of_function).collect())
}
