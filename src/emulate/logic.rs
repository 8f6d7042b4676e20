//! Logic and shifts (PTX ISA, "Logic and Shift Instructions").

use super::machine::Machine;
use crate::cfg::{Arg, Inst};
use crate::expr::{BinaryOp, Comparison, TermId};
use crate::isa::{Opcode, Qualifier};
use crate::ptx::ScalarType;

impl<'s> Machine<'_, '_, 's> {
    /// `and`, `or`, `xor`, `not`, `cnot`, `lop3`, `shl`, `shr`, `shf`.
    pub(super) fn logic(&mut self, inst: &Inst<'_, 's>, ty: ScalarType) -> Option<TermId> {
        let w = ty.bits() as u8;
        let name = inst.ast.form.opcode;
        match name {
            Opcode::Lop3 => return self.lop3(inst),
            Opcode::Shf => return self.funnel_shift(inst),
            _ => {}
        }
        let a = self.source(inst, 0, w)?;
        let op = match name {
            Opcode::And => BinaryOp::And,
            Opcode::Or => BinaryOp::Or,
            Opcode::Xor => BinaryOp::Xor,
            Opcode::Not => return Some(self.arena.not(a)),
            Opcode::Cnot => {
                let zero = self.arena.constant(0, w);
                let is_zero = self.arena.equal(a, zero);
                return Some(self.arena.zero_extend(is_zero, w));
            }
            Opcode::Shl | Opcode::Shr => return self.shift(inst, a, ty),
            _ => return None,
        };
        let b = self.source(inst, 1, w)?;
        Some(self.arena.binary(op, a, b))
    }

    /// Shift amounts are unsigned 32-bit values; from the width on everything is shifted out
    /// ("shl", "shr").
    fn shift(&mut self, inst: &Inst<'_, 's>, a: TermId, ty: ScalarType) -> Option<TermId> {
        let w = ty.bits() as u8;
        let amount = self.source(inst, 1, 32)?;
        // In at least 32 bits no amount is cut off; a 16-bit operand is extended by its sign.
        let wide = w.max(32);
        let amount = self.arena.zero_extend(amount, wide);
        let op = match (inst.ast.form.opcode, ty.is_signed()) {
            (Opcode::Shl, _) => BinaryOp::ShiftLeft,
            (_, true) => BinaryOp::ArithmeticShiftRight,
            (_, false) => BinaryOp::ShiftRight,
        };
        let a = self.extend(a, wide, ty.is_signed());
        let shifted = self.arena.binary(op, a, amount);
        Some(self.arena.extract(shifted, 0, w))
    }

    /// `shf.{l,r}.{clamp,wrap}.b32`: 32 bits out of a shifted 64-bit value.
    fn funnel_shift(&mut self, inst: &Inst<'_, 's>) -> Option<TermId> {
        let (low, high) = (self.source(inst, 0, 32)?, self.source(inst, 1, 32)?);
        let amount = self.source(inst, 2, 32)?;
        let amount = self.bounded_amount(inst, amount);
        let amount = self.arena.zero_extend(amount, 64);
        let both = self.arena.concatenate(high, low);
        let left = inst.ast.form.has(Qualifier::L);
        let op = if left { BinaryOp::ShiftLeft } else { BinaryOp::ShiftRight };
        let shifted = self.arena.binary(op, both, amount);
        Some(self.arena.extract(shifted, if left { 32 } else { 0 }, 32))
    }

    /// A 32-bit amount: modulo 32 with `.wrap`, at most 32 otherwise (`.clamp`).
    pub(super) fn bounded_amount(&mut self, inst: &Inst<'_, 's>, amount: TermId) -> TermId {
        if inst.ast.form.has(Qualifier::Wrap) {
            return self.arena.and_constant(amount, 31);
        }
        let limit = self.arena.constant(32, 32);
        let beyond = self.arena.compare(Comparison::UnsignedLess, limit, amount);
        self.arena.if_then_else(beyond, limit, amount)
    }

    /// Any logical function of three operands by its truth table: bit `4a + 2b + c` of the table is
    /// the function's value.
    fn lop3(&mut self, inst: &Inst<'_, 's>) -> Option<TermId> {
        let table = self.source(inst, 3, 8)?;
        let table = self.arena.constant_value(table)?;
        let operands =
            [self.source(inst, 0, 32)?, self.source(inst, 1, 32)?, self.source(inst, 2, 32)?];
        Some(self.truth_table(&operands, table))
    }

    /// `lop3.{and,or}.b32 d|p, a, b, c, table, q`: `p` is `d != 0` combined with `q`. True if it was
    /// emulated.
    pub(super) fn lop3_with_predicate(
        &mut self,
        inst: &Inst<'_, 's>,
        guard: Option<TermId>,
    ) -> bool {
        let (Some(Arg::Pair(pair)), Some(q)) = (inst.args.first(), inst.args.get(5)) else {
            return false;
        };
        let (Some(value), Some(q)) = (self.lop3(inst), self.predicate(q)) else { return false };
        let zero = self.arena.constant(0, 32);
        let is_zero = self.arena.equal(value, zero);
        let some = self.arena.not(is_zero);
        let p = if inst.ast.form.has(Qualifier::And) {
            self.arena.and(some, q)
        } else {
            self.arena.or(some, q)
        };
        self.set(&pair[0], value, ScalarType::B32, guard);
        self.set(&pair[1], p, ScalarType::Pred, guard);
        true
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
}
