//! Counting, finding and moving bits: `popc clz bfind fns brev bfe bfi szext bmsk` (PTX ISA,
//! "Integer Arithmetic Instructions").

use crate::interp::decode::{Decoder, Inst};
use crate::interp::fault::Fault;
use crate::interp::registers::{WarpFn, warp};
use crate::isa::{Opcode, Qualifier};
use crate::ptx::ScalarType::{self, B32, B64, S32, S64, U32, U64};

/// Result type, source types, function.
type Signature = (ScalarType, Vec<ScalarType>, WarpFn);

/// All instructions of this family.
pub(super) fn decode<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &mut Inst<'m, 's>,
) -> Result<(), Fault> {
    let shift_amount = inst.take(Qualifier::Shiftamt);
    let clamp = inst.take(Qualifier::Clamp);
    inst.take(Qualifier::Wrap);
    let ty = inst.take_type()?;
    let signature = match inst.ast.form.opcode {
        Opcode::Bfind => find(ty, shift_amount),
        Opcode::Szext => extend(ty, clamp),
        Opcode::Bmsk => Some((B32, vec![U32, U32], mask(clamp))),
        _ => plain(inst.ast.form.opcode, ty),
    };
    let (result, sources, run) = signature.ok_or_else(|| inst.bad_type(ty))?;
    cx.apply(inst, run, result, &sources)
}

fn plain(name: Opcode, ty: ScalarType) -> Option<Signature> {
    Some(match (name, ty) {
        (Opcode::Popc, B32) => (U32, vec![ty], warp!(|a: u32| -> u32 { a.count_ones() })),
        (Opcode::Popc, B64) => (U32, vec![ty], warp!(|a: u64| -> u32 { a.count_ones() })),
        (Opcode::Clz, B32) => (U32, vec![ty], warp!(|a: u32| -> u32 { a.leading_zeros() })),
        (Opcode::Clz, B64) => (U32, vec![ty], warp!(|a: u64| -> u32 { a.leading_zeros() })),
        (Opcode::Brev, B32) => (ty, vec![ty], warp!(bits 1; |a: u32| -> u32 { a.reverse_bits() })),
        (Opcode::Brev, B64) => (ty, vec![ty], warp!(bits 1; |a: u64| -> u64 { a.reverse_bits() })),
        (Opcode::Fns, _) => (
            B32,
            vec![B32, U32, S32],
            warp!(|m: u32, base: u32, n: i32| -> u32 { nth_set_bit(m, base, n) }),
        ),
        (Opcode::Bfe, U32) => (
            ty,
            vec![ty, U32, U32],
            warp!(bits 1; |a: u32, p: u32, l: u32| -> u32 {
                extract(u64::from(a), p, l, 32, false) as u32
            }),
        ),
        (Opcode::Bfe, S32) => (
            ty,
            vec![ty, U32, U32],
            warp!(bits 1; |a: u32, p: u32, l: u32| -> u32 { extract(u64::from(a), p, l, 32, true) as u32 }),
        ),
        (Opcode::Bfe, U64) => (
            ty,
            vec![ty, U32, U32],
            warp!(bits 1; |a: u64, p: u32, l: u32| -> u64 { extract(a, p, l, 64, false) }),
        ),
        (Opcode::Bfe, S64) => (
            ty,
            vec![ty, U32, U32],
            warp!(bits 1; |a: u64, p: u32, l: u32| -> u64 { extract(a, p, l, 64, true) }),
        ),
        (Opcode::Bfi, B32) => (
            ty,
            vec![ty, ty, U32, U32],
            warp!(bits 2; |a: u32, b: u32, p: u32, l: u32| -> u32 {
                insert(u64::from(a), u64::from(b), p, l, 32) as u32
            }),
        ),
        (Opcode::Bfi, B64) => (
            ty,
            vec![ty, ty, U32, U32],
            warp!(bits 2; |a: u64, b: u64, p: u32, l: u32| -> u64 { insert(a, b, p, l, 64) }),
        ),
        _ => return None,
    })
}

/// A position or a length of a field. The manual restricts them to 0 to 255; beyond that, ptxas takes them modulo 256 for
/// operands of 32 bits, which have an instruction, and as they are for those of 64 bits, which it expands into shifts.
fn amount(given: u32, width: u32) -> u32 {
    if width == 32 { given & 0xff } else { given }
}

/// `bfe`: `len` bits from `pos`; bits beyond the top are copies of the sign, or zero.
fn extract(a: u64, pos: u32, len: u32, width: u32, signed: bool) -> u64 {
    let (pos, len, msb) = (amount(pos, width), amount(len, width), width - 1);
    let negative =
        signed && len != 0 && a >> msb.min(pos.saturating_add(len).saturating_sub(1)) & 1 != 0;
    let fill = if negative { u64::MAX } else { 0 };
    let shifted = if pos > msb { 0 } else { a >> pos };
    let taken = len.min(width.saturating_sub(pos));
    if taken >= 64 {
        return shifted;
    }
    let low = (1_u64 << taken) - 1;
    shifted & low | fill & !low
}

/// `bfi`: the low `len` bits of `a` over those of `b` from `pos`.
fn insert(a: u64, b: u64, pos: u32, len: u32, width: u32) -> u64 {
    let (pos, len) = (amount(pos, width), amount(len, width));
    if pos >= width || len == 0 {
        return b;
    }
    let field = if len >= 64 { u64::MAX } else { (1_u64 << len) - 1 };
    b & !(field << pos) | (a & field) << pos
}

/// `fns`: the position of the n-th set bit from `base` upwards (n > 0) or downwards (n < 0).
fn nth_set_bit(mask: u32, base: u32, n: i32) -> u32 {
    let base = base.min(32) as i32;
    let set = |position: i32| (0..32).contains(&position) && mask >> position & 1 != 0;
    if n == 0 {
        return if set(base) { base as u32 } else { u32::MAX };
    }
    let step = n.signum();
    let mut left = n.unsigned_abs();
    let mut position = base;
    while (0..32).contains(&position) {
        if set(position) {
            left -= 1;
            if left == 0 {
                return position as u32;
            }
        }
        position += step;
    }
    u32::MAX
}

/// `bfind`: the most significant bit that differs from the sign, or its distance from the top.
fn find(ty: ScalarType, shift_amount: bool) -> Option<Signature> {
    let run = match (ty, shift_amount) {
        (U32, false) => warp!(|a: u32| -> u32 { a.checked_ilog2().unwrap_or(u32::MAX) }),
        (U64, false) => warp!(|a: u64| -> u32 { a.checked_ilog2().unwrap_or(u32::MAX) }),
        (S32, false) => {
            warp!(|a: i32| -> u32 { ((a ^ a >> 31) as u32).checked_ilog2().unwrap_or(u32::MAX) })
        }
        (S64, false) => {
            warp!(|a: i64| -> u32 { ((a ^ a >> 63) as u64).checked_ilog2().unwrap_or(u32::MAX) })
        }
        (U32, true) => {
            warp!(|a: u32| -> u32 { a.checked_ilog2().map_or(u32::MAX, |bit| 31 - bit) })
        }
        (U64, true) => {
            warp!(|a: u64| -> u32 { a.checked_ilog2().map_or(u32::MAX, |bit| 63 - bit) })
        }
        (S32, true) => warp!(|a: i32| -> u32 {
            ((a ^ a >> 31) as u32).checked_ilog2().map_or(u32::MAX, |bit| 31 - bit)
        }),
        (S64, true) => warp!(|a: i64| -> u32 {
            ((a ^ a >> 63) as u64).checked_ilog2().map_or(u32::MAX, |bit| 63 - bit)
        }),
        _ => return None,
    };
    Some((U32, vec![ty], run))
}

/// `szext`: the low `n` bits, sign- or zero-extended.
fn extend(ty: ScalarType, clamp: bool) -> Option<Signature> {
    let run = match (ty, clamp) {
        (U32, false) => warp!(bits 1; |a: u32, n: u32| -> u32 { zero_extend(a, n & 31) }),
        (U32, true) => warp!(bits 1; |a: u32, n: u32| -> u32 { zero_extend(a, n) }),
        (S32, false) => warp!(bits 1; |a: u32, n: u32| -> u32 { sign_extend(a, n & 31) }),
        (S32, true) => warp!(bits 1; |a: u32, n: u32| -> u32 { sign_extend(a, n) }),
        _ => return None,
    };
    Some((ty, vec![ty, U32], run))
}

fn zero_extend(a: u32, bits: u32) -> u32 {
    if bits >= 32 { a } else { a & ((1 << bits) - 1) }
}

fn sign_extend(a: u32, bits: u32) -> u32 {
    match bits {
        0 => 0,
        1..=31 => ((a << (32 - bits)) as i32 >> (32 - bits)) as u32,
        _ => a,
    }
}

/// `bmsk`: `n` ones from bit `start`.
fn mask(clamp: bool) -> WarpFn {
    if clamp {
        warp!(|start: u32, n: u32| -> u32 { ones(start, n) })
    } else {
        warp!(|start: u32, n: u32| -> u32 { ones(start & 31, n & 31) })
    }
}

fn ones(start: u32, count: u32) -> u32 {
    if start >= 32 { 0 } else { zero_extend(u32::MAX, count) << start }
}
