//! One lane along straight code.

use rustc_hash::FxHashMap;

use super::operation::{Thread, compute};
use super::values::Values;
use crate::cfg::{Flow, InstId, RegisterId};
use crate::expr::TermId;
use crate::isa::Special;
use crate::isa::limits::WARP_SIZE;
use crate::program::{Belief, Role, belief, results, role};

/// Registers of one lane along straight code. A register that is read first has an unknown value.
#[derive(Clone, Default)]
pub(super) struct Registers {
    pub held: FxHashMap<RegisterId, TermId>,
}

/// A place in straight code.
pub(super) struct Lane<'t, 'm, 's> {
    pub flow: &'t Flow<'m, 's>,
    pub values: &'t mut Values,
    pub registers: Registers,
}

impl Thread for Lane<'_, '_, '_> {
    fn values(&mut self) -> &mut Values {
        self.values
    }

    fn read(&mut self, register: RegisterId) -> Option<TermId> {
        if let Some(&known) = self.registers.held.get(&register) {
            return Some(known);
        }
        let width = self.width(register)?;
        let term = self.values.any(width);
        self.registers.held.insert(register, term);
        Some(term)
    }

    fn special(&mut self, register: Special) -> Option<TermId> {
        let is_warp_size = matches!(belief(register), Belief::WarpSize);
        is_warp_size.then(|| self.values.arena.constant(u64::from(WARP_SIZE), 32))
    }

    fn width(&self, register: RegisterId) -> Option<u8> {
        let bits = self.flow.registers[register].ty.bits();
        u8::try_from(bits).ok().filter(|bits| (1..=64).contains(bits))
    }
}

impl<'t, 'm, 's> Lane<'t, 'm, 's> {
    /// Nothing is known.
    pub(super) fn new(flow: &'t Flow<'m, 's>, values: &'t mut Values) -> Self {
        Lane { flow, values, registers: Registers::default() }
    }

    /// Goes past an instruction that is executed `always`, or may not be.
    pub(super) fn pass(&mut self, at: InstId, always: bool) {
        let inst = &self.flow.insts[at];
        let plain = always && inst.guard.is_none() && role(inst) == Role::Pure;
        let computed = if plain { compute(self, inst) } else { None };
        for register in results(inst) {
            match self.width(register) {
                Some(width) => {
                    let term = self.values.any(width);
                    self.registers.held.insert(register, term);
                }
                None => _ = self.registers.held.remove(&register),
            }
        }
        self.registers.held.extend(computed.unwrap_or_default());
    }
}
