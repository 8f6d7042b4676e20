//! Extended-precision arithmetic: `add.cc addc sub.cc subc mad.cc madc` (PTX ISA, "Extended-
//! Precision Arithmetic Instructions"). The carry bit `CC.CF` is a predicate of the frame.
//!
//! The manual has one bit for carry and borrow and does not say what an addition finds in it behind a
//! subtraction. Machine code (`IADD3`, `IADD3.X`) computes `a - b` as `a + ~b + 1` and `subc` as `a +
//! ~b + CF`: behind a subtraction the bit is set if nothing was borrowed.

use crate::interp::decode::{Decoder, Inst};
use crate::interp::fault::Fault;
use crate::interp::registers::{WarpFn, warp};
use crate::isa::{Opcode, Qualifier};
use crate::ptx::ScalarType::{self, S32, S64, U32, U64};

/// `carry_in` is read only by operations that have one; all operations produce a carry.
macro_rules! with_carry {
    ($ty:ident, $wide:ident, $name:expr, $part:expr) => {
        match ($name, $part) {
            (Opcode::Add, _) => warp!(|a: $ty, b: $ty| -> ($ty, bool) { a.overflowing_add(b) }),
            (Opcode::Sub, _) => {
                warp!(|a: $ty, b: $ty| -> ($ty, bool) { (a.wrapping_sub(b), a >= b) })
            }
            (Opcode::Addc, _) => warp!(|a: $ty, b: $ty, cf: bool| -> ($ty, bool) {
                let (sum, first) = a.overflowing_add(b);
                let (sum, second) = sum.overflowing_add($ty::from(cf));
                (sum, first || second)
            }),
            (Opcode::Subc, _) => warp!(|a: $ty, b: $ty, cf: bool| -> ($ty, bool) {
                let (sum, first) = a.overflowing_add(!b);
                let (sum, second) = sum.overflowing_add($ty::from(cf));
                (sum, first || second)
            }),
            (Opcode::Mad, Part::Low) => warp!(|a: $ty, b: $ty, c: $ty| -> ($ty, bool) {
                a.wrapping_mul(b).overflowing_add(c)
            }),
            (Opcode::Madc, Part::Low) => warp!(|a: $ty, b: $ty, c: $ty, cf: bool| -> ($ty, bool) {
                let (sum, first) = a.wrapping_mul(b).overflowing_add(c);
                let (sum, second) = sum.overflowing_add($ty::from(cf));
                (sum, first || second)
            }),
            (Opcode::Mad, Part::High(false)) => warp!(|a: $ty, b: $ty, c: $ty| -> ($ty, bool) {
                let high = ($wide::from(a) * $wide::from(b) >> $ty::BITS) as $ty;
                high.overflowing_add(c)
            }),
            (Opcode::Madc, Part::High(false)) => {
                warp!(|a: $ty, b: $ty, c: $ty, cf: bool| -> ($ty, bool) {
                    let high = ($wide::from(a) * $wide::from(b) >> $ty::BITS) as $ty;
                    let (sum, first) = high.overflowing_add(c);
                    let (sum, second) = sum.overflowing_add($ty::from(cf));
                    (sum, first || second)
                })
            }
            _ => return None,
        }
    };
}

/// The half of the product that an instruction takes.
#[derive(Clone, Copy)]
enum Part {
    Low,
    /// The high half; whether the product is signed.
    High(bool),
}

fn operation(name: Opcode, part: Part, ty: ScalarType) -> Option<WarpFn> {
    Some(match (ty, name, part) {
        (S32, Opcode::Mad, Part::High(true)) => warp!(|a: i32, b: i32, c: u32| -> (u32, bool) {
            (((i64::from(a) * i64::from(b)) >> 32) as u32).overflowing_add(c)
        }),
        (S32, Opcode::Madc, Part::High(true)) => {
            warp!(|a: i32, b: i32, c: u32, cf: bool| -> (u32, bool) {
                let high = ((i64::from(a) * i64::from(b)) >> 32) as u32;
                let (sum, first) = high.overflowing_add(c);
                let (sum, second) = sum.overflowing_add(u32::from(cf));
                (sum, first || second)
            })
        }
        (S64, Opcode::Mad, Part::High(true)) => warp!(|a: i64, b: i64, c: u64| -> (u64, bool) {
            (((i128::from(a) * i128::from(b)) >> 64) as u64).overflowing_add(c)
        }),
        (S64, Opcode::Madc, Part::High(true)) => {
            warp!(|a: i64, b: i64, c: u64, cf: bool| -> (u64, bool) {
                let high = ((i128::from(a) * i128::from(b)) >> 64) as u64;
                let (sum, first) = high.overflowing_add(c);
                let (sum, second) = sum.overflowing_add(u64::from(cf));
                (sum, first || second)
            })
        }
        (U32 | S32, ..) => with_carry!(u32, u64, name, part),
        (U64 | S64, ..) => with_carry!(u64, u128, name, part),
        _ => return None,
    })
}

/// `add.cc addc{.cc} sub.cc subc{.cc} mad.{lo,hi}.cc madc.{lo,hi}{.cc}`.
pub(super) fn decode<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &mut Inst<'m, 's>,
) -> Result<(), Fault> {
    let high = inst.take(Qualifier::Hi);
    inst.take(Qualifier::Lo);
    let sets = inst.take(Qualifier::Cc);
    let ty = inst.take_type()?;
    inst.finish()?;
    let name = inst.ast.form.opcode;
    let part = if high { Part::High(ty.is_signed()) } else { Part::Low };
    let run = operation(name, part, ty).ok_or_else(|| inst.bad_type(ty))?;
    let carry = cx.carry_flag();
    let count = if matches!(name, Opcode::Mad | Opcode::Madc) { 3 } else { 2 };
    let mut sources = Vec::new();
    for index in 1..=count {
        sources.push(cx.source(inst.operand(index)?, ty)?);
    }
    if matches!(name, Opcode::Addc | Opcode::Subc | Opcode::Madc) {
        sources.push(carry);
    }
    let dest = cx.dest(inst.operand(0)?, ty)?;
    let carry_out = if sets { carry } else { cx.scratch(crate::interp::registers::File::Pred) };
    cx.emit_lanes(run, &[dest, carry_out], &sources);
    Ok(())
}
