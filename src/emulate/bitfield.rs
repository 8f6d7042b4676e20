//! Logic, shifts and bit fields (PTX ISA, "Logic and Shift Instructions", "Integer Arithmetic
//! Instructions").

use super::machine::Machine;
use crate::cfg::Inst;
use crate::expr::{BinaryOp, Comparison, TermId, UnaryOp};
use crate::ptx::ScalarType;

impl<'s> Machine<'_, '_, 's> {
    /// The exact meaning of a bit manipulation.
    pub(super) fn bits(&mut self, inst: &Inst<'_, 's>, ty: ScalarType) -> Option<TermId> {
        let w = ty.bits() as u8;
        if ty.bits() > 64 {
            return None;
        }
        let name = inst.ast.mnemonic();
        match name {
            "bmsk" => return self.bmsk(inst),
            "lop3" => return self.lop3(inst),
            "shf" => return self.funnel_shift(inst),
            "bfi" => return self.bfi(inst, w),
            _ => {}
        }
        let a = self.source(inst, 0, w)?;
        let logic = match name {
            "and" => Some(BinaryOp::And),
            "or" => Some(BinaryOp::Or),
            "xor" => Some(BinaryOp::Xor),
            _ => None,
        };
        if let Some(op) = logic {
            let b = self.source(inst, 1, w)?;
            return Some(self.arena.binary(op, a, b));
        }
        Some(match name {
            "not" => self.arena.not(a),
            "cnot" => {
                let zero = self.arena.constant(0, w);
                let is_zero = self.arena.equal(a, zero);
                self.arena.zero_extend(is_zero, w)
            }
            "popc" | "clz" => {
                let op =
                    if name == "popc" { UnaryOp::PopulationCount } else { UnaryOp::LeadingZeros };
                let count = self.arena.unary(op, a);
                self.arena.resize(count, 32)
            }
            "brev" => self.arena.unary(UnaryOp::Reverse, a),
            "bfind" => self.bfind(inst, a, ty),
            "shl" | "shr" => return self.shift(inst, a, ty),
            "bfe" => return self.bfe(inst, a, ty),
            "szext" => return self.szext(inst, a, ty),
            _ => return None,
        })
    }

    /// Shift amounts are 32-bit values; from the width on everything is shifted out ("shl", "shr").
    fn shift(&mut self, inst: &Inst<'_, 's>, a: TermId, ty: ScalarType) -> Option<TermId> {
        let w = ty.bits() as u8;
        let amount = self.source(inst, 1, 32)?;
        // In at least 32 bits no amount is cut off; a 16-bit operand is extended by its sign.
        let wide = w.max(32);
        let amount = self.arena.zero_extend(amount, wide);
        let op = match (inst.ast.mnemonic(), ty.is_signed()) {
            ("shl", _) => BinaryOp::ShiftLeft,
            (_, true) => BinaryOp::ArithmeticShiftRight,
            (_, false) => BinaryOp::ShiftRight,
        };
        let a = if ty.is_signed() {
            self.arena.sign_extend(a, wide)
        } else {
            self.arena.zero_extend(a, wide)
        };
        let shifted = self.arena.binary(op, a, amount);
        Some(self.arena.extract(shifted, 0, w))
    }

    /// `shf.{l,r}.{clamp,wrap}.b32`: 32 bits out of a shifted 64-bit value.
    fn funnel_shift(&mut self, inst: &Inst<'_, 's>) -> Option<TermId> {
        let (low, high) = (self.source(inst, 0, 32)?, self.source(inst, 1, 32)?);
        let amount = self.source(inst, 2, 32)?;
        let amount = if inst.ast.has("wrap") {
            self.arena.and_constant(amount, 31)
        } else {
            let limit = self.arena.constant(32, 32);
            let beyond = self.arena.compare(Comparison::UnsignedLess, limit, amount);
            self.arena.if_then_else(beyond, limit, amount)
        };
        let amount = self.arena.zero_extend(amount, 64);
        let both = self.arena.concatenate(high, low);
        let left = inst.ast.has("l");
        let op = if left { BinaryOp::ShiftLeft } else { BinaryOp::ShiftRight };
        let shifted = self.arena.binary(op, both, amount);
        Some(self.arena.extract(shifted, if left { 32 } else { 0 }, 32))
    }

    /// Any logical function of three operands by its truth table: bit `4a + 2b + c` of the table is
    /// the function's value.
    fn lop3(&mut self, inst: &Inst<'_, 's>) -> Option<TermId> {
        // With a predicate destination there is another operand in front.
        if inst.args.len() != 5 {
            return None;
        }
        let table = self.source(inst, 3, 8)?;
        let table = self.arena.constant_value(table)?;
        let operands =
            [self.source(inst, 0, 32)?, self.source(inst, 1, 32)?, self.source(inst, 2, 32)?];
        Some(self.truth_table(&operands, table))
    }

    fn truth_table(&mut self, operands: &[TermId], table: u64) -> TermId {
        let Some((&first, rest)) = operands.split_first() else {
            return self.arena.constant(if table & 1 == 1 { u64::MAX } else { 0 }, 32);
        };
        let half = 1 << rest.len();
        let mask = (1 << half) - 1;
        let (without, with) = (table & mask, table >> half & mask);
        let negated = self.arena.not(first);
        let inverse = without == !with & mask;
        let (off, on) = (self.truth_table(rest, without), self.truth_table(rest, with));
        if off == on {
            return off;
        }
        if inverse {
            return self.arena.xor(first, off);
        }
        let on = self.arena.and(first, on);
        let off = self.arena.and(negated, off);
        self.arena.or(on, off)
    }

    /// `bfe`: a field of up to `w` bits, extended by its sign bit or zeros. Exact for constant
    /// position and length; bits beyond the operand are copies of the sign (or zero).
    fn bfe(&mut self, inst: &Inst<'_, 's>, a: TermId, ty: ScalarType) -> Option<TermId> {
        let w = ty.bits() as u8;
        let (position, length) = (self.source(inst, 1, 32)?, self.source(inst, 2, 32)?);
        let position = (self.arena.constant_value(position)? & 255).min(u64::from(w)) as u8;
        let length = (self.arena.constant_value(length)? & 255).min(u64::from(w)) as u8;
        if length == 0 {
            return Some(self.arena.constant(0, w));
        }
        let signed = ty.is_signed();
        let available = w - position;
        if available == 0 {
            // The field lies beyond the operand: its bits are the sign.
            let sign = self.arena.extract(a, w - 1, 1);
            return Some(if signed {
                self.arena.sign_extend(sign, w)
            } else {
                self.arena.constant(0, w)
            });
        }
        let field = self.arena.extract(a, position, length.min(available));
        Some(if signed {
            self.arena.sign_extend(field, w)
        } else {
            self.arena.zero_extend(field, w)
        })
    }

    /// `bfi f, a, b, c, d`: the low `d` bits of `a` put into `b` from bit `c` on.
    fn bfi(&mut self, inst: &Inst<'_, 's>, w: u8) -> Option<TermId> {
        let (a, b) = (self.source(inst, 0, w)?, self.source(inst, 1, w)?);
        let (position, length) = (self.source(inst, 2, 32)?, self.source(inst, 3, 32)?);
        let position = self.arena.constant_value(position)? & 255;
        let length = self.arena.constant_value(length)? & 255;
        if position >= u64::from(w) || length == 0 {
            return Some(b);
        }
        let length = length.min(u64::from(w) - position);
        let field = crate::expr::mask(length as u8) << position;
        let moved = self.arena.scale(a, 1 << position);
        let inserted = self.arena.and_constant(moved, field);
        let kept = self.arena.and_constant(b, !field);
        Some(self.arena.or(inserted, kept))
    }

    /// `bmsk.{clamp,wrap} d, a, b`: `b` one bits from bit `a` on.
    fn bmsk(&mut self, inst: &Inst<'_, 's>) -> Option<TermId> {
        let (a, b) = (self.source(inst, 0, 32)?, self.source(inst, 1, 32)?);
        let (a, b) = if inst.ast.has("wrap") {
            (self.arena.and_constant(a, 31), self.arena.and_constant(b, 31))
        } else {
            (a, b)
        };
        let one = self.arena.constant(1, 64);
        let count = self.clamped_amount(b);
        let power = self.arena.binary(BinaryOp::ShiftLeft, one, count);
        let ones = self.arena.sub(power, one);
        let position = self.clamped_amount(a);
        let moved = self.arena.binary(BinaryOp::ShiftLeft, ones, position);
        Some(self.arena.extract(moved, 0, 32))
    }

    /// A 32-bit amount, at most 32, as 64 bits.
    fn clamped_amount(&mut self, amount: TermId) -> TermId {
        let limit = self.arena.constant(32, 32);
        let beyond = self.arena.compare(Comparison::UnsignedLess, limit, amount);
        let amount = self.arena.if_then_else(beyond, limit, amount);
        self.arena.zero_extend(amount, 64)
    }

    /// `szext.{clamp,wrap}.{u32,s32} d, a, b`: the low `b` bits of `a`, extended.
    fn szext(&mut self, inst: &Inst<'_, 's>, a: TermId, ty: ScalarType) -> Option<TermId> {
        let length = self.source(inst, 1, 32)?;
        let length = self.arena.constant_value(length)?;
        let length = if inst.ast.has("wrap") { length & 31 } else { length.min(32) } as u8;
        if length == 0 {
            return Some(self.arena.constant(0, 32));
        }
        let field = self.arena.extract(a, 0, length);
        Some(if ty.is_signed() {
            self.arena.sign_extend(field, 32)
        } else {
            self.arena.zero_extend(field, 32)
        })
    }

    /// `bfind`: the position of the highest bit that differs from the sign (signed) or is one
    /// (unsigned), counted from the bottom or, with `.shiftamt`, from the top; all ones if none.
    fn bfind(&mut self, inst: &Inst<'_, 's>, a: TermId, ty: ScalarType) -> TermId {
        let w = self.arena.width(a);
        let a = if ty.is_signed() {
            let zero = self.arena.constant(0, w);
            let negative = self.arena.compare(Comparison::SignedLess, a, zero);
            let complement = self.arena.not(a);
            self.arena.if_then_else(negative, complement, a)
        } else {
            a
        };
        let leading = self.arena.unary(UnaryOp::LeadingZeros, a);
        let leading = self.arena.resize(leading, 32);
        let found = if inst.ast.has("shiftamt") {
            leading
        } else {
            let top = self.arena.constant(u64::from(w) - 1, 32);
            self.arena.sub(top, leading)
        };
        let zero = self.arena.constant(0, w);
        let none = self.arena.equal(a, zero);
        let all = self.arena.constant(u64::MAX, 32);
        self.arena.if_then_else(none, all, found)
    }
}
