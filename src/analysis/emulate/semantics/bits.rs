//! Counting, finding, extracting and inserting bits (PTX ISA, "Integer Arithmetic Instructions").
//!
//! Positions and lengths that are constants keep the terms small (an extraction, a sum); any others
//! become shifts by a term.

use super::logic::bounded_amount;
use super::terms::extend;
use super::values::Values;
use crate::emulate::symbols::Function;
use crate::expr::{Arena, BinaryOp, Comparison, TermId, UnaryOp, mask};
use crate::isa::{Form, Opcode, Qualifier};
use crate::ptx::ScalarType;

/// `popc`, `clz`, `brev`, `bfind`.
pub(super) fn count_or_find(
    values: &mut Values<'_>,
    form: &Form,
    ty: ScalarType,
) -> Option<TermId> {
    let a = values.source(0, ty.bits() as u8)?;
    let arena = &mut *values.arena;
    let op = match form.opcode {
        Opcode::Popc => UnaryOp::PopulationCount,
        Opcode::Clz => UnaryOp::LeadingZeros,
        Opcode::Brev => return Some(arena.unary(UnaryOp::Reverse, a)),
        Opcode::Bfind => return Some(bfind(arena, form, a, ty)),
        _ => return None,
    };
    let count = arena.unary(op, a);
    Some(arena.resize(count, 32))
}

/// `bfe`, `bfi`, `bmsk`, `szext`.
pub(super) fn field(values: &mut Values<'_>, form: &Form, ty: ScalarType) -> Option<TermId> {
    match form.opcode {
        Opcode::Bfe => bfe(values, ty),
        Opcode::Bfi => bfi(values, ty.bits() as u8),
        Opcode::Bmsk => bmsk(values, form),
        Opcode::Szext => szext(values, form, ty),
        _ => None,
    }
}

/// `bfe d, a, b, c`: the field of `c` bits from bit `b` of `a` on, extended by its sign bit or
/// zeros; bits beyond the operand are copies of the sign (or zero).
fn bfe(values: &mut Values<'_>, ty: ScalarType) -> Option<TermId> {
    let w = ty.bits() as u8;
    let signed = ty.is_signed();
    let a = values.source(0, w)?;
    let (position, length) = (low_byte(values, 1, w)?, low_byte(values, 2, w)?);
    let arena = &mut *values.arena;
    // The field moved to the bottom; from the width on only the sign is left.
    let moved = match arena.constant_value(position) {
        Some(position) if position < u64::from(w) => {
            let field = arena.extract(a, position as u8, w - position as u8);
            extend(arena, field, w, signed)
        }
        _ => {
            let op = if signed { BinaryOp::ArithmeticShiftRight } else { BinaryOp::ShiftRight };
            arena.binary(op, a, position)
        }
    };
    let field = low_field(arena, moved, length, signed);
    within_a_byte(values, [1, 2], field)
}

/// Positions and lengths "are restricted to the 8-bit value range 0..255". For 32-bit operands
/// ptxas takes them modulo 256; for 64-bit ones it does so here and not there, so beyond 255 the
/// result is some function of the operands.
fn within_a_byte(values: &mut Values<'_>, amounts: [usize; 2], defined: TermId) -> Option<TermId> {
    let w = values.arena.width(defined);
    let limit = values.arena.constant(255, 32);
    let mut within = values.arena.boolean(true);
    for index in amounts {
        let amount = values.source(index, 32)?;
        let fits = values.arena.compare(Comparison::UnsignedLessEqual, amount, limit);
        within = values.arena.and(within, fits);
    }
    if w == 32 || values.arena.constant_value(within) == Some(1) {
        return Some(defined);
    }
    let unspecified = values.uninterpreted(w)?;
    Some(values.arena.if_then_else(within, defined, unspecified))
}

/// An operand whose value the manual takes modulo 256, in `width` bits.
fn low_byte(values: &mut Values<'_>, index: usize, width: u8) -> Option<TermId> {
    let value = values.source(index, 32)?;
    let byte = values.arena.extract(value, 0, 8);
    Some(values.arena.zero_extend(byte, width))
}

/// The low `length` bits of a term, extended by the highest of them or zeros: all of it from the
/// width on, 0 for none.
fn low_field(arena: &mut Arena, term: TermId, length: TermId, signed: bool) -> TermId {
    let w = arena.width(term);
    if let Some(length) = arena.constant_value(length) {
        if length == 0 {
            return arena.constant(0, w);
        }
        let field = arena.extract(term, 0, length.min(u64::from(w)) as u8);
        return extend(arena, field, w, signed);
    }
    if !signed {
        let ones = ones(arena, length);
        return arena.and(term, ones);
    }
    let zero = arena.constant(0, w);
    let width = arena.constant(u64::from(w), w);
    let whole = arena.compare(Comparison::UnsignedLessEqual, width, length);
    let unused = arena.sub(width, length);
    let up = arena.binary(BinaryOp::ShiftLeft, term, unused);
    let down = arena.binary(BinaryOp::ArithmeticShiftRight, up, unused);
    let field = arena.if_then_else(whole, term, down);
    let none = arena.equal(length, zero);
    arena.if_then_else(none, zero, field)
}

/// `length` one bits at the bottom, all from the width on.
fn ones(arena: &mut Arena, length: TermId) -> TermId {
    let one = arena.constant(1, arena.width(length));
    let power = arena.binary(BinaryOp::ShiftLeft, one, length);
    arena.sub(power, one)
}

/// `bfi f, a, b, c, d`: the low `d` bits of `a` put into `b` from bit `c` on.
fn bfi(values: &mut Values<'_>, w: u8) -> Option<TermId> {
    let (a, b) = (values.source(0, w)?, values.source(1, w)?);
    let (position, length) = (low_byte(values, 2, w)?, low_byte(values, 3, w)?);
    let arena = &mut *values.arena;
    let constants = (arena.constant_value(position), arena.constant_value(length));
    let (moved, field, outside) = if let (Some(position), Some(length)) = constants {
        let room = u64::from(w).saturating_sub(position);
        let field = match length.min(room) {
            0 => 0,
            length => mask(length as u8) << position,
        };
        let moved = arena.scale(a, 1u64.checked_shl(position as u32).unwrap_or(0));
        (moved, arena.constant(field, w), arena.constant(!field, w))
    } else {
        let ones = ones(arena, length);
        let field = arena.binary(BinaryOp::ShiftLeft, ones, position);
        let moved = arena.binary(BinaryOp::ShiftLeft, a, position);
        (moved, field, arena.not(field))
    };
    let inserted = arena.and(moved, field);
    let kept = arena.and(b, outside);
    let merged = arena.or(inserted, kept);
    within_a_byte(values, [2, 3], merged)
}

/// `bmsk.{clamp,wrap} d, a, b`: `b` one bits from bit `a` on.
fn bmsk(values: &mut Values<'_>, form: &Form) -> Option<TermId> {
    let (a, b) = (values.source(0, 32)?, values.source(1, 32)?);
    let arena = &mut *values.arena;
    let (a, b) = (bounded_amount(arena, form, a), bounded_amount(arena, form, b));
    // 64 bits, so that 32 ones can be shifted by 32.
    let (position, length) = (arena.zero_extend(a, 64), arena.zero_extend(b, 64));
    let ones = ones(arena, length);
    let moved = arena.binary(BinaryOp::ShiftLeft, ones, position);
    Some(arena.extract(moved, 0, 32))
}

/// `szext.{clamp,wrap}.{u32,s32} d, a, b`: the low `b` bits of `a`, extended.
fn szext(values: &mut Values<'_>, form: &Form, ty: ScalarType) -> Option<TermId> {
    let (a, length) = (values.source(0, ty.bits() as u8)?, values.source(1, 32)?);
    let length = bounded_amount(values.arena, form, length);
    Some(low_field(values.arena, a, length, ty.is_signed()))
}

/// `bfind`: the position of the highest bit that differs from the sign (signed) or is one
/// (unsigned), counted from the bottom or, with `.shiftamt`, from the top; all ones if none.
fn bfind(arena: &mut Arena, form: &Form, a: TermId, ty: ScalarType) -> TermId {
    let w = arena.width(a);
    let zero = arena.constant(0, w);
    let a = if ty.is_signed() {
        let negative = arena.compare(Comparison::SignedLess, a, zero);
        let complement = arena.not(a);
        arena.if_then_else(negative, complement, a)
    } else {
        a
    };
    let leading = arena.unary(UnaryOp::LeadingZeros, a);
    let leading = arena.resize(leading, 32);
    let found = if form.has(Qualifier::Shiftamt) {
        leading
    } else {
        let top = arena.constant(u64::from(w) - 1, 32);
        arena.sub(top, leading)
    };
    let none = arena.equal(a, zero);
    let all = arena.constant(u64::MAX, 32);
    arena.if_then_else(none, all, found)
}

/// `fns d, mask, base, offset`: the position of the `offset`-th one bit of `mask`, counted
/// upwards from `base`, downwards for a negative offset, all ones if there is none; offset 0 asks
/// for the bit at `base` itself. A base above 31 is undefined: some function of the operands.
pub(super) fn fns(values: &mut Values<'_>) -> Option<TermId> {
    let (bits, base) = (values.source(0, 32)?, values.source(1, 32)?);
    let offset = values.source(2, 32)?;
    let arena = &mut *values.arena;
    let zero = arena.constant(0, 32);
    let none = arena.constant(u64::MAX, 32);

    let above = arena.binary(BinaryOp::ShiftRight, bits, base);
    let here = arena.extract(above, 0, 1);
    let itself = arena.if_then_else(here, base, none);

    let up = nth_one(arena, above, offset);
    let up = found(arena, up, |arena, distance| arena.add(base, distance));

    // Downwards is upwards in the reversed word.
    let reversed = arena.unary(UnaryOp::Reverse, bits);
    let top = arena.constant(31, 32);
    let from_top = arena.sub(top, base);
    let below = arena.binary(BinaryOp::ShiftRight, reversed, from_top);
    let count = arena.neg(offset);
    let down = nth_one(arena, below, count);
    let down = found(arena, down, |arena, distance| arena.sub(base, distance));

    let negative = arena.compare(Comparison::SignedLess, offset, zero);
    let moved = arena.if_then_else(negative, down, up);
    let stays = arena.equal(offset, zero);
    let defined = arena.if_then_else(stays, itself, moved);
    let function = values.symbols.function(Function::NthBitBeyondWord);
    let unspecified = arena.apply(function, &[bits, base, offset], 32);
    let within = arena.compare(Comparison::UnsignedLessEqual, base, top);
    Some(arena.if_then_else(within, defined, unspecified))
}

/// The position of the `count`-th one bit of a 32-bit word, from 1 and from the bottom; all ones
/// if there is none.
fn nth_one(arena: &mut Arena, word: TermId, count: TermId) -> TermId {
    let mut position = arena.constant(u64::MAX, 32);
    for index in (0..32u8).rev() {
        let here = arena.extract(word, index, 1);
        let low = arena.extract(word, 0, index + 1);
        let low = arena.zero_extend(low, 32);
        let ones = arena.unary(UnaryOp::PopulationCount, low);
        let reached = arena.equal(ones, count);
        let is_it = arena.and(here, reached);
        let this = arena.constant(u64::from(index), 32);
        position = arena.if_then_else(is_it, this, position);
    }
    position
}

/// All ones stay; any other distance becomes a position.
fn found(
    arena: &mut Arena,
    distance: TermId,
    position: impl FnOnce(&mut Arena, TermId) -> TermId,
) -> TermId {
    let none = arena.constant(u64::MAX, 32);
    let missing = arena.equal(distance, none);
    let position = position(arena, distance);
    arena.if_then_else(missing, none, position)
}
