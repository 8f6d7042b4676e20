//! `prmt` (PTX ISA, "Data Movement and Conversion Instructions: prmt").

use super::machine::Machine;
use crate::cfg::Inst;
use crate::expr::{BinaryOp, TermId};
use crate::isa::Qualifier;

/// For each mode and each value of the two control bits, the source byte of the destination's bytes
/// from the lowest up.
const MODES: &[(Qualifier, [[u8; 4]; 4])] = &[
    (Qualifier::F4e, [[0, 1, 2, 3], [1, 2, 3, 4], [2, 3, 4, 5], [3, 4, 5, 6]]),
    (Qualifier::B4e, [[0, 7, 6, 5], [1, 0, 7, 6], [2, 1, 0, 7], [3, 2, 1, 0]]),
    (Qualifier::Rc8, [[0, 0, 0, 0], [1, 1, 1, 1], [2, 2, 2, 2], [3, 3, 3, 3]]),
    (Qualifier::Ecl, [[0, 1, 2, 3], [1, 1, 2, 3], [2, 2, 2, 3], [3, 3, 3, 3]]),
    (Qualifier::Ecr, [[0, 0, 0, 0], [0, 1, 1, 1], [0, 1, 2, 2], [0, 1, 2, 3]]),
    (Qualifier::Rc16, [[0, 1, 0, 1], [2, 3, 2, 3], [0, 1, 0, 1], [2, 3, 2, 3]]),
];

impl<'s> Machine<'_, '_, 's> {
    /// Four bytes chosen from the eight of two registers.
    pub(super) fn prmt(&mut self, inst: &Inst<'_, 's>) -> Option<TermId> {
        let (a, b) = (self.source(inst, 0, 32)?, self.source(inst, 1, 32)?);
        let selector = self.source(inst, 2, 32)?;
        let all = self.arena.concatenate(b, a);
        let mode = MODES.iter().find(|(mode, _)| inst.ast.form.has(*mode));
        let mut bytes = [all; 4];
        match mode {
            Some((_, choices)) => {
                let low = self.arena.extract(selector, 0, 1);
                let high = self.arena.extract(selector, 1, 1);
                for (index, byte) in bytes.iter_mut().enumerate() {
                    let mut of = |choice: usize| {
                        let from: &[u8; 4] = &choices[choice];
                        self.arena.extract(all, 8 * from[index], 8)
                    };
                    let [zero, one, two, three] = [of(0), of(1), of(2), of(3)];
                    let lower = self.arena.if_then_else(low, one, zero);
                    let upper = self.arena.if_then_else(low, three, two);
                    *byte = self.arena.if_then_else(high, upper, lower);
                }
            }
            None => {
                for (index, byte) in bytes.iter_mut().enumerate() {
                    let control = self.arena.extract(selector, 4 * index as u8, 4);
                    *byte = self.chosen_byte(all, control);
                }
            }
        }
        let [first, second, third, fourth] = bytes;
        let low = self.arena.concatenate(second, first);
        let high = self.arena.concatenate(fourth, third);
        Some(self.arena.concatenate(high, low))
    }

    /// The byte that the low three of four control bits choose; its sign eight times if the fourth
    /// is set.
    fn chosen_byte(&mut self, all: TermId, control: TermId) -> TermId {
        let index = self.arena.extract(control, 0, 3);
        let byte = match self.arena.constant_value(index) {
            Some(index) => self.arena.extract(all, 8 * index as u8, 8),
            None => {
                let index = self.arena.zero_extend(index, 64);
                let bits = self.arena.scale(index, 8);
                let moved = self.arena.binary(BinaryOp::ShiftRight, all, bits);
                self.arena.extract(moved, 0, 8)
            }
        };
        let sign = self.arena.extract(byte, 7, 1);
        let signs = self.arena.sign_extend(sign, 8);
        let replicates = self.arena.extract(control, 3, 1);
        self.arena.if_then_else(replicates, signs, byte)
    }
}
