//! Instructions whose meaning is left open: each result is an uninterpreted function of the opcode,
//! its modifiers and all operands.

use smallvec::SmallVec;

use super::commute;
use super::instructions::placed_results;
use super::state::Evaluation;
use super::symbols::{Kind, Side};
use crate::cfg::{Arg, Inst};
use crate::expr::TermId;
use crate::isa::{Opcode, Qualifier};

impl<'s> Evaluation<'_, 's> {
    /// Gives each result of an instruction an uninterpreted function of the opcode and all operands.
    pub(super) fn apply_opcode(&mut self, inst: &Inst<'_, 's>, guard: Option<TermId>) {
        let mut name = self.opcode_name(inst);
        let mut operands: SmallVec<[TermId; 8]> = SmallVec::new();
        for arg in inst.args.iter().skip(1) {
            self.natural(arg, &mut operands);
        }
        if commute::commutes(inst) {
            name = commute::marked(&name);
            commute::sort(&mut operands);
        }
        if let Some(Arg::Modified(register)) = inst.args.first() {
            operands.push(self.read(*register));
        }
        if matches!(inst.ast.form.opcode, Opcode::Addc | Opcode::Subc | Opcode::Madc) {
            operands.push(self.carry());
        }
        let operands = operands.to_vec();
        self.write_functions(inst, &name, &operands, guard);
        if inst.ast.form.has(Qualifier::Cc) {
            let carry = self.terms.function(&format!("{name}#cc"), &operands, 32);
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
        name: &str,
        operands: &[TermId],
        guard: Option<TermId>,
    ) {
        for (register, places) in placed_results(inst) {
            let width = self.width(register);
            let places: Vec<String> = places.iter().map(u16::to_string).collect();
            let name = format!("{name}#{}", places.join("&"));
            let value = self.terms.function(&name, operands, width);
            self.write(register, value, guard);
        }
    }

    /// The opcode, and the spelling of operands where it means something (`%r1.b0`, `-%r1`).
    fn opcode_name(&self, inst: &Inst<'_, 's>) -> String {
        let opcode: String = inst.ast.opcode.text.split_whitespace().collect();
        let modified = |arg: &Arg<'_>| matches!(arg, Arg::Modified(_));
        if !inst.args.iter().any(modified) {
            return opcode;
        }
        let text = self.program.text(inst);
        let shape: String = text
            .split(',')
            .map(|operand| {
                let operand = operand.trim().trim_end_matches(';');
                let sign = if operand.starts_with('-') { "-" } else { "" };
                let part = operand.rsplit_once('.').map_or("", |(_, part)| part);
                format!(" {sign}{part}")
            })
            .collect();
        opcode + &shape
    }
}
