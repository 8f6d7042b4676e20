//! The results of instructions without side effects, as functions of their form and their operands.
//!
//! In: [`Values`], which are an instruction's operands as they have been read and the arena in which
//! terms are made, and the decoded form. Out: a term for each register that the instruction writes, or
//! `None` where one of the operands has no value of the width that is wanted. Registers, blocks and
//! memory are the machine's and unknown here; nothing but the arena, the symbols and the carry flag in
//! [`Values`] is changed.
//!
//! One file per family of instructions; [`family`] says for every opcode which one it is. Terms
//! are exact for the forms that stand in the table of `emulate::forms`; whoever calls asks there first.

mod arithmetic;
mod bits;
mod carry;
mod compare;
mod family;
mod logic;
mod movement;
mod operand;
mod packed;
mod permute;
mod product;
mod terms;
mod values;
mod video;
mod video_simd;

#[cfg(feature = "internals")]
mod tests;

use crate::expr::TermId;
use crate::isa::{Form, Opcode, Qualifier};
use crate::ptx::ScalarType;
use family::Family;

pub(super) use family::family;
pub(super) use operand::{Operand, Part};
use values::single;
pub(super) use values::{Destination, Results, Values, width_of};

/// The results of an instruction that has an exact form; `None` if an operand has no value.
pub(super) fn evaluate(values: &mut Values<'_>, form: &Form) -> Option<Results> {
    match family(form.opcode)? {
        Family::Move => movement::mov(values, form),
        Family::Predicate => compare::setp(values, form),
        Family::Logic3 if form.has_any(&[Qualifier::And, Qualifier::Or]) => {
            logic::lop3_with_predicate(values, form)
        }
        family => {
            let takes_parts = matches!(family, Family::Video(..) | Family::VideoProduct);
            match values.destination {
                Destination::Register => {}
                // The instruction writes the whole register, and copies the bits that it does not compute from its last
                // operand.
                Destination::Part(_) if takes_parts => {}
                _ => return None,
            }
            let term = one(family, values, form)?;
            Some(single(term, result_type(form)))
        }
    }
}

/// The result of an instruction that writes one register of `width` bits, as an uninterpreted function of its
/// operands: equal operands give equal results. The function has as many bits as the register, because the types of
/// a form without an exact meaning do not say how wide the result is: `cvt.pack.sat.u8.s32.b32` writes 32 bits.
pub(super) fn uninterpreted(values: &mut Values<'_>, width: u8) -> Option<Results> {
    let term = values.uninterpreted(width)?;
    Some(single(term, ScalarType::B64))
}

/// The result of an instruction that writes one register.
fn one(family: Family, values: &mut Values<'_>, form: &Form) -> Option<TermId> {
    let ty = form.last_type()?;
    match family {
        Family::Convert => movement::cvt(values, form),
        Family::GenericAddress => movement::cvta(values, form),
        Family::Select => compare::selp(values, form),
        Family::SelectBySign => compare::slct(values, form),
        Family::Set => compare::set(values, form),
        Family::Permute => permute::prmt(values, form),
        Family::Logic => logic::logic(values, form, ty),
        Family::Logic3 => logic::lop3(values),
        Family::Shift => logic::shift(values, form, ty),
        Family::FunnelShift => logic::funnel_shift(values, form),
        Family::Bits => bits::count_or_find(values, form, ty),
        Family::Field => bits::field(values, form, ty),
        Family::NthBit => bits::fns(values),
        Family::Product => product::multiply(values, form, ty),
        Family::DotProduct => product::dot_product(values, form),
        Family::Arithmetic => match ty {
            ScalarType::U16x2 | ScalarType::S16x2 => packed::packed(values, form, ty),
            _ => arithmetic::arithmetic(values, form, ty),
        },
        Family::Video(operation, 1) => video::scalar(values, form, operation),
        Family::Video(operation, count) => video_simd::simd(values, form, operation, count),
        Family::VideoProduct => video::multiply(values, form),
        Family::Move | Family::Predicate => None,
    }
}

/// The type of an instruction's result.
fn result_type(form: &Form) -> ScalarType {
    let types = form.types();
    let first = types.first().copied().unwrap_or(ScalarType::B32);
    let last = types.last().copied().unwrap_or(first);
    match form.opcode {
        Opcode::Cvt if form.has(Qualifier::Pack) => ScalarType::B32,
        Opcode::Cvt | Opcode::Set | Opcode::Slct => first,
        Opcode::Popc | Opcode::Clz | Opcode::Bfind | Opcode::Dp4a | Opcode::Dp2a => ScalarType::U32,
        Opcode::Isspacep | Opcode::Testp => ScalarType::Pred,
        Opcode::Mul | Opcode::Mad if form.has(Qualifier::Wide) => match last {
            ScalarType::U16 => ScalarType::U32,
            ScalarType::S16 => ScalarType::S32,
            ScalarType::U32 => ScalarType::U64,
            ScalarType::S32 => ScalarType::S64,
            other => other,
        },
        Opcode::Fns => ScalarType::B32,
        _ => last,
    }
}

/// Which source operands an instruction extends to a greater width, 0 being the first behind the
/// destination: where an index may be widened to an address.
pub(super) fn widened(form: &Form) -> &'static [usize] {
    match form.opcode {
        Opcode::Cvt => match form.types()[..] {
            [to, from] if to.bits() > from.bits() => &[0],
            _ => &[],
        },
        Opcode::Mul | Opcode::Mad if form.has(Qualifier::Wide) => &[0, 1],
        _ => &[],
    }
}

/// Whether an instruction also reads the carry flag.
pub(super) fn reads_carry(form: &Form) -> bool {
    matches!(form.opcode, Opcode::Addc | Opcode::Subc | Opcode::Madc)
}
