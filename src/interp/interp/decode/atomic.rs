//! The results of atomic operations, on the raw bits of an element.

use crate::float::format::{BF16, F16};
use crate::float::{Format, Round, canonical32, canonical64, flush32, odd};
use crate::interp::program::AtomicFn;
use crate::isa::Qualifier;
use crate::ptx::ScalarType::{
    self, B16, B32, B64, Bf16, Bf16x2, F16 as Half, F16x2, F32, F64, S32, S64, U32, U64,
};

/// The operations' names.
pub(super) const OPERATIONS: [Qualifier; 10] = [
    Qualifier::And,
    Qualifier::Or,
    Qualifier::Xor,
    Qualifier::Exch,
    Qualifier::Add,
    Qualifier::Inc,
    Qualifier::Dec,
    Qualifier::Min,
    Qualifier::Max,
    Qualifier::Cas,
];

/// Returns the old value: memory stays as it is.
pub(super) fn keep(old: u64, _b: u64, _c: u64) -> u64 {
    old
}

/// The function of an operation on a type. `flush` says whether additions of singles flush subnormal
/// numbers, as they do in global memory.
pub(super) fn operation(name: Qualifier, ty: ScalarType, flush: bool) -> Option<AtomicFn> {
    Some(match (name, ty) {
        (Qualifier::And, B32 | B64) => |old, b, _| old & b,
        (Qualifier::Or, B32 | B64) => |old, b, _| old | b,
        (Qualifier::Xor, B32 | B64) => |old, b, _| old ^ b,
        (Qualifier::Exch, B32 | B64 | U32 | S32 | U64 | S64 | F32 | F64) => |_, b, _| b,
        (Qualifier::Cas, B16 | B32 | B64 | U32 | S32 | U64 | S64) => {
            |old, b, c| if old == b { c } else { old }
        }
        (Qualifier::Add, U32 | S32 | U64 | S64) => |old, b, _| old.wrapping_add(b),
        (Qualifier::Inc, U32) => |old, b, _| if old >= b { 0 } else { old + 1 },
        (Qualifier::Dec, U32) => |old, b, _| if old == 0 || old > b { b } else { old - 1 },
        (Qualifier::Min, U32 | U64) => |old, b, _| old.min(b),
        (Qualifier::Max, U32 | U64) => |old, b, _| old.max(b),
        (Qualifier::Min, S32) => |old, b, _| (old as i32).min(b as i32) as u32 as u64,
        (Qualifier::Max, S32) => |old, b, _| (old as i32).max(b as i32) as u32 as u64,
        (Qualifier::Min, S64) => |old, b, _| (old as i64).min(b as i64) as u64,
        (Qualifier::Max, S64) => |old, b, _| (old as i64).max(b as i64) as u64,
        (Qualifier::Add, F32) if flush => |old, b, _| {
            let sum = flush32(single(old)) + flush32(single(b));
            u64::from(flush32(canonical32(sum)).to_bits())
        },
        (Qualifier::Add, F32) => {
            |old, b, _| u64::from(canonical32(single(old) + single(b)).to_bits())
        }
        (Qualifier::Add, F64) => {
            |old, b, _| canonical64(f64::from_bits(old) + f64::from_bits(b)).to_bits()
        }
        (Qualifier::Add, Half) => |old, b, _| half(F16, old, b, odd::add),
        (Qualifier::Add, Bf16) => |old, b, _| half(BF16, old, b, odd::add),
        (Qualifier::Add, F16x2) => |old, b, _| halves(F16, old, b, odd::add),
        (Qualifier::Add, Bf16x2) => |old, b, _| halves(BF16, old, b, odd::add),
        (Qualifier::Min, Half) => |old, b, _| half(F16, old, b, minimum),
        (Qualifier::Max, Half) => |old, b, _| half(F16, old, b, maximum),
        (Qualifier::Min, Bf16) => |old, b, _| half(BF16, old, b, minimum),
        (Qualifier::Max, Bf16) => |old, b, _| half(BF16, old, b, maximum),
        (Qualifier::Min, F16x2) => |old, b, _| halves(F16, old, b, minimum),
        (Qualifier::Max, F16x2) => |old, b, _| halves(F16, old, b, maximum),
        (Qualifier::Min, Bf16x2) => |old, b, _| halves(BF16, old, b, minimum),
        (Qualifier::Max, Bf16x2) => |old, b, _| halves(BF16, old, b, maximum),
        _ => return None,
    })
}

fn single(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

fn half(format: Format, old: u64, b: u64, f: fn(f64, f64) -> f64) -> u64 {
    let value = f(format.widen(old as u32 & 0xffff), format.widen(b as u32 & 0xffff));
    u64::from(format.round(value, Round::Even))
}

fn halves(format: Format, old: u64, b: u64, f: fn(f64, f64) -> f64) -> u64 {
    half(format, old, b, f) | half(format, old >> 16, b >> 16, f) << 16
}

fn maximum(a: f64, b: f64) -> f64 {
    if a.is_nan() || a < b || a == b && a.is_sign_negative() { b } else { a }
}

fn minimum(a: f64, b: f64) -> f64 {
    -maximum(-a, -b)
}
