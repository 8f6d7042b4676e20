//! Logic and shifts (PTX ISA, "Logic and Shift Instructions").

use crate::algebra::Meaning;
use crate::interp::decode::{Decoder, Inst};
use crate::interp::fault::Fault;
use crate::interp::registers::{Slot, WarpFn, warp};
use crate::isa::{Opcode, Qualifier};
use crate::ptx::ScalarType::{self, B16, B32, B64, Pred, S16, S32, S64, U16, U32, U64};
use crate::ptx::{Operand, Value};

/// `and or xor not cnot lop3 shl shr shf`.
pub(super) fn decode<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &mut Inst<'m, 's>,
) -> Result<(), Fault> {
    match inst.ast.form.opcode {
        Opcode::Lop3 => return lookup3(cx, inst),
        Opcode::Shf => return funnel(cx, inst),
        _ => {}
    }
    let ty = inst.take_type()?;
    let (run, sources): (Option<WarpFn>, &[ScalarType]) = match inst.ast.form.opcode {
        Opcode::And => (and(ty), &[ty, ty]),
        Opcode::Or => (or(ty), &[ty, ty]),
        Opcode::Xor => (xor(ty), &[ty, ty]),
        Opcode::Not => (not(ty), &[ty]),
        Opcode::Cnot => (cnot(ty), &[ty]),
        Opcode::Shl => (shift_left(ty), &[ty, U32]),
        _ => (shift_right(ty), &[ty, U32]),
    };
    let run = run.ok_or_else(|| inst.bad_type(ty))?;
    cx.apply(inst, run, ty, sources)
}

fn and(ty: ScalarType) -> Option<WarpFn> {
    Some(match ty {
        Pred => warp!(bits 2; |a: bool, b: bool| -> bool { a & b }),
        B16 | B32 => warp!(bits 2; |a: u32, b: u32| -> u32 { a & b }),
        B64 => warp!(bits 2; |a: u64, b: u64| -> u64 { a & b }),
        _ => return None,
    })
}

fn or(ty: ScalarType) -> Option<WarpFn> {
    Some(match ty {
        Pred => warp!(bits 2; |a: bool, b: bool| -> bool { a | b }),
        B16 | B32 => warp!(bits 2; |a: u32, b: u32| -> u32 { a | b }),
        B64 => warp!(bits 2; |a: u64, b: u64| -> u64 { a | b }),
        _ => return None,
    })
}

fn xor(ty: ScalarType) -> Option<WarpFn> {
    Some(match ty {
        Pred => warp!(bits 2; |a: bool, b: bool| -> bool { a ^ b }),
        B16 | B32 => warp!(bits 2; |a: u32, b: u32| -> u32 { a ^ b }),
        B64 => warp!(bits 2; |a: u64, b: u64| -> u64 { a ^ b }),
        _ => return None,
    })
}

fn not(ty: ScalarType) -> Option<WarpFn> {
    Some(match ty {
        Pred => warp!(bits 1; |a: bool| -> bool { !a }),
        B16 => warp!(bits 1; |a: u16| -> u16 { !a }),
        B32 => warp!(bits 1; |a: u32| -> u32 { !a }),
        B64 => warp!(bits 1; |a: u64| -> u64 { !a }),
        _ => return None,
    })
}

/// Logical negation: 1 for 0, 0 for every other value.
fn cnot(ty: ScalarType) -> Option<WarpFn> {
    Some(match ty {
        B16 => warp!(|a: u16| -> u16 { u16::from(a == 0) }),
        B32 => warp!(|a: u32| -> u32 { u32::from(a == 0) }),
        B64 => warp!(|a: u64| -> u64 { u64::from(a == 0) }),
        _ => return None,
    })
}

/// An amount beyond the width shifts every bit out.
fn shift_left(ty: ScalarType) -> Option<WarpFn> {
    Some(match ty {
        B16 => warp!(bits 1; |a: u16, n: u32| -> u16 { a.unbounded_shl(n) }),
        B32 => {
            warp!(means Meaning::ShiftLeft; bits 1; |a: u32, n: u32| -> u32 { a.unbounded_shl(n) })
        }
        B64 => warp!(bits 1; |a: u64, n: u32| -> u64 { a.unbounded_shl(n) }),
        _ => return None,
    })
}

fn shift_right(ty: ScalarType) -> Option<WarpFn> {
    Some(match ty {
        B16 | U16 => warp!(bits 1; |a: u16, n: u32| -> u16 { a.unbounded_shr(n) }),
        B32 | U32 => warp!(bits 1; |a: u32, n: u32| -> u32 { a.unbounded_shr(n) }),
        B64 | U64 => warp!(bits 1; |a: u64, n: u32| -> u64 { a.unbounded_shr(n) }),
        S16 => warp!(bits 1; |a: i16, n: u32| -> i16 { a.unbounded_shr(n) }),
        S32 => warp!(bits 1; |a: i32, n: u32| -> i32 { a.unbounded_shr(n) }),
        S64 => warp!(bits 1; |a: i64, n: u32| -> i64 { a.unbounded_shr(n) }),
        _ => return None,
    })
}

/// `shf.{l,r}.{clamp,wrap}.b32 d, a, b, c`: the upper (left) or lower (right) half of the shifted pair
/// `b:a`.
fn funnel<'m, 's>(cx: &mut Decoder<'_, 'm, 's>, inst: &mut Inst<'m, 's>) -> Result<(), Fault> {
    let left = inst.take(Qualifier::L);
    let right = inst.take(Qualifier::R);
    let clamp = inst.take(Qualifier::Clamp);
    inst.take(Qualifier::Wrap);
    let ty = inst.take_type()?;
    let run = match (left, right, clamp) {
        (true, false, true) => {
            warp!(bits 2; |a: u32, b: u32, c: u32| -> u32 { funnel_left(a, b, c.min(32)) })
        }
        (true, false, false) => {
            warp!(bits 2; |a: u32, b: u32, c: u32| -> u32 { funnel_left(a, b, c & 31) })
        }
        (false, true, true) => {
            warp!(bits 2; |a: u32, b: u32, c: u32| -> u32 { funnel_right(a, b, c.min(32)) })
        }
        (false, true, false) => {
            warp!(bits 2; |a: u32, b: u32, c: u32| -> u32 { funnel_right(a, b, c & 31) })
        }
        _ => return Err(inst.unsupported("`shf` needs a direction")),
    };
    if ty != B32 {
        return Err(inst.bad_type(ty));
    }
    cx.apply(inst, run, ty, &[ty, ty, U32])
}

fn funnel_left(a: u32, b: u32, n: u32) -> u32 {
    ((u64::from(b) << 32 | u64::from(a)) << n >> 32) as u32
}

fn funnel_right(a: u32, b: u32, n: u32) -> u32 {
    ((u64::from(b) << 32 | u64::from(a)) >> n) as u32
}

/// `lop3.b32 d, a, b, c, lut` and `lop3.{or,and}.b32 d|p, a, b, c, lut, q`.
fn lookup3<'m, 's>(cx: &mut Decoder<'_, 'm, 's>, inst: &mut Inst<'m, 's>) -> Result<(), Fault> {
    let combine = inst.take_one_of(&[Qualifier::And, Qualifier::Or]);
    let ty = inst.take_type()?;
    inst.finish()?;
    if ty != B32 {
        return Err(inst.bad_type(ty));
    }
    let Operand::Immediate(table) = inst.operand(4)? else {
        return Err(inst.unsupported("the table of `lop3` has to be a constant"));
    };
    let table = match table.value {
        Value::Signed(v) => v as u64,
        Value::Unsigned(v) => v,
        _ => return Err(inst.unsupported("the table of `lop3` has to be an integer")),
    };
    let table = cx.immediate(crate::interp::registers::File::W32, table & 0xff);
    let mut sources = [Slot::default(); 4];
    for (index, slot) in sources[..3].iter_mut().enumerate() {
        *slot = cx.source(inst.operand(index + 1)?, ty)?;
    }
    sources[3] = table;
    let run = warp!(bits 3; |a: u32, b: u32, c: u32, table: u32| -> u32 {
        lookup(a, b, c, table)
    });
    let (d, p) = match (inst.operand(0)?, combine) {
        (Operand::Pair(pair), Some(_)) => (&pair[0], Some(&pair[1])),
        (single, None) => (single, None),
        _ => {
            return Err(inst.unsupported(
                "the destination of `lop3` is a register or a pair with a predicate",
            ));
        }
    };
    let Some(p) = p else {
        let d = cx.dest(d, ty)?;
        cx.emit_lanes(run, &[d], &sources);
        return Ok(());
    };
    let q = cx.source(inst.operand(5)?, Pred)?;
    let (d, p) = (cx.dest(d, ty)?, cx.dest(p, Pred)?);
    cx.emit_lanes(run, &[d], &sources);
    let combined = match combine {
        Some(Qualifier::And) => warp!(|d: u32, q: bool| -> bool { d != 0 && q }),
        _ => warp!(|d: u32, q: bool| -> bool { d != 0 || q }),
    };
    cx.emit_lanes(combined, &[p], &[d, q]);
    Ok(())
}

/// For each bit position bit `4a + 2b + c` of the table.
fn lookup(a: u32, b: u32, c: u32, table: u32) -> u32 {
    let term = |index: u32, x: u32| if table >> index & 1 != 0 { x } else { 0 };
    term(0, !a & !b & !c)
        | term(1, !a & !b & c)
        | term(2, !a & b & !c)
        | term(3, !a & b & c)
        | term(4, a & !b & !c)
        | term(5, a & !b & c)
        | term(6, a & b & !c)
        | term(7, a & b & c)
}
