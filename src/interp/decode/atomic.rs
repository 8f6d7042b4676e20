//! What the atomic operations compute, on the raw bits of an element.

use crate::interp::float::format::{BF16, F16};
use crate::interp::float::{Format, Round, canonical32, canonical64, flush32, odd};
use crate::interp::program::AtomicFn;
use crate::ptx::ScalarType::{
    self, B16, B32, B64, Bf16, Bf16x2, F16 as Half, F16x2, F32, F64, S32, S64, U32, U64,
};

/// The operations' names.
pub const OPERATIONS: [&str; 10] =
    ["and", "or", "xor", "exch", "add", "inc", "dec", "min", "max", "cas"];

/// Leaves memory as it is.
pub fn keep(old: u64, _b: u64, _c: u64) -> u64 {
    old
}

/// The function of an operation on a type. `flush`: additions of singles flush subnormal numbers,
/// as they do in global memory.
pub fn operation(name: &str, ty: ScalarType, flush: bool) -> Option<AtomicFn> {
    Some(match (name, ty) {
        ("and", B32 | B64) => |old, b, _| old & b,
        ("or", B32 | B64) => |old, b, _| old | b,
        ("xor", B32 | B64) => |old, b, _| old ^ b,
        ("exch", B32 | B64 | U32 | S32 | U64 | S64 | F32 | F64) => |_, b, _| b,
        ("cas", B16 | B32 | B64 | U32 | S32 | U64 | S64) => {
            |old, b, c| if old == b { c } else { old }
        }
        ("add", U32 | S32 | U64 | S64) => |old, b, _| old.wrapping_add(b),
        ("inc", U32) => |old, b, _| if old >= b { 0 } else { old + 1 },
        ("dec", U32) => |old, b, _| if old == 0 || old > b { b } else { old - 1 },
        ("min", U32 | U64) => |old, b, _| old.min(b),
        ("max", U32 | U64) => |old, b, _| old.max(b),
        ("min", S32) => |old, b, _| (old as i32).min(b as i32) as u32 as u64,
        ("max", S32) => |old, b, _| (old as i32).max(b as i32) as u32 as u64,
        ("min", S64) => |old, b, _| (old as i64).min(b as i64) as u64,
        ("max", S64) => |old, b, _| (old as i64).max(b as i64) as u64,
        ("add", F32) if flush => |old, b, _| {
            let sum = flush32(single(old)) + flush32(single(b));
            u64::from(flush32(canonical32(sum)).to_bits())
        },
        ("add", F32) => |old, b, _| u64::from(canonical32(single(old) + single(b)).to_bits()),
        ("add", F64) => |old, b, _| canonical64(f64::from_bits(old) + f64::from_bits(b)).to_bits(),
        ("add", Half) => |old, b, _| half(F16, old, b, odd::add),
        ("add", Bf16) => |old, b, _| half(BF16, old, b, odd::add),
        ("add", F16x2) => |old, b, _| halves(F16, old, b, odd::add),
        ("add", Bf16x2) => |old, b, _| halves(BF16, old, b, odd::add),
        ("min", Half) => |old, b, _| half(F16, old, b, minimum),
        ("max", Half) => |old, b, _| half(F16, old, b, maximum),
        ("min", Bf16) => |old, b, _| half(BF16, old, b, minimum),
        ("max", Bf16) => |old, b, _| half(BF16, old, b, maximum),
        ("min", F16x2) => |old, b, _| halves(F16, old, b, minimum),
        ("max", F16x2) => |old, b, _| halves(F16, old, b, maximum),
        ("min", Bf16x2) => |old, b, _| halves(BF16, old, b, minimum),
        ("max", Bf16x2) => |old, b, _| halves(BF16, old, b, maximum),
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
