//! Counting, finding, extracting and inserting bits (PTX ISA, "Integer Arithmetic Instructions").
//!
//! Positions and lengths that are constants keep the terms small (an extraction, a sum); any others
//! become shifts by a term.

use super::machine::Machine;
use crate::cfg::Inst;
use crate::expr::{BinaryOp, Comparison, TermId, UnaryOp, mask};
use crate::isa::{Opcode, Qualifier};
use crate::ptx::ScalarType;

impl<'s> Machine<'_, '_, 's> {
    /// `popc`, `clz`, `brev`, `bfind`, `bfe`, `bfi`, `bmsk`, `szext`, `fns`.
    pub(super) fn field(&mut self, inst: &Inst<'_, 's>, ty: ScalarType) -> Option<TermId> {
        let w = ty.bits() as u8;
        let name = inst.ast.form.opcode;
        match name {
            Opcode::Bmsk => return self.bmsk(inst),
            Opcode::Bfi => return self.bfi(inst, w),
            Opcode::Fns => return self.fns(inst),
            _ => {}
        }
        let a = self.source(inst, 0, w)?;
        Some(match name {
            Opcode::Popc | Opcode::Clz => {
                let op = if name == Opcode::Popc {
                    UnaryOp::PopulationCount
                } else {
                    UnaryOp::LeadingZeros
                };
                let count = self.arena.unary(op, a);
                self.arena.resize(count, 32)
            }
            Opcode::Brev => self.arena.unary(UnaryOp::Reverse, a),
            Opcode::Bfind => self.bfind(inst, a, ty),
            Opcode::Bfe => return self.bfe(inst, a, ty),
            Opcode::Szext => return self.szext(inst, a, ty),
            _ => return None,
        })
    }

    /// `bfe d, a, b, c`: the field of `c` bits from bit `b` of `a` on, extended by its sign bit or
    /// zeros; bits beyond the operand are copies of the sign (or zero).
    fn bfe(&mut self, inst: &Inst<'_, 's>, a: TermId, ty: ScalarType) -> Option<TermId> {
        let w = ty.bits() as u8;
        let signed = ty.is_signed();
        let (position, length) = (self.low_byte(inst, 1, w)?, self.low_byte(inst, 2, w)?);
        // The field moved to the bottom; from the width on only the sign is left.
        let moved = match self.arena.constant_value(position) {
            Some(position) if position < u64::from(w) => {
                let field = self.arena.extract(a, position as u8, w - position as u8);
                self.extend(field, w, signed)
            }
            _ => {
                let op = if signed { BinaryOp::ArithmeticShiftRight } else { BinaryOp::ShiftRight };
                self.arena.binary(op, a, position)
            }
        };
        let field = self.low_field(moved, length, signed);
        self.within_a_byte(inst, &[1, 2], field)
    }

    /// Positions and lengths "are restricted to the 8-bit value range 0..255". For 32-bit operands
    /// ptxas takes them modulo 256; for 64-bit ones it does so here and not there, so beyond 255 the
    /// result is some function of the operands.
    fn within_a_byte(
        &mut self,
        inst: &Inst<'_, 's>,
        amounts: &[usize],
        defined: TermId,
    ) -> Option<TermId> {
        let w = self.arena.width(defined);
        let limit = self.arena.constant(255, 32);
        let mut within = self.arena.boolean(true);
        for &index in amounts {
            let amount = self.source(inst, index, 32)?;
            let fits = self.arena.compare(Comparison::UnsignedLessEqual, amount, limit);
            within = self.arena.and(within, fits);
        }
        if w == 32 || self.arena.constant_value(within) == Some(1) {
            return Some(defined);
        }
        let unspecified = self.uninterpreted(inst, w)?;
        Some(self.arena.if_then_else(within, defined, unspecified))
    }

    /// An operand of which the manual takes the value modulo 256, in `width` bits.
    fn low_byte(&mut self, inst: &Inst<'_, 's>, index: usize, width: u8) -> Option<TermId> {
        let value = self.source(inst, index, 32)?;
        let byte = self.arena.extract(value, 0, 8);
        Some(self.arena.zero_extend(byte, width))
    }

    /// The low `length` bits of a term, extended by the highest of them or zeros: all of it from the
    /// width on, 0 for none.
    fn low_field(&mut self, term: TermId, length: TermId, signed: bool) -> TermId {
        let w = self.arena.width(term);
        if let Some(length) = self.arena.constant_value(length) {
            if length == 0 {
                return self.arena.constant(0, w);
            }
            let field = self.arena.extract(term, 0, length.min(u64::from(w)) as u8);
            return self.extend(field, w, signed);
        }
        if !signed {
            let ones = self.ones(length);
            return self.arena.and(term, ones);
        }
        let zero = self.arena.constant(0, w);
        let width = self.arena.constant(u64::from(w), w);
        let whole = self.arena.compare(Comparison::UnsignedLessEqual, width, length);
        let unused = self.arena.sub(width, length);
        let up = self.arena.binary(BinaryOp::ShiftLeft, term, unused);
        let down = self.arena.binary(BinaryOp::ArithmeticShiftRight, up, unused);
        let field = self.arena.if_then_else(whole, term, down);
        let none = self.arena.equal(length, zero);
        self.arena.if_then_else(none, zero, field)
    }

    /// `length` one bits at the bottom, all from the width on.
    fn ones(&mut self, length: TermId) -> TermId {
        let one = self.arena.constant(1, self.arena.width(length));
        let power = self.arena.binary(BinaryOp::ShiftLeft, one, length);
        self.arena.sub(power, one)
    }

    /// `bfi f, a, b, c, d`: the low `d` bits of `a` put into `b` from bit `c` on.
    fn bfi(&mut self, inst: &Inst<'_, 's>, w: u8) -> Option<TermId> {
        let (a, b) = (self.source(inst, 0, w)?, self.source(inst, 1, w)?);
        let (position, length) = (self.low_byte(inst, 2, w)?, self.low_byte(inst, 3, w)?);
        let constants = (self.arena.constant_value(position), self.arena.constant_value(length));
        let (moved, field, outside) = if let (Some(position), Some(length)) = constants {
            let room = u64::from(w).saturating_sub(position);
            let field = match length.min(room) {
                0 => 0,
                length => mask(length as u8) << position,
            };
            let moved = self.arena.scale(a, 1u64.checked_shl(position as u32).unwrap_or(0));
            (moved, self.arena.constant(field, w), self.arena.constant(!field, w))
        } else {
            let ones = self.ones(length);
            let field = self.arena.binary(BinaryOp::ShiftLeft, ones, position);
            let moved = self.arena.binary(BinaryOp::ShiftLeft, a, position);
            (moved, field, self.arena.not(field))
        };
        let inserted = self.arena.and(moved, field);
        let kept = self.arena.and(b, outside);
        let merged = self.arena.or(inserted, kept);
        self.within_a_byte(inst, &[2, 3], merged)
    }

    /// `bmsk.{clamp,wrap} d, a, b`: `b` one bits from bit `a` on.
    fn bmsk(&mut self, inst: &Inst<'_, 's>) -> Option<TermId> {
        let (a, b) = (self.source(inst, 0, 32)?, self.source(inst, 1, 32)?);
        let (a, b) = (self.bounded_amount(inst, a), self.bounded_amount(inst, b));
        // 64 bits, so that 32 ones can be shifted by 32.
        let (position, length) = (self.arena.zero_extend(a, 64), self.arena.zero_extend(b, 64));
        let ones = self.ones(length);
        let moved = self.arena.binary(BinaryOp::ShiftLeft, ones, position);
        Some(self.arena.extract(moved, 0, 32))
    }

    /// `szext.{clamp,wrap}.{u32,s32} d, a, b`: the low `b` bits of `a`, extended.
    fn szext(&mut self, inst: &Inst<'_, 's>, a: TermId, ty: ScalarType) -> Option<TermId> {
        let length = self.source(inst, 1, 32)?;
        let length = self.bounded_amount(inst, length);
        Some(self.low_field(a, length, ty.is_signed()))
    }

    /// `bfind`: the position of the highest bit that differs from the sign (signed) or is one
    /// (unsigned), counted from the bottom or, with `.shiftamt`, from the top; all ones if none.
    fn bfind(&mut self, inst: &Inst<'_, 's>, a: TermId, ty: ScalarType) -> TermId {
        let w = self.arena.width(a);
        let zero = self.arena.constant(0, w);
        let a = if ty.is_signed() {
            let negative = self.arena.compare(Comparison::SignedLess, a, zero);
            let complement = self.arena.not(a);
            self.arena.if_then_else(negative, complement, a)
        } else {
            a
        };
        let leading = self.arena.unary(UnaryOp::LeadingZeros, a);
        let leading = self.arena.resize(leading, 32);
        let found = if inst.ast.form.has(Qualifier::Shiftamt) {
            leading
        } else {
            let top = self.arena.constant(u64::from(w) - 1, 32);
            self.arena.sub(top, leading)
        };
        let none = self.arena.equal(a, zero);
        let all = self.arena.constant(u64::MAX, 32);
        self.arena.if_then_else(none, all, found)
    }

    /// `fns d, mask, base, offset`: the position of the `offset`-th one bit of `mask`, counted
    /// upwards from `base`, downwards for a negative offset, all ones if there is none; offset 0 asks
    /// for the bit at `base` itself. A base above 31 is undefined: some function of the operands.
    fn fns(&mut self, inst: &Inst<'_, 's>) -> Option<TermId> {
        let (bits, base) = (self.source(inst, 0, 32)?, self.source(inst, 1, 32)?);
        let offset = self.source(inst, 2, 32)?;
        let zero = self.arena.constant(0, 32);
        let none = self.arena.constant(u64::MAX, 32);

        let above = self.arena.binary(BinaryOp::ShiftRight, bits, base);
        let here = self.arena.extract(above, 0, 1);
        let itself = self.arena.if_then_else(here, base, none);

        let up = self.nth_one(above, offset);
        let up = self.found(up, |machine, distance| machine.arena.add(base, distance));

        // Downwards is upwards in the reversed word.
        let reversed = self.arena.unary(UnaryOp::Reverse, bits);
        let top = self.arena.constant(31, 32);
        let from_top = self.arena.sub(top, base);
        let below = self.arena.binary(BinaryOp::ShiftRight, reversed, from_top);
        let count = self.arena.neg(offset);
        let down = self.nth_one(below, count);
        let down = self.found(down, |machine, distance| machine.arena.sub(base, distance));

        let negative = self.arena.compare(Comparison::SignedLess, offset, zero);
        let moved = self.arena.if_then_else(negative, down, up);
        let stays = self.arena.equal(offset, zero);
        let defined = self.arena.if_then_else(stays, itself, moved);
        let function = self.symbols.function("fns-base-beyond-31");
        let unspecified = self.arena.apply(function, &[bits, base, offset], 32);
        let within = self.arena.compare(Comparison::UnsignedLessEqual, base, top);
        Some(self.arena.if_then_else(within, defined, unspecified))
    }

    /// The position of the `count`-th one bit of a 32-bit word, from 1 and from the bottom; all ones
    /// if there is none.
    fn nth_one(&mut self, word: TermId, count: TermId) -> TermId {
        let mut position = self.arena.constant(u64::MAX, 32);
        for index in (0..32u8).rev() {
            let here = self.arena.extract(word, index, 1);
            let low = self.arena.extract(word, 0, index + 1);
            let low = self.arena.zero_extend(low, 32);
            let ones = self.arena.unary(UnaryOp::PopulationCount, low);
            let reached = self.arena.equal(ones, count);
            let is_it = self.arena.and(here, reached);
            let this = self.arena.constant(u64::from(index), 32);
            position = self.arena.if_then_else(is_it, this, position);
        }
        position
    }

    /// All ones stay; any other distance becomes a position.
    fn found(
        &mut self,
        distance: TermId,
        position: impl FnOnce(&mut Self, TermId) -> TermId,
    ) -> TermId {
        let none = self.arena.constant(u64::MAX, 32);
        let missing = self.arena.equal(distance, none);
        let position = position(self, distance);
        self.arena.if_then_else(missing, none, position)
    }
}
