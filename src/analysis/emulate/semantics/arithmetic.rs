//! Plain integer arithmetic (PTX ISA, "Integer Arithmetic Instructions").

use super::carry::add_or_subtract;
use super::terms::{absolute, at_least_zero, choose, less};
use super::values::Values;
use crate::emulate::symbols::Function;
use crate::expr::{Arena, BinaryOp, TermId};
use crate::isa::{Form, Opcode, Qualifier};
use crate::ptx::ScalarType;

/// `add`, `addc`, `sub`, `subc`, `sad`, `div`, `rem`, `abs`, `neg`, `min`, `max`.
pub(super) fn arithmetic(values: &mut Values<'_>, form: &Form, ty: ScalarType) -> Option<TermId> {
    let w = ty.bits() as u8;
    let signed = ty.is_signed();
    let name = form.opcode;
    let a = values.source(0, w)?;
    match name {
        Opcode::Neg => return Some(values.arena.neg(a)),
        Opcode::Abs => return Some(absolute(values.arena, a)),
        _ => {}
    }
    let b = values.source(1, w)?;
    match name {
        Opcode::Add | Opcode::Addc | Opcode::Sub | Opcode::Subc => {
            add_or_subtract(values, form, a, b, ty)
        }
        Opcode::Min | Opcode::Max => {
            let chosen = choose(values.arena, name == Opcode::Max, a, b, signed);
            Some(if form.has(Qualifier::Relu) {
                at_least_zero(values.arena, chosen)
            } else {
                chosen
            })
        }
        Opcode::Sad => {
            let distance = distance(values.arena, a, b, signed);
            let c = values.source(2, w)?;
            Some(values.arena.add(distance, c))
        }
        Opcode::Div | Opcode::Rem => Some(divide(values, name, a, b, signed)),
        _ => None,
    }
}

/// `|a - b|`, read as unsigned.
fn distance(arena: &mut Arena, a: TermId, b: TermId, signed: bool) -> TermId {
    let a_first = arena.compare(less(signed), a, b);
    let (up, down) = (arena.sub(b, a), arena.sub(a, b));
    arena.if_then_else(a_first, up, down)
}

/// The result of a division by zero is not specified ("div: Integer"): some function of the dividend.
fn divide(values: &mut Values<'_>, name: Opcode, a: TermId, b: TermId, signed: bool) -> TermId {
    let op = match (name, signed) {
        (Opcode::Div, true) => BinaryOp::SignedDivide,
        (Opcode::Div, false) => BinaryOp::UnsignedDivide,
        (_, true) => BinaryOp::SignedRemainder,
        (_, false) => BinaryOp::UnsignedRemainder,
    };
    let quotient = values.arena.binary(op, a, b);
    if values.arena.range(b).umin > 0 {
        return quotient;
    }
    let width = values.arena.width(a);
    let function = values.symbols.function(Function::ByZero { opcode: name, signed });
    let unspecified = values.arena.apply(function, &[a], width);
    let zero = values.arena.constant(0, width);
    let by_zero = values.arena.equal(b, zero);
    values.arena.if_then_else(by_zero, unspecified, quotient)
}
