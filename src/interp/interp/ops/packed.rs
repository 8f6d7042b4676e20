//! Two 16-bit integers in a register: `add min max neg abs .u16x2 .s16x2` (PTX ISA, "Integer
//! Arithmetic Instructions").

use crate::interp::decode::{Decoder, Inst};
use crate::interp::fault::Fault;
use crate::interp::registers::warp;
use crate::isa::{Opcode, Qualifier};
use crate::ptx::ScalarType::{S16x2, U16x2};

/// All instructions of this family.
pub(super) fn decode<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &mut Inst<'m, 's>,
) -> Result<(), Fault> {
    let relu = inst.take(Qualifier::Relu);
    let ty = inst.take_type()?;
    let run = match (inst.ast.form.opcode, ty, relu) {
        (Opcode::Add, U16x2 | S16x2, false) => {
            warp!(halves; |a: u32, b: u32| -> u32 { both(a, b, u16::wrapping_add) })
        }
        (Opcode::Sub, U16x2 | S16x2, false) => {
            warp!(halves; |a: u32, b: u32| -> u32 { both(a, b, u16::wrapping_sub) })
        }
        (Opcode::Min, U16x2, false) => {
            warp!(halves; |a: u32, b: u32| -> u32 { both(a, b, u16::min) })
        }
        (Opcode::Max, U16x2, false) => {
            warp!(halves; |a: u32, b: u32| -> u32 { both(a, b, u16::max) })
        }
        (Opcode::Min, S16x2, false) => {
            warp!(halves; |a: u32, b: u32| -> u32 { both(a, b, |a, b| (a as i16).min(b as i16) as u16) })
        }
        (Opcode::Max, S16x2, false) => {
            warp!(halves; |a: u32, b: u32| -> u32 { both(a, b, |a, b| (a as i16).max(b as i16) as u16) })
        }
        (Opcode::Min, S16x2, true) => warp!(halves; |a: u32, b: u32| -> u32 {
            both(a, b, |a, b| (a as i16).min(b as i16).max(0) as u16)
        }),
        (Opcode::Max, S16x2, true) => warp!(halves; |a: u32, b: u32| -> u32 {
            both(a, b, |a, b| (a as i16).max(b as i16).max(0) as u16)
        }),
        _ => return Err(inst.bad_type(ty)),
    };
    cx.apply(inst, run, ty, &[ty, ty])
}

fn both(a: u32, b: u32, f: impl Fn(u16, u16) -> u16) -> u32 {
    u32::from(f(a as u16, b as u16)) | u32::from(f((a >> 16) as u16, (b >> 16) as u16)) << 16
}
