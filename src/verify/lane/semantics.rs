//! The results of instructions without effects: exact where the meaning is, otherwise uninterpreted functions of the operands.

use super::state::Evaluation;
use crate::cfg::{Arg, Inst};
use crate::expr::{Arena, TermId};
use crate::terms::{FloatComparison, Function, Registers, exact};

impl<'s> Registers<'s> for Evaluation<'_, 's> {
    fn arena(&mut self) -> &mut Arena {
        &mut self.terms.arena
    }

    fn operand(&mut self, arg: &Arg<'s>, width: u8) -> Option<TermId> {
        Evaluation::operand(self, arg, width)
    }

    fn compare(&mut self, comparison: FloatComparison, operands: [TermId; 2]) -> TermId {
        self.terms.apply(Function::Compare(comparison), &operands, 1)
    }

    fn widen(&mut self, term: TermId, width: u8, signed: bool) -> TermId {
        Evaluation::widen(self, term, width, signed)
    }

    fn select(&mut self, condition: TermId, a: TermId, b: TermId) -> TermId {
        Evaluation::select(self, condition, a, b)
    }
}

impl<'s> Evaluation<'_, 's> {
    /// Gives the results of an instruction without effects.
    pub(super) fn compute(&mut self, inst: &Inst<'_, 's>, guard: Option<TermId>) {
        match exact(self, inst) {
            None => self.apply_opcode(inst, guard),
            Some(results) => {
                results
                    .into_iter()
                    .for_each(|(to, term, signed)| self.set(to, term, signed, guard));
            }
        }
    }
}
