//! The instructions that a warp executes along its path, one behind the other, each with its use of the multiprocessor.
//!
//! In: the instructions of each block, and the path. Out: [`Step`]s, for [`multiprocessor`](super::multiprocessor).

use super::access::Access;
use super::encoding::Instruction;
use super::opcodes::{Opcode, Pipe, Role};
use super::paths::Part;
use super::timing::Timing;

/// A longer path is not followed: the time of its simulation is a matter of the instructions.
pub const MAX_STEPS: usize = 1 << 14;

/// An instruction of a warp.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Step {
    /// Cycles until the warp's next instruction may be issued.
    pub stall: u8,
    /// The scoreboards that it waits for, one bit each.
    pub waits: u8,
    /// The scoreboard that tells of its result.
    pub writes: Option<u8>,
    /// The scoreboard that tells that its operands have been read.
    pub reads: Option<u8>,
    /// The unit that executes it.
    pub pipe: Pipe,
    /// Cycles until its result is there, where a scoreboard tells of it.
    pub latency: u32,
    /// How it accesses memory, if it does.
    pub access: Option<Access>,
    /// Whether it waits for the other warps of the block.
    pub is_barrier: bool,
}

impl Step {
    /// An instruction. `access`: how it accesses memory, if it does.
    pub fn new(
        instruction: Instruction,
        opcode: &Opcode,
        access: Option<Access>,
        timing: &Timing,
    ) -> Step {
        let class = opcode.class;
        let control = instruction.control();
        let mut waits = control.waits;
        if class.role == Role::PartialWait {
            // A wait that allows missing releases is ignored.
            let (scoreboard, lacks) = instruction.partial_wait();
            waits |= u8::from(lacks == 0) << scoreboard;
        }
        Step {
            stall: control.stall.max(1),
            waits,
            writes: control.writes,
            reads: control.reads,
            pipe: class.pipe,
            latency: class.latency.map_or(0, |latency| timing.latency(latency)),
            access,
            is_barrier: class.role == Role::Barrier,
        }
    }
}

/// The instructions of a path, block by block; `None` if they are too many.
pub fn along(parts: &[Part], blocks: &[Vec<Step>]) -> Option<Vec<Step>> {
    let mut found = Vec::new();
    extend(&mut found, parts, blocks).then_some(found)
}

fn extend(found: &mut Vec<Step>, parts: &[Part], blocks: &[Vec<Step>]) -> bool {
    parts.iter().all(|part| match part {
        Part::Block(at) => {
            found.extend(&blocks[*at]);
            found.len() <= MAX_STEPS
        }
        Part::Loop(times, inner) => (0..*times).all(|_| extend(found, inner, blocks)),
    })
}
