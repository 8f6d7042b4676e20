//! The values of registers while blocks are visited.
//!
//! Compilers emit nearly static single assignment: a register that is written once in the text has
//! one term, valid wherever its definition dominates. Only the others (*mutable* ones) are carried
//! from block to block and merged.

use typed_index_collections::{TiVec, ti_vec};

use super::effects::definitions;
use crate::cfg::{BlockId, Flow, RegisterId};
use crate::expr::TermId;

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
    pub slots: TiVec<RegisterId, Slot>,
    pub mutable: Vec<RegisterId>,
    counts: TiVec<RegisterId, u32>,
}

impl Writes {
    pub(super) fn new(flow: &Flow<'_, '_>) -> Writes {
        let mut counts = ti_vec![0u32; flow.registers.len()];
        let mut guarded = ti_vec![false; flow.registers.len()];
        for inst in &flow.insts {
            for register in definitions(inst) {
                counts[register] += 1;
                guarded[register] |= inst.guard.is_some();
            }
        }
        let mut mutable = Vec::new();
        let slots = flow
            .registers
            .keys()
            .map(|register| {
                if counts[register] <= 1 && !guarded[register] {
                    return Slot::Single;
                }
                mutable.push(register);
                Slot::Mutable(mutable.len() as u32 - 1)
            })
            .collect();
        Writes { slots, mutable, counts }
    }
}

/// A value and where it was computed.
#[derive(Clone, Copy, Debug)]
struct Definition {
    term: TermId,
    block: BlockId,
}

/// The values of all registers at some instruction.
#[derive(Debug)]
pub(super) struct Registers {
    writes: Writes,
    /// The values of the registers that are written once, by register.
    single: TiVec<RegisterId, Option<Definition>>,
    /// The values of the mutable registers, by their index among these.
    mutable: Vec<TermId>,
}

impl Registers {
    /// No register has a value yet, the mutable ones included.
    pub(super) fn new(writes: Writes) -> Registers {
        Registers { single: ti_vec![None; writes.slots.len()], mutable: Vec::new(), writes }
    }

    /// The mutable registers.
    pub(super) fn mutable(&self) -> &[RegisterId] {
        &self.writes.mutable
    }

    /// The values of the mutable registers.
    pub(super) fn values(&self) -> &[TermId] {
        &self.mutable
    }

    /// Gives the mutable registers other values.
    pub(super) fn set_values(&mut self, values: Vec<TermId>) {
        self.mutable = values;
    }

    /// Gives the mutable register with this index another value.
    pub(super) fn set_value(&mut self, index: u32, term: TermId) {
        self.mutable[index as usize] = term;
    }

    /// A register's value in a block; `None` if the register was not written on some way there, or
    /// only in an earlier iteration.
    #[inline]
    pub(super) fn get(
        &self,
        register: RegisterId,
        flow: &Flow<'_, '_>,
        block: BlockId,
    ) -> Option<TermId> {
        match self.writes.slots[register] {
            Slot::Mutable(index) => Some(self.mutable[index as usize]),
            Slot::Single => self.settled(register, flow, block).map(|definition| definition.term),
        }
    }

    /// Whether a register has one definition only, on every way to a block.
    pub(super) fn is_settled(
        &self,
        register: RegisterId,
        flow: &Flow<'_, '_>,
        block: BlockId,
    ) -> bool {
        self.writes.slots[register] == Slot::Single && self.settled(register, flow, block).is_some()
    }

    #[inline]
    fn settled(
        &self,
        register: RegisterId,
        flow: &Flow<'_, '_>,
        block: BlockId,
    ) -> Option<Definition> {
        let definition = self.single[register];
        definition.filter(|definition| flow.dominators.dominates(definition.block, block))
    }

    /// Gives a register a value in a block. A mutable register gets what `choose` returns, given the
    /// register's value before.
    #[inline]
    pub(super) fn set(
        &mut self,
        register: RegisterId,
        term: TermId,
        block: BlockId,
        choose: impl FnOnce(TermId) -> TermId,
    ) {
        match self.writes.slots[register] {
            Slot::Single => self.single[register] = Some(Definition { term, block }),
            Slot::Mutable(index) => {
                let value = &mut self.mutable[index as usize];
                *value = choose(*value);
            }
        }
    }

    /// How often each register is written in the text.
    pub(super) fn into_counts(self) -> TiVec<RegisterId, u32> {
        self.writes.counts
    }
}
