//! Products (PTX ISA, "Integer Arithmetic Instructions": `mul`, `mad`, `mul24`, `mad24`, `dp4a`,
//! `dp2a`, and `mad.cc`, `madc`).

use super::machine::Machine;
use crate::cfg::Inst;
use crate::expr::{BinaryOp, TermId};
use crate::isa::{Opcode, Qualifier};
use crate::ptx::ScalarType;

impl<'s> Machine<'_, '_, 's> {
    /// `mul`, `mad`, `madc`, `mul24`, `mad24`.
    pub(super) fn multiply(&mut self, inst: &Inst<'_, 's>, ty: ScalarType) -> Option<TermId> {
        let name = inst.ast.form.opcode;
        let w = ty.bits() as u8;
        let (a, b) = (self.source(inst, 0, w)?, self.source(inst, 1, w)?);
        let product = self.product(inst, a, b, ty)?;
        if !matches!(name, Opcode::Mad | Opcode::Madc | Opcode::Mad24) {
            return Some(product);
        }
        let c = self.source(inst, 2, self.arena.width(product))?;
        if inst.ast.form.has(Qualifier::Sat) {
            // Only `.hi.sat.s32` exists.
            if ty != ScalarType::S32 || !inst.ast.form.has(Qualifier::Hi) {
                return None;
            }
            let (product, c) = (self.arena.sign_extend(product, 64), self.arena.sign_extend(c, 64));
            let sum = self.arena.add(product, c);
            let clamped = self.clamp_to(sum, 32, true);
            return Some(self.arena.extract(clamped, 0, 32));
        }
        let carry = match (name, self.carry) {
            (Opcode::Madc, Some(carry)) => Some(carry),
            (Opcode::Madc, None) => return None,
            _ => None,
        };
        if carry.is_none() && !inst.ast.form.has(Qualifier::Cc) {
            return Some(self.arena.add(product, c));
        }
        let (sum, out) = self.add_with_carry(product, c, carry);
        if inst.ast.form.has(Qualifier::Cc) {
            self.carry = Some(out);
        }
        Some(sum)
    }

    /// The part of the product that the mode asks for, the low one without a mode.
    fn product(
        &mut self,
        inst: &Inst<'_, 's>,
        a: TermId,
        b: TermId,
        ty: ScalarType,
    ) -> Option<TermId> {
        let w = ty.bits() as u8;
        let signed = ty.is_signed();
        if matches!(inst.ast.form.opcode, Opcode::Mul24 | Opcode::Mad24) {
            let (a, b) = (self.arena.extract(a, 0, 24), self.arena.extract(b, 0, 24));
            let (a, b) = (self.extend(a, 48, signed), self.extend(b, 48, signed));
            let product = self.arena.mul(a, b);
            return Some(self.arena.extract(
                product,
                if inst.ast.form.has(Qualifier::Hi) { 16 } else { 0 },
                32,
            ));
        }
        if inst.ast.form.has(Qualifier::Wide) {
            if w > 32 {
                return None;
            }
            for index in 0..2 {
                self.note_widened(inst, index);
            }
            let (a, b) = (self.extend(a, 2 * w, signed), self.extend(b, 2 * w, signed));
            return Some(self.arena.mul(a, b));
        }
        if !inst.ast.form.has(Qualifier::Hi) {
            return Some(self.arena.mul(a, b));
        }
        if w <= 32 {
            let (a, b) = (self.extend(a, 2 * w, signed), self.extend(b, 2 * w, signed));
            let product = self.arena.mul(a, b);
            return Some(self.arena.extract(product, w, w));
        }
        let op = if signed { BinaryOp::SignedMultiplyHigh } else { BinaryOp::UnsignedMultiplyHigh };
        Some(self.arena.binary(op, a, b))
    }

    /// `dp4a`, `dp2a`: four (two) products of bytes (halves and bytes) added up.
    pub(super) fn dot_product(&mut self, inst: &Inst<'_, 's>) -> Option<TermId> {
        let types = inst.ast.form.types();
        let [a_type, b_type] = types[..] else { return None };
        let (a, b) = (self.source(inst, 0, 32)?, self.source(inst, 1, 32)?);
        let mut sum = self.source(inst, 2, 32)?;
        let four = inst.ast.form.opcode == Opcode::Dp4a;
        let (count, a_bits) = if four { (4, 8) } else { (2, 16) };
        let first_byte = if inst.ast.form.has(Qualifier::Hi) { 2 } else { 0 };
        for index in 0..count {
            let x = self.arena.extract(a, index * a_bits, a_bits);
            let y = self.arena.extract(b, (index + first_byte) * 8, 8);
            let x = self.extend(x, 32, a_type.is_signed());
            let y = self.extend(y, 32, b_type.is_signed());
            let product = self.arena.mul(x, y);
            sum = self.arena.add(sum, product);
        }
        Some(sum)
    }
}
