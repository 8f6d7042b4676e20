//! Registers that hold constants along a path of instructions.

use rustc_hash::FxHashMap;

use super::operation::{Thread, compute};
use super::values::Values;
use crate::cfg::{Flow, InstId, RegisterId};
use crate::expr::TermId;
use crate::isa::Special;
use crate::isa::limits::WARP_SIZE;
use crate::program::{Belief, belief, results};

/// The registers that hold constants where a path has come to.
pub(super) struct Constants<'c, 'm, 's> {
    flow: &'c Flow<'m, 's>,
    values: Values,
    known: FxHashMap<RegisterId, TermId>,
}

impl<'c, 'm, 's> Constants<'c, 'm, 's> {
    /// Nothing is known.
    pub(super) fn new(flow: &'c Flow<'m, 's>) -> Self {
        Constants { flow, values: Values::default(), known: FxHashMap::default() }
    }

    /// Goes past an instruction that is executed.
    pub(super) fn pass(&mut self, at: InstId) {
        let inst = &self.flow.insts[at];
        let computed = if inst.guard.is_none() { compute(self, inst) } else { None };
        for register in results(inst) {
            self.known.remove(&register);
        }
        for (register, term) in computed.unwrap_or_default() {
            if self.values.constant(term).is_some() {
                self.known.insert(register, term);
            }
        }
    }

    /// The constant that a register holds.
    pub(super) fn of(&self, register: RegisterId) -> Option<u64> {
        self.values.constant(*self.known.get(&register)?)
    }
}

impl Thread for Constants<'_, '_, '_> {
    fn values(&mut self) -> &mut Values {
        &mut self.values
    }

    fn read(&mut self, register: RegisterId) -> Option<TermId> {
        self.known.get(&register).copied()
    }

    fn special(&mut self, register: Special) -> Option<TermId> {
        let is_warp_size = matches!(belief(register), Belief::WarpSize);
        is_warp_size.then(|| self.values.arena.constant(u64::from(WARP_SIZE), 32))
    }

    fn width(&self, register: RegisterId) -> Option<u8> {
        let bits = self.flow.registers[register].ty.bits();
        u8::try_from(bits).ok().filter(|bits| *bits <= 64)
    }
}
