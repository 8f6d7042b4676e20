//! The static schedule of a kernel: how long its instructions take to be issued, which wait for loads, and the part of
//! the waits that other warps hide.
//!
//! In: the instructions of a kernel, and the timing of the architecture. Out: a [`Schedule`]. A warp is followed alone
//! along its blocks: an instruction is issued when the stall cycles of the one before have passed and the scoreboards
//! that it waits for have been released. At a join each scoreboard has the later release of both predecessors. The
//! blocks are simulated twice, so that a loop begins with the scoreboards that its last iteration has left. Each block
//! counts as often as [`paths`] says that it is executed.
//!
//! This is a model of one warp's latency and of the issue slots of all: caches, bandwidths and conflicts are left out,
//! and it predicts no time. It ranks versions of one piece of code.

use std::collections::BTreeMap;

use super::access::Access;
use super::code::Function;
use super::encoding::{Instruction, SCOREBOARDS};
use super::graph::{self, Graph, Unknown};
use super::opcodes::{Latency, Opcode, Opcodes, Pipe, Role};
use super::paths::{self, Blocks, Counterpart, Followed, Histogram, Work};
use super::stream::{self, Step};
use super::timing::Timing;

/// Schedulers of a multiprocessor, from compute capability 7.0 on.
pub const SCHEDULERS: f64 = 4.0;

/// The cost of one execution of a basic block.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct BlockSchedule {
    /// Bytes from the beginning of the function to its first instruction.
    pub offset: u32,
    /// Its instructions.
    pub instructions: usize,
    /// The number of loops around it.
    pub depth: u32,
    /// Cycles in which its instructions are issued, one warp alone and without waits.
    pub issue_cycles: u32,
    /// Cycles that a warp alone waits for scoreboards.
    pub wait_cycles: u32,
    /// For each wait for a load from global memory, the loads that are under way.
    pub loads_in_flight: Vec<u32>,
    /// Instructions by the unit that executes them.
    pub pipes: BTreeMap<Pipe, u32>,
    /// Accesses to memory, by what kind they are of.
    pub accesses: BTreeMap<Access, u32>,
    /// Floating-point operations.
    pub arithmetic: u32,
    /// Executions for each execution of the kernel by a warp.
    pub executions: f64,
}

/// The static schedule of a kernel.
#[derive(Clone, PartialEq, Debug)]
pub struct Schedule {
    /// The blocks that can be reached, in the order of the code.
    pub blocks: Vec<BlockSchedule>,
    /// The instructions that are executed, by kind.
    pub executed: Histogram,
    /// The path of a warp.
    path: Followed,
    /// The steps of each block.
    steps: Vec<Vec<Step>>,
    /// Cycles that each unit takes for an instruction, where that is known.
    busy: BTreeMap<Pipe, f64>,
}

/// The pending operations of a warp.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct Pending {
    /// Cycles until each scoreboard has been released, from now on.
    remaining: [u32; SCOREBOARDS],
    /// Loads from global memory that each scoreboard tells of and that nothing has waited for.
    loads: [u32; SCOREBOARDS],
}

impl Pending {
    /// The instructions in flight where two blocks meet.
    fn meet(&mut self, other: &Pending) {
        for at in 0..SCOREBOARDS {
            self.remaining[at] = self.remaining[at].max(other.remaining[at]);
            self.loads[at] = self.loads[at].max(other.loads[at]);
        }
    }

    fn pass(&mut self, cycles: u32) {
        self.remaining = self.remaining.map(|rest| rest.saturating_sub(cycles));
    }

    /// Waits for a scoreboard; returns the cycles.
    fn wait(&mut self, at: usize) -> u32 {
        let cycles = self.remaining[at];
        self.pass(cycles);
        self.loads[at] = 0;
        cycles
    }
}

impl Schedule {
    /// The schedule of a function. `counterpart`: the instructions that the other version of the kernel
    /// [executes](Schedule::executed).
    ///
    /// # Errors
    /// Why nothing can be said of it.
    pub fn new(
        function: &Function,
        architecture: u32,
        counterpart: Counterpart<'_>,
    ) -> Result<Schedule, Unknown> {
        let code = &function.instructions;
        let unknown = Unknown::Architecture(architecture);
        let table = Opcodes::of(architecture).ok_or(unknown)?;
        let timing = Timing::of(architecture).ok_or(unknown)?;
        let graph = Graph::new(function, architecture)?;
        if graph.blocks.iter().any(|block| is_unscheduled(&code[block.first..block.end], table)) {
            return Err(Unknown::Unscheduled);
        }
        let count = graph.blocks.len();
        let (mut blocks, mut steps) = (Vec::new(), Vec::new());
        let mut backward = vec![Pending::default(); count];
        for _ in 0..2 {
            let mut entries = std::mem::replace(&mut backward, vec![Pending::default(); count]);
            blocks.clear();
            steps.clear();
            for (at, block) in graph.blocks.iter().enumerate() {
                let mut pending = entries[at];
                let offset = code[block.first].offset;
                let mut found =
                    BlockSchedule { offset, depth: block.depth, ..BlockSchedule::default() };
                let mut block_steps = Vec::new();
                let instructions = followed(&code[block.first..block.end], table);
                let accesses = accesses(instructions, table);
                for (instruction, access) in instructions.iter().zip(accesses) {
                    if let Some(opcode) = table.get(*instruction) {
                        found.issue(*instruction, opcode, &mut pending, timing);
                        found.access(access);
                        block_steps.extend(access.step(*instruction, opcode, timing));
                    }
                }
                blocks.push(found);
                steps.push(block_steps);
                for &to in &block.successors {
                    let entry = if to > at { &mut entries[to] } else { &mut backward[to] };
                    entry.meet(&pending);
                }
            }
        }
        let blocks_to_follow = blocks_of(&graph, &blocks, code, table);
        let path = paths::follow(&blocks_to_follow, counterpart);
        let executions = path.executions(count);
        let executed = paths::executed(&blocks_to_follow, &executions);
        for (block, executions) in blocks.iter_mut().zip(executions) {
            block.executions = executions;
        }
        let pipes = [Pipe::Alu, Pipe::Fma, Pipe::Fp64, Pipe::Xu, Pipe::Lsu];
        let busy = pipes.into_iter().filter_map(|pipe| Some((pipe, timing.busy(pipe)?)));
        Ok(Schedule { blocks, busy: busy.collect(), executed, path, steps })
    }

    /// The sum of something over the blocks, each as often as it is executed.
    pub fn sum(&self, of: impl Fn(&BlockSchedule) -> f64) -> f64 {
        self.blocks.iter().map(|block| block.executions * of(block)).sum()
    }

    /// Cycles in which a warp's instructions are issued, without waits, loops weighted.
    pub fn issue_cycles(&self) -> f64 {
        self.sum(|block| f64::from(block.issue_cycles))
    }

    /// Cycles that a warp alone waits, loops weighted.
    pub fn wait_cycles(&self) -> f64 {
        self.sum(|block| f64::from(block.wait_cycles))
    }

    /// Cycles of a warp's waits that the instructions of the other resident warps do not fill.
    pub fn exposed_latency(&self, resident_warps: u32) -> f64 {
        let others = (f64::from(resident_warps) / SCHEDULERS - 1.0).max(0.0);
        (self.wait_cycles() - others * self.issue_cycles()).max(0.0)
    }

    /// The loads from global memory that are under way where one is waited for: the mean, loops weighted, and the most.
    /// `None` if nothing waits for a load.
    pub fn loads_in_flight(&self) -> Option<(f64, u32)> {
        let waits = self.sum(|block| block.loads_in_flight.len() as f64);
        let loads = self.sum(|block| f64::from(block.loads_in_flight.iter().sum::<u32>()));
        let most = self.blocks.iter().flat_map(|block| &block.loads_in_flight).max()?;
        Some((loads / waits, *most))
    }

    /// The instructions along the path of a warp; `None` if they are too many.
    pub fn stream(&self) -> Option<Vec<Step>> {
        stream::along(&self.path.parts, &self.steps)
    }

    /// Accesses to memory by a warp, by kind.
    pub fn accesses(&self) -> BTreeMap<Access, f64> {
        let mut found = BTreeMap::new();
        for block in &self.blocks {
            for (access, count) in &block.accesses {
                *found.entry(*access).or_default() += block.executions * f64::from(*count);
            }
        }
        found
    }

    /// Cycles that a warp keeps each unit of the multiprocessor busy, loops weighted; without those whose throughput is
    /// not known.
    pub fn pipes(&self) -> BTreeMap<Pipe, f64> {
        let cycles = |(pipe, cycles): (&Pipe, &f64)| {
            let count = self.sum(|block| f64::from(block.pipes.get(pipe).copied().unwrap_or(0)));
            (*pipe, count * cycles)
        };
        self.busy.iter().map(cycles).filter(|(_, cycles)| *cycles > 0.0).collect()
    }
}

/// The kind under which waits for loads are counted among the instructions: no instruction has it.
const WAITS: u32 = u32::MAX;

/// The context for following the code.
fn blocks_of(
    graph: &Graph,
    blocks: &[BlockSchedule],
    code: &[Instruction],
    table: &Opcodes,
) -> Blocks {
    let called = |from: usize, to: usize| graph.calls.contains(&(from, to));
    let next = |(at, block): (usize, &graph::Block)| {
        block.successors.iter().copied().filter(|&to| !called(at, to)).collect()
    };
    // As rare as a call: the exchange of lanes that have parted, one by one; waiting, and a region that a rewriting has left as it was.
    let rare = |instruction: &Instruction| {
        let known = table.get(*instruction);
        known.is_some_and(|opcode| matches!(opcode.mnemonic, "ENDCOLLECTIVE" | "NANOSLEEP"))
    };
    let calls = |at: usize| {
        let block = &graph.blocks[at];
        let rare = code[block.first..block.end].iter().filter(|one| rare(one)).count();
        rare + graph.calls.iter().filter(|(from, _)| *from == at).count()
    };
    let work =
        |(at, block): (usize, &BlockSchedule)| Work { calls: calls(at) as f64, ..block.work() };
    let kinds = |(block, schedule): (&graph::Block, &BlockSchedule)| {
        // Versions may differ in nothing but the order of their loads.
        let mut kinds = Histogram::from([(WAITS, schedule.loads_in_flight.len() as f64)]);
        for &instruction in followed(&code[block.first..block.end], table) {
            let accesses =
                table.get(instruction).is_some_and(|found| found.class.role.accesses_memory());
            // The operation of an instruction, without the form of its operands; and for an access its size.
            let operation = u32::from(instruction.opcode()) & (paths::ACCESSES - 1);
            let bytes = if accesses { instruction.access_bytes() } else { 0 };
            *kinds.entry((bytes * paths::ACCESSES) | operation).or_default() += 1.0;
            let role = table.get(instruction).map(|found| found.class.role);
            if role == Some(Role::Shuffle) {
                *kinds.entry(paths::SHUFFLES).or_default() += 1.0;
            }
        }
        kinds
    };
    Blocks {
        next: graph.blocks.iter().enumerate().map(next).collect(),
        calls: graph.calls.clone(),
        work: blocks.iter().enumerate().map(work).collect(),
        kinds: graph.blocks.iter().zip(blocks).map(kinds).collect(),
    }
}

/// Whether ptxas has left the stall counts of a block empty. (Those of what raises errors always are.)
pub fn is_unscheduled(code: &[Instruction], table: &Opcodes) -> bool {
    code.iter().any(|&instruction| {
        let role = table.get(instruction).map(|opcode| opcode.class.role);
        instruction.control().stall == 0 && role != Some(Role::Error) && !instruction.is_trap()
    })
}

/// The kind of an instruction's memory access.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Accessed {
    /// Nothing.
    Not,
    /// Nothing on the path: those are executed that stand under the opposite of its guard.
    Instead(Role),
    /// This.
    By(Access),
}

/// The instructions of a block up to the exit of the lanes that have executed an access under the same guard: ptxas has
/// predicated the first one of two sides of a branch, and the code behind the exit is the other one.
fn followed<'c>(code: &'c [Instruction], table: &Opcodes) -> &'c [Instruction] {
    let role = |instruction: &Instruction| table.get(*instruction).map(|opcode| opcode.class.role);
    let ends = |(at, instruction): (usize, &Instruction)| {
        let guard = instruction.guard().filter(|_| role(instruction) == Some(Role::Exit))?;
        let has_accessed = code[..at].iter().any(|before| {
            before.guard() == Some(guard) && role(before).is_some_and(Role::accesses_memory)
        });
        has_accessed.then_some(at + 1)
    };
    &code[..code.iter().enumerate().find_map(ends).unwrap_or(code.len())]
}

/// The accesses of a block. Of those that stand under a guard and under its opposite, the fewer ones are executed.
fn accesses(code: &[Instruction], table: &Opcodes) -> Vec<Accessed> {
    let role = |instruction: &Instruction| {
        let role = table.get(*instruction)?.class.role;
        role.accesses_memory().then_some(role)
    };
    let mut counts: BTreeMap<u8, [u32; 2]> = BTreeMap::new();
    for instruction in code.iter().filter(|instruction| role(instruction).is_some()) {
        if let Some((predicate, negated)) = instruction.guard() {
            counts.entry(predicate).or_default()[usize::from(negated)] += 1;
        }
    }
    let of = |instruction: &Instruction| {
        let Some(role) = role(instruction) else { return Accessed::Not };
        let guard = instruction.guard();
        if let Some((predicate, negated)) = guard {
            let executes_negated = match counts[&predicate] {
                [0, _] => true,
                [a, b] => a > b && b > 0,
            };
            if negated != executes_negated {
                return Accessed::Instead(role);
            }
        }
        let (bytes, guarded) = (instruction.access_bytes(), guard.is_some());
        Accessed::By(Access { role, bytes, guarded })
    };
    code.iter().map(of).collect()
}

impl Accessed {
    /// The step of the instruction; `None` for one that does nothing on the path.
    fn step(self, instruction: Instruction, opcode: &Opcode, timing: &Timing) -> Option<Step> {
        match self {
            Accessed::Not => Some(Step::new(instruction, opcode, None, timing)),
            Accessed::By(access) => Some(Step::new(instruction, opcode, Some(access), timing)),
            Accessed::Instead(_) => None,
        }
    }
}

impl BlockSchedule {
    /// Counts an access to memory.
    fn access(&mut self, accessed: Accessed) {
        match accessed {
            Accessed::By(access) => *self.accesses.entry(access).or_default() += 1,
            Accessed::Instead(role) if role != Role::LoadTexture => {
                if let Some(all) = self.pipes.get_mut(&Pipe::Lsu) {
                    *all = all.saturating_sub(1);
                }
            }
            Accessed::Instead(_) | Accessed::Not => {}
        }
    }

    fn work(&self) -> Work {
        Work {
            cycles: f64::from(self.issue_cycles + self.wait_cycles),
            accesses: f64::from(self.accesses.values().sum::<u32>()),
            arithmetic: f64::from(self.arithmetic),
            calls: 0.0,
            shuffles: 0.0,
        }
    }

    fn issue(
        &mut self,
        instruction: Instruction,
        opcode: &Opcode,
        pending: &mut Pending,
        timing: &Timing,
    ) {
        let class = opcode.class;
        let control = instruction.control();
        let mut waits = control.waits;
        if class.role == Role::PartialWait {
            // A wait that allows missing releases is ignored.
            let (scoreboard, lacks) = instruction.partial_wait();
            waits |= u8::from(lacks == 0) << scoreboard;
        }
        let waited = (0..SCOREBOARDS).filter(|at| waits >> at & 1 != 0);
        let for_loads = waited.clone().any(|at| pending.loads[at] > 0);
        if for_loads {
            self.loads_in_flight.push(pending.loads.iter().sum());
        }
        for at in waited {
            self.wait_cycles += pending.wait(at);
        }
        let cycles = u32::from(control.stall).max(1);
        self.instructions += 1;
        self.issue_cycles += cycles;
        *self.pipes.entry(class.pipe).or_default() += 1;
        self.arithmetic += u32::from(opcode.is_arithmetic());
        if let Some(at) = control.writes.map(usize::from) {
            let latency = class.latency.map_or(0, |latency| timing.latency(latency));
            pending.remaining[at] = pending.remaining[at].max(latency);
            pending.loads[at] += u32::from(class.role.is_global_load());
        }
        if let Some(at) = control.reads.map(usize::from) {
            let latency = timing.latency(Latency::Store);
            pending.remaining[at] = pending.remaining[at].max(latency);
        }
        pending.pass(cycles);
    }
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;

    crate::unit_tests!(a_predicated_side_ends_with_the_exit_of_its_lanes);

    /// Opcodes, and the guards `@P0`, `@!P0` and none, in the encoding of compute capability 9.0.
    const LDG: u128 = 0x981;
    const STG: u128 = 0x986;
    const EXIT: u128 = 0x94d;
    const P0: u128 = 0;
    const NOT_P0: u128 = 0x8000;
    const ALL: u128 = 0x7000;

    fn a_predicated_side_ends_with_the_exit_of_its_lanes() {
        let table = Opcodes::of(90).expect("the encoding is known");
        let length = |words: &[u128]| {
            let code: Vec<_> = words.iter().map(|word| Instruction::new(0, *word)).collect();
            followed(&code, table).len()
        };
        // if (p) { load; store; return } load; store: ptxas has predicated the first side.
        assert_eq!(length(&[P0 | LDG, P0 | STG, P0 | EXIT, ALL | LDG, ALL | STG, ALL | EXIT]), 3);
        // Lanes that leave before an access of their own: the rest of the block is followed.
        assert_eq!(length(&[P0 | EXIT, ALL | LDG, ALL | STG, ALL | EXIT]), 4);
        assert_eq!(length(&[NOT_P0 | LDG, P0 | EXIT, ALL | STG, ALL | EXIT]), 4);
        assert_eq!(length(&[ALL | LDG, P0 | EXIT, ALL | STG, ALL | EXIT]), 4);
    }
}
