//! The values of registers while blocks are visited.
//!
//! Compilers emit nearly static single assignment: a register that is written once in the text has
//! one term, valid wherever its definition dominates. Only the others (*mutable* ones) are carried
//! from block to block and merged.

use crate::cfg::{BlockId, Flow, RegisterId};
use crate::expr::TermId;

use super::effects::definitions;
use super::window::Window;

/// Where a register's value is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Slot {
    /// Written at most once, unguarded.
    Single,
    /// Written several times or under a guard: index into the block state.
    Mutable(u32),
}

/// How often and where registers are written.
#[derive(Debug)]
pub(super) struct Writes {
    pub slots: Vec<Slot>,
    pub mutable: Vec<RegisterId>,
    pub counts: Vec<u32>,
}

impl Writes {
    pub fn new(flow: &Flow<'_, '_>) -> Writes {
        let mut counts = vec![0u32; flow.registers.len()];
        let mut guarded = vec![false; flow.registers.len()];
        for inst in &flow.insts {
            for register in definitions(inst) {
                counts[register.0 as usize] += 1;
                guarded[register.0 as usize] |= inst.guard.is_some();
            }
        }
        let mut mutable = Vec::new();
        let slots = (0..flow.registers.len())
            .map(|index| {
                if counts[index] <= 1 && !guarded[index] {
                    return Slot::Single;
                }
                mutable.push(RegisterId(index as u32));
                Slot::Mutable(mutable.len() as u32 - 1)
            })
            .collect();
        Writes { slots, mutable, counts }
    }
}

/// A value and where it was computed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Definition {
    pub term: TermId,
    pub block: BlockId,
}

/// The version of each window.
pub(super) type Memory = [TermId; Window::ALL.len()];

/// The values of the mutable registers and the versions of memory at the end of a block.
#[derive(Clone, Debug)]
pub(super) struct Exit {
    pub mutable: Box<[TermId]>,
    pub memory: Memory,
}
