//! Products (PTX ISA, "Integer Arithmetic Instructions": `mul`, `mad`, `mul24`, `mad24`, `dp4a`,
//! `dp2a`, and `mad.cc`, `madc`).

use super::carry::add_with_carry;
use super::terms::{clamp_to, extend};
use super::values::Values;
use crate::expr::{Arena, BinaryOp, TermId};
use crate::isa::{Form, Opcode, Qualifier};
use crate::ptx::ScalarType;

/// `mul`, `mad`, `madc`, `mul24`, `mad24`.
pub(super) fn multiply(values: &mut Values<'_>, form: &Form, ty: ScalarType) -> Option<TermId> {
    let name = form.opcode;
    let w = ty.bits() as u8;
    let (a, b) = (values.source(0, w)?, values.source(1, w)?);
    let product = product(values.arena, form, a, b, ty)?;
    if !matches!(name, Opcode::Mad | Opcode::Madc | Opcode::Mad24) {
        return Some(product);
    }
    let c = values.source(2, values.arena.width(product))?;
    if form.has(Qualifier::Sat) {
        // Only `.hi.sat.s32` exists.
        if ty != ScalarType::S32 || !form.has(Qualifier::Hi) {
            return None;
        }
        let arena = &mut *values.arena;
        let (product, c) = (arena.sign_extend(product, 64), arena.sign_extend(c, 64));
        let sum = arena.add(product, c);
        let clamped = clamp_to(arena, sum, 32, true);
        return Some(arena.extract(clamped, 0, 32));
    }
    let carry = match (name, values.carry) {
        (Opcode::Madc, Some(carry)) => Some(carry),
        (Opcode::Madc, None) => return None,
        _ => None,
    };
    if carry.is_none() && !form.has(Qualifier::Cc) {
        return Some(values.arena.add(product, c));
    }
    let (sum, out) = add_with_carry(values.arena, product, c, carry);
    if form.has(Qualifier::Cc) {
        values.carry = Some(out);
    }
    Some(sum)
}

/// The part of the product that the mode asks for, the low one without a mode.
fn product(arena: &mut Arena, form: &Form, a: TermId, b: TermId, ty: ScalarType) -> Option<TermId> {
    let w = ty.bits() as u8;
    let signed = ty.is_signed();
    if matches!(form.opcode, Opcode::Mul24 | Opcode::Mad24) {
        let (a, b) = (arena.extract(a, 0, 24), arena.extract(b, 0, 24));
        let (a, b) = (extend(arena, a, 48, signed), extend(arena, b, 48, signed));
        let product = arena.mul(a, b);
        let low = if form.has(Qualifier::Hi) { 16 } else { 0 };
        return Some(arena.extract(product, low, 32));
    }
    if form.has(Qualifier::Wide) {
        if w > 32 {
            return None;
        }
        let (a, b) = (extend(arena, a, 2 * w, signed), extend(arena, b, 2 * w, signed));
        return Some(arena.mul(a, b));
    }
    if !form.has(Qualifier::Hi) {
        return Some(arena.mul(a, b));
    }
    if w <= 32 {
        let (a, b) = (extend(arena, a, 2 * w, signed), extend(arena, b, 2 * w, signed));
        let product = arena.mul(a, b);
        return Some(arena.extract(product, w, w));
    }
    let op = if signed { BinaryOp::SignedMultiplyHigh } else { BinaryOp::UnsignedMultiplyHigh };
    Some(arena.binary(op, a, b))
}

/// `dp4a`, `dp2a`: four (two) products of bytes (halves and bytes) added up.
pub(super) fn dot_product(values: &mut Values<'_>, form: &Form) -> Option<TermId> {
    let types = form.types();
    let [a_type, b_type] = types[..] else { return None };
    let (a, b) = (values.source(0, 32)?, values.source(1, 32)?);
    let mut sum = values.source(2, 32)?;
    let arena = &mut *values.arena;
    let four = form.opcode == Opcode::Dp4a;
    let (count, a_bits) = if four { (4, 8) } else { (2, 16) };
    let first_byte = if form.has(Qualifier::Hi) { 2 } else { 0 };
    for index in 0..count {
        let x = arena.extract(a, index * a_bits, a_bits);
        let y = arena.extract(b, (index + first_byte) * 8, 8);
        let x = extend(arena, x, 32, a_type.is_signed());
        let y = extend(arena, y, 32, b_type.is_signed());
        let product = arena.mul(x, y);
        sum = arena.add(sum, product);
    }
    Some(sum)
}
