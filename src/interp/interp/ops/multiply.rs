//! Integer multiplication: `mul`, `mad`, their 24-bit forms, and the dot products `dp4a`, `dp2a`
//! (PTX ISA, "Integer Arithmetic Instructions").

use super::integers::integers;
use crate::interp::decode::{Decoder, Inst};
use crate::interp::fault::Fault;
use crate::interp::registers::{WarpFn, warp};
use crate::isa::{Opcode, Qualifier};
use crate::ptx::ScalarType::{self, S16, S32, S64, U16, U32, U64};

/// Which part of the product is wanted.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Low,
    High,
    Wide,
}

/// `mul mad mul24 mad24 dp4a dp2a`.
pub(super) fn decode<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &mut Inst<'m, 's>,
) -> Result<(), Fault> {
    if matches!(inst.ast.form.opcode, Opcode::Dp4a | Opcode::Dp2a) {
        return dot_product(cx, inst);
    }
    let part = inst.take_qualifier(|m| {
        Some(match m {
            Qualifier::Lo => Part::Low,
            Qualifier::Hi => Part::High,
            Qualifier::Wide => Part::Wide,
            _ => return None,
        })
    });
    // Very old modules leave `.lo` out.
    let part = part.unwrap_or(Part::Low);
    let saturate = inst.take(Qualifier::Sat);
    let ty = inst.take_type()?;
    let add = matches!(inst.opcode(), Opcode::Mad | Opcode::Mad24);
    let run = match inst.ast.form.opcode {
        Opcode::Mul24 | Opcode::Mad24 => product24(part, ty, add, saturate),
        _ => product(part, ty, add, saturate),
    };
    let run = run.ok_or_else(|| inst.bad_type(ty))?;
    let result = match (part, ty) {
        (Part::Wide, U16) => U32,
        (Part::Wide, S16) => S32,
        (Part::Wide, U32) => U64,
        (Part::Wide, S32) => S64,
        _ => ty,
    };
    cx.apply(inst, run, result, &[ty, ty, result][..if add { 3 } else { 2 }])
}

fn product(part: Part, ty: ScalarType, add: bool, saturate: bool) -> Option<WarpFn> {
    Some(match (part, ty, add, saturate) {
        (Part::Low, _, false, false) => integers!(ty, [as Product;], |a, b| { a.wrapping_mul(b) })?,
        (Part::Low, _, true, false) => {
            integers!(ty, [as Product;], |a, b, c| { a.wrapping_mul(b).wrapping_add(c) })?
        }
        (Part::High, U16, false, false) => {
            warp!(as HighProduct; |a: u16, b: u16| -> u16 { high_u16(a, b) })
        }
        (Part::High, S16, false, false) => {
            warp!(as HighProduct; |a: i16, b: i16| -> i16 { high_s16(a, b) })
        }
        (Part::High, U32, false, false) => {
            warp!(as HighProduct; |a: u32, b: u32| -> u32 { high_u32(a, b) })
        }
        (Part::High, S32, false, false) => {
            warp!(as HighProduct; |a: i32, b: i32| -> i32 { high_s32(a, b) })
        }
        (Part::High, U64, false, false) => {
            warp!(as HighProduct; |a: u64, b: u64| -> u64 { high_u64(a, b) })
        }
        (Part::High, S64, false, false) => {
            warp!(as HighProduct; |a: i64, b: i64| -> i64 { high_s64(a, b) })
        }
        (Part::High, U16, true, false) => {
            warp!(as HighProduct; |a: u16, b: u16, c: u16| -> u16 { high_u16(a, b).wrapping_add(c) })
        }
        (Part::High, S16, true, false) => {
            warp!(as HighProduct; |a: i16, b: i16, c: i16| -> i16 { high_s16(a, b).wrapping_add(c) })
        }
        (Part::High, U32, true, false) => {
            warp!(as HighProduct; |a: u32, b: u32, c: u32| -> u32 { high_u32(a, b).wrapping_add(c) })
        }
        (Part::High, S32, true, false) => {
            warp!(as HighProduct; |a: i32, b: i32, c: i32| -> i32 { high_s32(a, b).wrapping_add(c) })
        }
        (Part::High, S32, true, true) => {
            warp!(|a: i32, b: i32, c: i32| -> i32 { high_s32(a, b).saturating_add(c) })
        }
        (Part::High, U64, true, false) => {
            warp!(as HighProduct; |a: u64, b: u64, c: u64| -> u64 { high_u64(a, b).wrapping_add(c) })
        }
        (Part::High, S64, true, false) => {
            warp!(as HighProduct; |a: i64, b: i64, c: i64| -> i64 { high_s64(a, b).wrapping_add(c) })
        }
        (Part::Wide, U16, false, false) => {
            warp!(as Product; |a: u16, b: u16| -> u32 { u32::from(a) * u32::from(b) })
        }
        (Part::Wide, S16, false, false) => {
            warp!(as Product; |a: i16, b: i16| -> i32 { i32::from(a) * i32::from(b) })
        }
        (Part::Wide, U32, false, false) => {
            warp!(as Product; |a: u32, b: u32| -> u64 { u64::from(a) * u64::from(b) })
        }
        (Part::Wide, S32, false, false) => {
            warp!(as Product; |a: i32, b: i32| -> i64 { i64::from(a) * i64::from(b) })
        }
        (Part::Wide, U16, true, false) => {
            warp!(as Product; |a: u16, b: u16, c: u32| -> u32 { (u32::from(a) * u32::from(b)).wrapping_add(c) })
        }
        (Part::Wide, S16, true, false) => {
            warp!(as Product; |a: i16, b: i16, c: i32| -> i32 { (i32::from(a) * i32::from(b)).wrapping_add(c) })
        }
        (Part::Wide, U32, true, false) => {
            warp!(as Product; |a: u32, b: u32, c: u64| -> u64 { (u64::from(a) * u64::from(b)).wrapping_add(c) })
        }
        (Part::Wide, S32, true, false) => {
            warp!(as Product; |a: i32, b: i32, c: i64| -> i64 { (i64::from(a) * i64::from(b)).wrapping_add(c) })
        }
        _ => return None,
    })
}

fn high_u16(a: u16, b: u16) -> u16 {
    ((u32::from(a) * u32::from(b)) >> 16) as u16
}
fn high_s16(a: i16, b: i16) -> i16 {
    ((i32::from(a) * i32::from(b)) >> 16) as i16
}
fn high_u32(a: u32, b: u32) -> u32 {
    ((u64::from(a) * u64::from(b)) >> 32) as u32
}
fn high_s32(a: i32, b: i32) -> i32 {
    ((i64::from(a) * i64::from(b)) >> 32) as i32
}
fn high_u64(a: u64, b: u64) -> u64 {
    ((u128::from(a) * u128::from(b)) >> 64) as u64
}
fn high_s64(a: i64, b: i64) -> i64 {
    ((i128::from(a) * i128::from(b)) >> 64) as i64
}

/// The product of the low 24 bits: its bits 0 to 31 or 16 to 47.
fn product24(part: Part, ty: ScalarType, add: bool, saturate: bool) -> Option<WarpFn> {
    Some(match (part, ty, add, saturate) {
        (Part::Low, U32, false, false) => {
            warp!(as Product; |a: u32, b: u32| -> u32 { wide_u24(a, b) as u32 })
        }
        (Part::High, U32, false, false) => {
            warp!(as HighProduct; |a: u32, b: u32| -> u32 { (wide_u24(a, b) >> 16) as u32 })
        }
        (Part::Low, S32, false, false) => {
            warp!(as Product; |a: i32, b: i32| -> i32 { wide_s24(a, b) as i32 })
        }
        (Part::High, S32, false, false) => {
            warp!(as HighProduct; |a: i32, b: i32| -> i32 { (wide_s24(a, b) >> 16) as i32 })
        }
        (Part::Low, U32, true, false) => {
            warp!(as Product; |a: u32, b: u32, c: u32| -> u32 { (wide_u24(a, b) as u32).wrapping_add(c) })
        }
        (Part::High, U32, true, false) => {
            warp!(as HighProduct; |a: u32, b: u32, c: u32| -> u32 {
                ((wide_u24(a, b) >> 16) as u32).wrapping_add(c)
            })
        }
        (Part::Low, S32, true, false) => {
            warp!(as Product; |a: i32, b: i32, c: i32| -> i32 { (wide_s24(a, b) as i32).wrapping_add(c) })
        }
        (Part::High, S32, true, false) => {
            warp!(as HighProduct; |a: i32, b: i32, c: i32| -> i32 {
                ((wide_s24(a, b) >> 16) as i32).wrapping_add(c)
            })
        }
        (Part::High, S32, true, true) => {
            warp!(|a: i32, b: i32, c: i32| -> i32 {
                ((wide_s24(a, b) >> 16) as i32).saturating_add(c)
            })
        }
        _ => return None,
    })
}

fn wide_u24(a: u32, b: u32) -> u64 {
    u64::from(a & 0xff_ffff) * u64::from(b & 0xff_ffff)
}
fn wide_s24(a: i32, b: i32) -> i64 {
    i64::from(a << 8 >> 8) * i64::from(b << 8 >> 8)
}

/// `dp4a.atype.btype d, a, b, c` and `dp2a.{lo,hi}.atype.btype d, a, b, c`.
fn dot_product<'m, 's>(cx: &mut Decoder<'_, 'm, 's>, inst: &mut Inst<'m, 's>) -> Result<(), Fault> {
    let high = inst.take(Qualifier::Hi);
    inst.take(Qualifier::Lo);
    let (a, b) = (inst.take_type()?, inst.take_type()?);
    let four = inst.ast.form.opcode == Opcode::Dp4a;
    let run = match (four, high, a, b) {
        (true, _, U32, U32) => {
            warp!(|a: u32, b: u32, c: u32| -> u32 { dp4(a, b, c, unsigned8, unsigned8) })
        }
        (true, _, U32, S32) => {
            warp!(|a: u32, b: u32, c: u32| -> u32 { dp4(a, b, c, unsigned8, signed8) })
        }
        (true, _, S32, U32) => {
            warp!(|a: u32, b: u32, c: u32| -> u32 { dp4(a, b, c, signed8, unsigned8) })
        }
        (true, _, S32, S32) => {
            warp!(|a: u32, b: u32, c: u32| -> u32 { dp4(a, b, c, signed8, signed8) })
        }
        (false, false, U32, U32) => {
            warp!(|a: u32, b: u32, c: u32| -> u32 { dp2(a, b, c, unsigned16, unsigned8) })
        }
        (false, false, U32, S32) => {
            warp!(|a: u32, b: u32, c: u32| -> u32 { dp2(a, b, c, unsigned16, signed8) })
        }
        (false, false, S32, U32) => {
            warp!(|a: u32, b: u32, c: u32| -> u32 { dp2(a, b, c, signed16, unsigned8) })
        }
        (false, false, S32, S32) => {
            warp!(|a: u32, b: u32, c: u32| -> u32 { dp2(a, b, c, signed16, signed8) })
        }
        (false, true, U32, U32) => {
            warp!(|a: u32, b: u32, c: u32| -> u32 { dp2(a, b >> 16, c, unsigned16, unsigned8) })
        }
        (false, true, U32, S32) => {
            warp!(|a: u32, b: u32, c: u32| -> u32 { dp2(a, b >> 16, c, unsigned16, signed8) })
        }
        (false, true, S32, U32) => {
            warp!(|a: u32, b: u32, c: u32| -> u32 { dp2(a, b >> 16, c, signed16, unsigned8) })
        }
        (false, true, S32, S32) => {
            warp!(|a: u32, b: u32, c: u32| -> u32 { dp2(a, b >> 16, c, signed16, signed8) })
        }
        _ => return Err(inst.bad_type(a)),
    };
    cx.apply(inst, run, U32, &[U32; 3])
}

type Extend = fn(u32) -> i32;

fn unsigned8(value: u32) -> i32 {
    i32::from(value as u8)
}
fn signed8(value: u32) -> i32 {
    i32::from(value as i8)
}
fn unsigned16(value: u32) -> i32 {
    i32::from(value as u16)
}
fn signed16(value: u32) -> i32 {
    i32::from(value as i16)
}

fn dp4(a: u32, b: u32, c: u32, extend_a: Extend, extend_b: Extend) -> u32 {
    (0..4).fold(c, |sum, byte| {
        let product = extend_a(a >> (8 * byte)) * extend_b(b >> (8 * byte));
        sum.wrapping_add(product as u32)
    })
}

fn dp2(a: u32, b: u32, c: u32, extend_a: Extend, extend_b: Extend) -> u32 {
    (0..2).fold(c, |sum, half| {
        let product = extend_a(a >> (16 * half)).wrapping_mul(extend_b(b >> (8 * half)));
        sum.wrapping_add(product as u32)
    })
}
