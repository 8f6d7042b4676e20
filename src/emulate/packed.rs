//! Two 16-bit integers in one register (PTX ISA, "Integer Arithmetic Instructions", types `.u16x2`
//! and `.s16x2`).

use super::machine::Machine;
use crate::cfg::Inst;
use crate::expr::TermId;
use crate::isa::{Opcode, Qualifier};
use crate::ptx::ScalarType;

impl<'s> Machine<'_, '_, 's> {
    /// `add`, `sub`, `min`, `max` on both halves.
    pub(super) fn packed(&mut self, inst: &Inst<'_, 's>, ty: ScalarType) -> Option<TermId> {
        let name = inst.ast.form.opcode;
        let signed = ty == ScalarType::S16x2;
        if inst.ast.form.has(Qualifier::Cc)
            || inst.ast.form.has(Qualifier::Sat)
            || inst.ast.form.has(Qualifier::Relu) && !signed
        {
            return None;
        }
        let (a, b) = (self.source(inst, 0, 32)?, self.source(inst, 1, 32)?);
        let mut halves = [a; 2];
        for (index, half) in halves.iter_mut().enumerate() {
            let low = 16 * index as u8;
            let (x, y) = (self.arena.extract(a, low, 16), self.arena.extract(b, low, 16));
            *half = match name {
                Opcode::Add => self.arena.add(x, y),
                Opcode::Sub => self.arena.sub(x, y),
                Opcode::Min | Opcode::Max => {
                    let chosen = self.choose(name == Opcode::Max, x, y, signed);
                    if inst.ast.form.has(Qualifier::Relu) {
                        self.at_least_zero(chosen)
                    } else {
                        chosen
                    }
                }
                _ => return None,
            };
        }
        let [low, high] = halves;
        Some(self.arena.concatenate(high, low))
    }
}
