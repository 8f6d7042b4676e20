//! Instructions whose meaning is left open: each result is an uninterpreted function of the opcode,
//! its modifiers and all operands.

use smallvec::SmallVec;

use super::state::Evaluation;
use crate::cfg::{Arg, Inst};
use crate::expr::TermId;
use crate::isa::{Opcode, Qualifier};
use crate::program::placed_results;
use crate::terms::{Function, Kind, Operation, Output, Side, commute};

impl<'s> Evaluation<'_, 's> {
    /// Gives each result of an instruction an uninterpreted function of the opcode and all operands.
    pub(super) fn apply_opcode(&mut self, inst: &Inst<'_, 's>, guard: Option<TermId>) {
        let mut operation = self.operation(inst);
        let mut operands: SmallVec<[TermId; 8]> = SmallVec::new();
        for arg in inst.args.iter().skip(1) {
            self.natural(arg, &mut operands);
        }
        if commute::commutes(inst) {
            operation.commutes = true;
            commute::sort(&mut operands);
        }
        if let Some(Arg::Modified(register)) = inst.args.first() {
            operands.push(self.read(*register));
        }
        if matches!(inst.ast.form.opcode, Opcode::Addc | Opcode::Subc | Opcode::Madc) {
            operands.push(self.carry());
        }
        let operands = operands.to_vec();
        self.write_functions(inst, &operation, &operands, guard);
        if inst.ast.form.has(Qualifier::Cc) {
            let carry = Function::of(&operation, Output::Carry);
            let carry = self.terms.apply(carry, &operands, 32);
            let old = self.carry();
            self.carry = Some(match guard {
                None => carry,
                Some(guard) => self.terms.arena.if_then_else(guard, carry, old),
            });
        }
    }

    fn carry(&mut self) -> TermId {
        match self.carry {
            Some(carry) => carry,
            None => {
                let side = if self.reference.is_none() { Side::Original } else { Side::Rewritten };
                self.terms.symbol(Kind::Carry(side, self.at), 32, self.here())
            }
        }
    }

    /// Gives each result of an instruction a value that is some function of the operands.
    pub(super) fn write_functions(
        &mut self,
        inst: &Inst<'_, 's>,
        operation: &Operation,
        operands: &[TermId],
        guard: Option<TermId>,
    ) {
        for (register, places) in placed_results(inst) {
            let width = self.width(register);
            let function = Function::of(operation, Output::Results(places));
            let value = self.terms.apply(function, operands, width);
            self.write(register, value, guard);
        }
    }

    /// An instruction as a function of its operands, which is not known to commute.
    fn operation(&self, inst: &Inst<'_, 's>) -> Operation {
        let modified = |arg: &Arg<'_>| matches!(arg, Arg::Modified(_));
        let mut operation = of_opcode(inst);
        if !inst.args.iter().any(modified) {
            return operation;
        }
        operation.spelling = self
            .program
            .text(inst)
            .split(',')
            .map(|operand| {
                let operand = operand.trim().trim_end_matches(';');
                let sign = if operand.starts_with('-') { "-" } else { "" };
                let part = operand.rsplit_once('.').map_or("", |(_, part)| part);
                format!(" {sign}{part}")
            })
            .collect();
        operation
    }
}

/// An instruction as a function, whose operands are spelled plainly and may not change places.
pub(super) fn of_opcode(inst: &Inst<'_, '_>) -> Operation {
    Operation {
        form: inst.ast.form.clone(),
        text: inst.ast.opcode.text.split_whitespace().collect(),
        spelling: String::new(),
        commutes: false,
    }
}
