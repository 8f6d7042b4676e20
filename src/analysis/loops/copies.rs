//! Copies, at an earlier place of a block, of the instructions that compute addresses there.

use smallvec::SmallVec;

use crate::cfg::{Arg, Base, Flow, Inst, InstId, RegisterId};
use crate::emulate::{Effect, definitions, effect, mentions};
use crate::isa::{Opcode, Qualifier};

/// The most instructions that are copied to one place.
pub const MAX_STEPS: usize = 16;

/// An instruction whose copy computes a part of an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressStep {
    /// The instruction.
    pub inst: InstId,
    /// The registers that it reads and that another step computes, each with that step.
    pub uses: SmallVec<[(RegisterId, usize); 2]>,
}

/// The copies in front of one instruction.
pub struct Steps<'f, 'm, 's> {
    flow: &'f Flow<'m, 's>,
    /// They stand in front of this instruction.
    first: InstId,
    /// The most of them.
    most: usize,
    /// In an order in which each comes behind those that it uses.
    pub found: Vec<AddressStep>,
}

impl<'f, 'm, 's> Steps<'f, 'm, 's> {
    /// No copies in front of an instruction yet.
    pub fn in_front_of(flow: &'f Flow<'m, 's>, first: InstId) -> Steps<'f, 'm, 's> {
        Steps { flow, first, most: MAX_STEPS, found: Vec::new() }
    }

    /// The same with another limit.
    pub fn at_most(self, most: usize) -> Steps<'f, 'm, 's> {
        Steps { most, ..self }
    }

    /// The step that computes the value of a register in front of an instruction `behind` of the block; `Some(None)` if
    /// the register has that value at the place of the copies already, `None` if it cannot be computed there.
    pub fn of(&mut self, register: RegisterId, behind: InstId) -> Option<Option<usize>> {
        let insts = &self.flow.insts;
        let writes = |at: &InstId| definitions(&insts[*at]).contains(&register);
        let Some(at) = self.first.to(behind).rev().find(writes) else { return Some(None) };
        if let Some(known) = self.found.iter().position(|step| step.inst == at) {
            return Some(Some(known));
        }
        let inst = &insts[at];
        if self.found.len() >= self.most || !self.is_simple(inst) {
            return None;
        }
        let mut uses = SmallVec::new();
        for read in mentions(inst) {
            let is_source =
                inst.args[1..].iter().any(|arg| matches!(arg, Arg::Register(one) if *one == read));
            if !is_source {
                continue;
            }
            if let Some(step) = self.of(read, at)? {
                uses.push((read, step));
            }
        }
        self.found.push(AddressStep { inst: at, uses });
        Some(Some(self.found.len() - 1))
    }

    /// Whether an instruction is arithmetic with one result, no predicate, whose operands are registers and constants.
    fn is_simple(&self, inst: &Inst<'_, '_>) -> bool {
        let plain = |arg: &Arg<'_>| matches!(arg, Arg::Register(_) | Arg::Constant(_));
        let wide = |one: &RegisterId| self.flow.registers[*one].ty.bits() >= 16;
        let written = definitions(inst);
        effect(inst) == Effect::Pure
            && inst.guard.is_none()
            && !inst.pragma
            && !carries(inst)
            && written.len() == 1
            && written.iter().all(wide)
            && inst.args.len() > 1
            && inst.args.len() == inst.ast.operands.len()
            && matches!(inst.args[0], Arg::Register(_))
            && inst.args.iter().all(plain)
    }
}

/// Whether an instruction reads or writes the condition code, a register that nobody names.
pub fn carries(inst: &Inst<'_, '_>) -> bool {
    let form = &inst.ast.form;
    form.has(Qualifier::Cc) || matches!(form.opcode, Opcode::Addc | Opcode::Subc | Opcode::Madc)
}

/// The register that is the base of a load's or store's address.
pub fn address_base(flow: &Flow<'_, '_>, inst: InstId) -> Option<RegisterId> {
    flow.insts[inst].args.iter().find_map(|arg| match arg {
        Arg::Memory { base: Base::Register(register), rest, .. } if rest.is_empty() => {
            Some(*register)
        }
        _ => None,
    })
}
