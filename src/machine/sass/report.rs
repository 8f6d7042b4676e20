//! What `ptxasw asm` says of the kernels of a cubin: their resources and their static schedule.

use std::collections::BTreeMap;

use serde::Serialize;

use super::access::Requests;
use super::code;
use super::cubin;
use super::lines::Lines;
use super::measure::Measure;
use super::opcodes::Pipe;
use super::paths::{Counterpart, Histogram};
use super::resources::{self, Resources};
use super::schedule::{BlockSchedule, Schedule};

/// The version of the JSON.
pub const FORMAT_VERSION: u32 = 1;

/// The kernels of a cubin.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// [`FORMAT_VERSION`].
    pub version: u32,
    /// The architecture: 80 for `sm_80`.
    pub arch: u32,
    /// The kernels, in the order of the cubin.
    pub kernels: Vec<Kernel>,
}

/// A kernel. Unknown parts of its schedule are `None`.
#[derive(Clone, Debug, Serialize)]
pub struct Kernel {
    /// Its name, mangled.
    pub name: String,
    /// Its use of a multiprocessor.
    #[serde(flatten)]
    pub resources: Resources,
    /// Cycles in which the instructions of a warp are issued, without waits, loops weighted.
    pub issue_cycles: Option<f64>,
    /// Cycles that a warp alone waits, loops weighted.
    pub wait_cycles: Option<f64>,
    /// Loads from global memory that are under way where one is waited for.
    pub loads_in_flight: Option<InFlight>,
    /// Cycles of a warp's waits that the other resident warps do not fill.
    pub exposed_latency: Option<f64>,
    /// Cycles that a warp keeps each unit of the multiprocessor busy, loops weighted.
    pub pipes: Option<BTreeMap<&'static str, f64>>,
    /// The cost of a warp on the multiprocessor.
    pub measure: Option<Measure>,
    /// The basic blocks that can be reached.
    pub blocks: Option<Vec<Block>>,
    /// Why the schedule is not known.
    pub unknown: Option<String>,
}

/// Loads that are under way.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct InFlight {
    /// The mean over the waits, loops weighted.
    pub mean: f64,
    /// The most.
    pub max: u32,
}

/// A basic block.
#[derive(Clone, Debug, Serialize)]
pub struct Block {
    /// Bytes from the beginning of the kernel.
    pub offset: u32,
    /// Its instructions.
    pub instructions: usize,
    /// Cycles in which they are issued when the block is executed once.
    pub issue_cycles: u32,
    /// Cycles that a warp alone waits in it.
    pub wait_cycles: u32,
    /// The most loads from global memory that are under way where the block waits for one; `None` where it waits for none.
    pub loads_in_flight: Option<u32>,
    /// The number of loops around it.
    pub loop_depth: u32,
    /// The source line of its first instruction.
    pub line: Option<u32>,
    /// The file of that line; `None` if it is the PTX.
    pub file: Option<String>,
}

/// Facts about kernels beside their machine code, by their names.
#[derive(Clone, Debug, Default)]
pub struct Beside {
    /// Bytes that ptxas says are spilled: stores, loads.
    pub spills: BTreeMap<String, (u32, u32)>,
    /// The requests of their accesses.
    pub requests: BTreeMap<String, Requests>,
    /// Their executed instructions before they were rewritten.
    pub originals: BTreeMap<String, Histogram>,
}

impl Report {
    /// The kernels of a cubin.
    ///
    /// # Errors
    /// Why the bytes cannot be read.
    pub fn new(bytes: &[u8], beside: &Beside) -> Result<Report, String> {
        let cubin = cubin::read(bytes)?;
        let lines = Lines::of(bytes);
        let mut kernels = Vec::new();
        for function in code::functions(bytes)? {
            let Some(usage) = cubin.kernels.get(&function.name) else { continue };
            let mut resources = resources::of(&function, usage, cubin.architecture);
            if let Some(&(stores, loads)) = beside.spills.get(&function.name) {
                (resources.spill_stores, resources.spill_loads) = (Some(stores), Some(loads));
            }
            let original = beside.originals.get(&function.name);
            let counterpart = original.map_or(Counterpart::None, Counterpart::Original);
            let schedule = Schedule::new(&function, cubin.architecture, counterpart);
            let requests = beside.requests.get(&function.name);
            let measure = schedule
                .as_ref()
                .ok()
                .and_then(|schedule| Measure::new(schedule, cubin.architecture, requests, usage));
            let kernel = Kernel::new(&function.name, resources, schedule, &lines);
            kernels.push(Kernel { measure, ..kernel });
        }
        Ok(Report { version: FORMAT_VERSION, arch: cubin.architecture, kernels })
    }
}

impl Kernel {
    fn new(
        name: &str,
        resources: Resources,
        schedule: Result<Schedule, super::graph::Unknown>,
        lines: &Lines,
    ) -> Kernel {
        let unknown = schedule.as_ref().err().map(ToString::to_string);
        let schedule = schedule.ok();
        let known = schedule.as_ref();
        let exposed = |schedule: &Schedule| Some(schedule.exposed_latency(resources.warps?));
        Kernel {
            name: name.to_owned(),
            resources,
            issue_cycles: known.map(Schedule::issue_cycles),
            wait_cycles: known.map(Schedule::wait_cycles),
            loads_in_flight: known
                .and_then(Schedule::loads_in_flight)
                .map(|(mean, max)| InFlight { mean, max }),
            exposed_latency: known.and_then(exposed),
            pipes: known.map(|schedule| named(schedule.pipes())),
            blocks: known.map(|schedule| {
                schedule.blocks.iter().map(|block| Block::new(name, block, lines)).collect()
            }),
            measure: None,
            unknown,
        }
    }
}

fn named(pipes: BTreeMap<Pipe, f64>) -> BTreeMap<&'static str, f64> {
    pipes.into_iter().map(|(pipe, cycles)| (pipe.into(), cycles)).collect()
}

impl Block {
    fn new(kernel: &str, block: &BlockSchedule, lines: &Lines) -> Block {
        let line = lines.at(kernel, block.offset);
        Block {
            offset: block.offset,
            instructions: block.instructions,
            issue_cycles: block.issue_cycles,
            wait_cycles: block.wait_cycles,
            loads_in_flight: block.loads_in_flight.iter().max().copied(),
            loop_depth: block.depth,
            line: line.map(|line| line.line),
            file: line.map(|line| line.file.clone()).filter(|file| !file.is_empty()),
        }
    }
}
