//! Additions and subtractions with the carry flag (PTX ISA, "Extended-Precision Integer Arithmetic
//! Instructions"), and those that saturate.
//!
//! The flag is the carry out of an addition, and the inverse of the borrow out of a subtraction: the
//! manual leaves open what an addition finds in it behind a subtraction, and in the machine code that
//! ptxas makes `a - b` is `a + ~b + 1`.

use super::terms::clamp_to;
use super::values::Values;
use crate::expr::{Arena, Comparison, TermId};
use crate::isa::{Form, Opcode, Qualifier};
use crate::ptx::ScalarType;

/// `add`, `addc`, `sub`, `subc` of two values of the instruction's type.
pub(super) fn add_or_subtract(
    values: &mut Values<'_>,
    form: &Form,
    a: TermId,
    b: TermId,
    ty: ScalarType,
) -> Option<TermId> {
    let subtracts = matches!(form.opcode, Opcode::Sub | Opcode::Subc);
    if form.has(Qualifier::Sat) {
        return saturated(values.arena, a, b, subtracts, ty);
    }
    let with_flag = matches!(form.opcode, Opcode::Addc | Opcode::Subc);
    let carry = match (with_flag, values.carry) {
        (false, _) => None,
        (true, Some(carry)) => Some(carry),
        (true, None) => return None,
    };
    let (result, out) = if subtracts {
        let borrow = carry.map(|carry| values.arena.not(carry));
        let (result, borrow) = subtract_with_borrow(values.arena, a, b, borrow);
        (result, values.arena.not(borrow))
    } else {
        add_with_carry(values.arena, a, b, carry)
    };
    if form.has(Qualifier::Cc) {
        values.carry = Some(out);
    }
    Some(result)
}

/// `a + b + carry` and the carry out.
pub(super) fn add_with_carry(
    arena: &mut Arena,
    a: TermId,
    b: TermId,
    carry: Option<TermId>,
) -> (TermId, TermId) {
    let plain = arena.add(a, b);
    let first = arena.compare(Comparison::UnsignedLess, plain, a);
    let Some(carry) = carry else { return (plain, first) };
    let carry = arena.zero_extend(carry, arena.width(a));
    let result = arena.add(plain, carry);
    let second = arena.compare(Comparison::UnsignedLess, result, plain);
    (result, arena.or(first, second))
}

/// `a - (b + borrow)` and the borrow out.
fn subtract_with_borrow(
    arena: &mut Arena,
    a: TermId,
    b: TermId,
    borrow: Option<TermId>,
) -> (TermId, TermId) {
    let plain = arena.sub(a, b);
    let first = arena.compare(Comparison::UnsignedLess, a, b);
    let Some(borrow) = borrow else { return (plain, first) };
    let borrow = arena.zero_extend(borrow, arena.width(a));
    let result = arena.sub(plain, borrow);
    let second = arena.compare(Comparison::UnsignedLess, plain, borrow);
    (result, arena.or(first, second))
}

/// `add.sat.s32`, `sub.sat.s32`: clamped to the range of the type.
fn saturated(
    arena: &mut Arena,
    a: TermId,
    b: TermId,
    subtracts: bool,
    ty: ScalarType,
) -> Option<TermId> {
    if ty != ScalarType::S32 {
        return None;
    }
    let (a, b) = (arena.sign_extend(a, 64), arena.sign_extend(b, 64));
    let exact = if subtracts { arena.sub(a, b) } else { arena.add(a, b) };
    let clamped = clamp_to(arena, exact, 32, true);
    Some(arena.extract(clamped, 0, 32))
}
