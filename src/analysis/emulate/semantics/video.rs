//! Scalar video instructions (PTX ISA, "Scalar Video Instructions"): an operation on bytes, halves
//! or words, optionally saturated, then combined with or merged into a third operand.
//!
//! All intermediate values are kept in 64 bits, where the 34 bits of the manual fit.

use super::compare::ordered;
use super::logic::bounded_amount;
use super::operand::Part;
use super::terms::{absolute, choose, clamp_to, extend};
use super::values::{Destination, Values};
use crate::expr::{Arena, BinaryOp, Comparison, TermId, mask};
use crate::isa::{Form, Qualifier, Selector};
use crate::ptx::ScalarType;

/// The operation of a video instruction on each pair of elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::emulate) enum Operation {
    Add,
    Subtract,
    /// The absolute difference.
    Distance,
    Average,
    Least,
    Greatest,
    ShiftLeft,
    ShiftRight,
    Compare,
}

/// Types of the result and of the first two operands.
pub(super) fn types(form: &Form) -> Option<[ScalarType; 3]> {
    match form.types()[..] {
        [a, b] => Some([ScalarType::U32, a, b]),
        [d, a, b] => Some([d, a, b]),
        _ => None,
    }
}

/// The parts of the destination that are written; `None` for all of it.
pub(super) fn written(values: &Values<'_>) -> Option<Selector> {
    match values.destination {
        Destination::Part(selector) => selector,
        _ => None,
    }
}

/// An instruction on one element.
pub(super) fn scalar(values: &mut Values<'_>, form: &Form, operation: Operation) -> Option<TermId> {
    let [d_type, a_type, b_type] = types(form)?;
    let (a, b) = (values.part(0)?, values.part(1)?);
    if a.negated || b.negated {
        return None;
    }
    let a = scalar_part(values.arena, a, a_type.is_signed())?;
    let b = scalar_part(values.arena, b, b_type.is_signed())?;
    let mut result = match operation {
        Operation::ShiftLeft | Operation::ShiftRight if b_type.is_signed() => return None,
        Operation::ShiftLeft => shift(values.arena, form, BinaryOp::ShiftLeft, a, b),
        Operation::ShiftRight => shift(values.arena, form, BinaryOp::ArithmeticShiftRight, a, b),
        other => apply(values.arena, form, other, a, b)?,
    };
    if form.has(Qualifier::Sat) {
        let bits = written(values).map_or(32, |part| part.bits);
        result = clamp_to(values.arena, result, bits, d_type.is_signed());
    }
    combined(values, form, result, d_type.is_signed())
}

/// The result of the first operation combined with the third operand by a second one, or put into it.
fn combined(values: &mut Values<'_>, form: &Form, result: TermId, signed: bool) -> Option<TermId> {
    let merged = written(values);
    let second = form.qualifiers().find_map(|qualifier| match qualifier {
        Qualifier::Add => Some(Operation::Add),
        Qualifier::Min => Some(Operation::Least),
        Qualifier::Max => Some(Operation::Greatest),
        _ => None,
    });
    if values.sources.len() < 3 {
        let complete = merged.is_none() && second.is_none();
        return complete.then(|| values.arena.extract(result, 0, 32));
    }
    let c = values.source(2, 32)?;
    let arena = &mut *values.arena;
    match (second, merged) {
        (Some(operation), None) => {
            let c = extend(arena, c, 64, signed);
            let combined = apply(arena, form, operation, result, c)?;
            Some(arena.extract(combined, 0, 32))
        }
        (None, Some(part)) if part.count == 1 && part.parts[0] < 32 / part.bits => {
            let low = part.parts[0] * part.bits;
            let field = mask(part.bits) << low;
            let inserted = arena.extract(result, 0, 32);
            let inserted = arena.scale(inserted, 1 << low);
            let inserted = arena.and_constant(inserted, field);
            let kept = arena.and_constant(c, !field);
            Some(arena.or(inserted, kept))
        }
        _ => None,
    }
}

/// An operation on signed 64-bit values.
pub(super) fn apply(
    arena: &mut Arena,
    form: &Form,
    operation: Operation,
    a: TermId,
    b: TermId,
) -> Option<TermId> {
    Some(match operation {
        Operation::Add => arena.add(a, b),
        Operation::Subtract => arena.sub(a, b),
        Operation::Distance => {
            let difference = arena.sub(a, b);
            absolute(arena, difference)
        }
        Operation::Average => {
            // Half of the sum, rounded up where it is not negative and down where it is.
            let sum = arena.add(a, b);
            let zero = arena.constant(0, 64);
            let one = arena.constant(1, 64);
            let negative = arena.compare(Comparison::SignedLess, sum, zero);
            let above = arena.add_constant(sum, 1);
            let rounded = arena.if_then_else(negative, sum, above);
            arena.binary(BinaryOp::ArithmeticShiftRight, rounded, one)
        }
        Operation::Least => choose(arena, false, a, b, true),
        Operation::Greatest => choose(arena, true, a, b, true),
        Operation::Compare => {
            // 0 or 1.
            let name = form.first_of(Qualifier::COMPARISONS)?;
            let holds = ordered(arena, name, a, b, true)?;
            arena.zero_extend(holds, 64)
        }
        Operation::ShiftLeft | Operation::ShiftRight => return None,
    })
}

fn shift(arena: &mut Arena, form: &Form, op: BinaryOp, a: TermId, b: TermId) -> TermId {
    let amount = arena.extract(b, 0, 32);
    let amount = bounded_amount(arena, form, amount);
    let amount = arena.zero_extend(amount, 64);
    arena.binary(op, a, amount)
}

/// The selected byte, half or word, extended to 64 bits.
fn scalar_part(arena: &mut Arena, part: Part, signed: bool) -> Option<TermId> {
    let bits = match part.selector {
        None => part.whole,
        Some(Selector { bits, count: 1, parts }) if parts[0] < 32 / bits => {
            arena.extract(part.whole, parts[0] * bits, bits)
        }
        Some(_) => return None,
    };
    Some(extend(arena, bits, 64, signed))
}

/// `vmad`: `a * b + c`, one of the product and `c` negated, or one added; scaled, saturated.
pub(super) fn multiply(values: &mut Values<'_>, form: &Form) -> Option<TermId> {
    let [_, a_type, b_type] = types(form)?;
    let (a, b) = (values.part(0)?, values.part(1)?);
    let c = values.part(2)?;
    let negates = a.negated != b.negated;
    if c.selector.is_some() || written(values).is_some() || negates && c.negated {
        return None;
    }
    let any_signed = a_type.is_signed() || b_type.is_signed();
    let signed = any_signed || negates || c.negated;
    let arena = &mut *values.arena;
    let a = scalar_part(arena, a, a_type.is_signed())?;
    let b = scalar_part(arena, b, b_type.is_signed())?;
    let product = arena.mul(a, b);
    let product = if negates { arena.neg(product) } else { product };
    let addend = extend(arena, c.whole, 64, signed);
    let addend = if c.negated { arena.neg(addend) } else { addend };
    let mut result = arena.add(product, addend);
    if form.has(Qualifier::Po) {
        result = arena.add_constant(result, 1);
    }
    // The manual computes in 128 bits. The low 32 of the result need only 47 of them, but a value that
    // is to be saturated must be known whole: 64 bits do not hold minus an unsigned product.
    let saturates = form.has(Qualifier::Sat);
    if saturates && signed && !any_signed {
        return None;
    }
    let result = scaled(arena, form, result, signed);
    let result = match (saturates, signed) {
        (true, true) => clamp_to(arena, result, 32, true),
        (true, false) => {
            let top = arena.constant(mask(32), 64);
            choose(arena, false, result, top, false)
        }
        (false, _) => result,
    };
    Some(arena.extract(result, 0, 32))
}

/// `.shr7`, `.shr15`: the result shifted to the right by this number of bits.
fn scaled(arena: &mut Arena, form: &Form, result: TermId, signed: bool) -> TermId {
    let scale = match () {
        () if form.has(Qualifier::Shr7) => 7,
        () if form.has(Qualifier::Shr15) => 15,
        () => 0,
    };
    let amount = arena.constant(scale, 64);
    let op = if signed { BinaryOp::ArithmeticShiftRight } else { BinaryOp::ShiftRight };
    arena.binary(op, result, amount)
}
