//! Integer addition, subtraction, division, minimum and maximum, absolute value and negation
//! (PTX ISA, "Integer Arithmetic Instructions").

use super::integers::integers;
use crate::interp::decode::{Decoder, Inst};
use crate::interp::fault::Fault;
use crate::interp::registers::warp;
use crate::isa::{Opcode, Qualifier};
use crate::ptx::ScalarType;

/// `add sub div rem abs neg min max sad`, without carry.
pub(super) fn decode<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &mut Inst<'m, 's>,
) -> Result<(), Fault> {
    let saturate = inst.take(Qualifier::Sat);
    let relu = inst.take(Qualifier::Relu);
    let ty = inst.take_type()?;
    if (saturate || relu) && ty != ScalarType::S32 {
        return Err(inst.bad_type(ty));
    }
    let run = match (inst.ast.form.opcode, saturate || relu) {
        (Opcode::Add, false) => integers!(ty, [as Sum;], |a, b| { a.wrapping_add(b) }),
        (Opcode::Sub, false) => integers!(ty, [as Sum;], |a, b| { a.wrapping_sub(b) }),
        (Opcode::Add, true) => Some(warp!(|a: i32, b: i32| -> i32 { a.saturating_add(b) })),
        (Opcode::Sub, true) => Some(warp!(|a: i32, b: i32| -> i32 { a.saturating_sub(b) })),
        (Opcode::Min, false) => integers!(ty, [monotone;], |a, b| { a.min(b) }),
        (Opcode::Max, false) => integers!(ty, [monotone;], |a, b| { a.max(b) }),
        (Opcode::Min, true) => Some(warp!(monotone; |a: i32, b: i32| -> i32 { a.min(b).max(0) })),
        (Opcode::Max, true) => Some(warp!(monotone; |a: i32, b: i32| -> i32 { a.max(b).max(0) })),
        (Opcode::Abs, false) => match ty {
            ScalarType::S16 => Some(warp!(|a: i16| -> i16 { a.wrapping_abs() })),
            ScalarType::S32 => Some(warp!(|a: i32| -> i32 { a.wrapping_abs() })),
            ScalarType::S64 => Some(warp!(|a: i64| -> i64 { a.wrapping_abs() })),
            _ => None,
        },
        (Opcode::Neg, false) => integers!(ty, [as Sum;], |a| { a.wrapping_neg() }),
        // Division by zero has no defined result; devices return this.
        (Opcode::Div, false) => match ty {
            ScalarType::U16 => {
                Some(warp!(|a: u16, b: u16| -> u16 { a.checked_div(b).unwrap_or(u16::MAX) }))
            }
            ScalarType::U32 => {
                Some(warp!(|a: u32, b: u32| -> u32 { a.checked_div(b).unwrap_or(u32::MAX) }))
            }
            ScalarType::U64 => {
                Some(warp!(|a: u64, b: u64| -> u64 { a.checked_div(b).unwrap_or(u64::MAX) }))
            }
            _ => integers!(ty, |a, b| { if b == 0 { !b } else { a.wrapping_div(b) } }),
        },
        (Opcode::Rem, false) => {
            integers!(ty, |a, b| { if b == 0 { a } else { a.wrapping_rem(b) } })
        }
        (Opcode::Sad, false) => {
            integers!(ty, |a, b, c| { c.wrapping_add(a.max(b).wrapping_sub(a.min(b))) })
        }
        _ => None,
    };
    let run = run.ok_or_else(|| inst.bad_type(ty))?;
    let sources = match inst.ast.form.opcode {
        Opcode::Abs | Opcode::Neg => 1,
        Opcode::Sad => 3,
        _ => 2,
    };
    cx.apply(inst, run, ty, &[ty; 3][..sources])
}
