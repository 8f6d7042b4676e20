//! Logic and shifts (PTX ISA, "Logic and Shift Instructions").

use smallvec::smallvec;

use super::terms::extend;
use super::values::{Destination, Results, Values};
use crate::expr::{Arena, BinaryOp, Comparison, TermId};
use crate::isa::{Form, Opcode, Qualifier};
use crate::ptx::ScalarType;

/// `and`, `or`, `xor`, `not`, `cnot`.
pub(super) fn logic(values: &mut Values<'_>, form: &Form, ty: ScalarType) -> Option<TermId> {
    let w = ty.bits() as u8;
    let a = values.source(0, w)?;
    let op = match form.opcode {
        Opcode::And => BinaryOp::And,
        Opcode::Or => BinaryOp::Or,
        Opcode::Xor => BinaryOp::Xor,
        Opcode::Not => return Some(values.arena.not(a)),
        Opcode::Cnot => {
            let zero = values.arena.constant(0, w);
            let is_zero = values.arena.equal(a, zero);
            return Some(values.arena.zero_extend(is_zero, w));
        }
        _ => return None,
    };
    let b = values.source(1, w)?;
    Some(values.arena.binary(op, a, b))
}

/// `shl`, `shr`: amounts are unsigned 32-bit values; from the width on everything is shifted out.
pub(super) fn shift(values: &mut Values<'_>, form: &Form, ty: ScalarType) -> Option<TermId> {
    let w = ty.bits() as u8;
    let (a, amount) = (values.source(0, w)?, values.source(1, 32)?);
    let arena = &mut *values.arena;
    // In at least 32 bits no amount is cut off; a 16-bit operand is extended by its sign.
    let wide = w.max(32);
    let amount = arena.zero_extend(amount, wide);
    let op = match (form.opcode, ty.is_signed()) {
        (Opcode::Shl, _) => BinaryOp::ShiftLeft,
        (_, true) => BinaryOp::ArithmeticShiftRight,
        (_, false) => BinaryOp::ShiftRight,
    };
    let a = extend(arena, a, wide, ty.is_signed());
    let shifted = arena.binary(op, a, amount);
    Some(arena.extract(shifted, 0, w))
}

/// `shf.{l,r}.{clamp,wrap}.b32`: 32 bits out of a shifted 64-bit value.
pub(super) fn funnel_shift(values: &mut Values<'_>, form: &Form) -> Option<TermId> {
    let (low, high) = (values.source(0, 32)?, values.source(1, 32)?);
    let amount = values.source(2, 32)?;
    let arena = &mut *values.arena;
    let amount = bounded_amount(arena, form, amount);
    let amount = arena.zero_extend(amount, 64);
    let both = arena.concatenate(high, low);
    let left = form.has(Qualifier::L);
    let op = if left { BinaryOp::ShiftLeft } else { BinaryOp::ShiftRight };
    let shifted = arena.binary(op, both, amount);
    Some(arena.extract(shifted, if left { 32 } else { 0 }, 32))
}

/// A 32-bit amount: modulo 32 with `.wrap`, at most 32 otherwise (`.clamp`).
pub(super) fn bounded_amount(arena: &mut Arena, form: &Form, amount: TermId) -> TermId {
    if form.has(Qualifier::Wrap) {
        return arena.and_constant(amount, 31);
    }
    let limit = arena.constant(32, 32);
    let beyond = arena.compare(Comparison::UnsignedLess, limit, amount);
    arena.if_then_else(beyond, limit, amount)
}

/// Any logical function of three operands by its truth table: bit `4a + 2b + c` of the table is
/// the function's value.
pub(super) fn lop3(values: &mut Values<'_>) -> Option<TermId> {
    let table = values.source(3, 8)?;
    let table = values.arena.constant_value(table)?;
    let operands = [values.source(0, 32)?, values.source(1, 32)?, values.source(2, 32)?];
    Some(truth_table(values.arena, &operands, table))
}

/// `lop3.{and,or}.b32 d|p, a, b, c, table, q`: `p` is `d != 0` combined with `q`.
pub(super) fn lop3_with_predicate(values: &mut Values<'_>, form: &Form) -> Option<Results> {
    if values.destination != Destination::Pair || values.sources.len() < 5 {
        return None;
    }
    let (value, q) = (lop3(values)?, values.predicate(4)?);
    let arena = &mut *values.arena;
    let zero = arena.constant(0, 32);
    let is_zero = arena.equal(value, zero);
    let some = arena.not(is_zero);
    let p = if form.has(Qualifier::And) { arena.and(some, q) } else { arena.or(some, q) };
    Some(smallvec![(value, ScalarType::B32), (p, ScalarType::Pred)])
}

fn truth_table(arena: &mut Arena, operands: &[TermId], table: u64) -> TermId {
    let Some((&first, rest)) = operands.split_first() else {
        return arena.constant(if table & 1 == 1 { u64::MAX } else { 0 }, 32);
    };
    let half = 1 << rest.len();
    let mask = (1 << half) - 1;
    let (without, with) = (table & mask, table >> half & mask);
    let negated = arena.not(first);
    let inverse = without == !with & mask;
    let (off, on) = (truth_table(arena, rest, without), truth_table(arena, rest, with));
    if off == on {
        return off;
    }
    if inverse {
        return arena.xor(first, off);
    }
    let on = arena.and(first, on);
    let off = arena.and(negated, off);
    arena.or(on, off)
}
