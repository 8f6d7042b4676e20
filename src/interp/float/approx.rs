//! The `.approx` instructions. A portable library computes them in double precision and they are
//! rounded once, which lies within the manual's error bounds and gives the same bits everywhere.

use super::{canonical32, flush32};

/// An `.approx` function of one single.
pub fn unary(value: f32, ftz: bool, function: fn(f64) -> f64) -> f32 {
    let value = if ftz { flush32(value) } else { value };
    let result = canonical32(function(f64::from(value)) as f32);
    if ftz { flush32(result) } else { result }
}

/// `1 / x`.
pub fn rcp(x: f64) -> f64 {
    1.0 / x
}

/// `1 / sqrt(x)`.
pub fn rsqrt(x: f64) -> f64 {
    1.0 / x.sqrt()
}

/// `div.approx.f32`: for a divisor above 2^126 the reciprocal is flushed, so that the quotient is
/// a zero, and NaN for an infinite dividend.
pub fn div(a: f32, b: f32, ftz: bool) -> f32 {
    let (a, b) = if ftz { (flush32(a), flush32(b)) } else { (a, b) };
    let huge = b.abs() > f32::from_bits(0x7e80_0000) && b.is_finite();
    let quotient = if huge { a * (0.0_f32).copysign(b) } else { a / b };
    let quotient = canonical32(quotient);
    if ftz { flush32(quotient) } else { quotient }
}

/// `rcp.approx.ftz.f64` and `rsqrt.approx.ftz.f64`: of the operand only the upper 32 bits count, and
/// the lower 32 bits of the result are zero (PTX ISA).
pub fn upper_half(value: f64, function: fn(f64) -> f64) -> f64 {
    const UPPER: u64 = 0xffff_ffff_0000_0000;
    let cut = f64::from_bits(value.to_bits() & UPPER);
    let flushed = if cut.is_subnormal() { 0.0_f64.copysign(cut) } else { cut };
    let result = function(flushed);
    if result.is_nan() {
        return f64::from_bits(0x7fff_ffff_0000_0000);
    }
    let result = if result.is_subnormal() { 0.0_f64.copysign(result) } else { result };
    f64::from_bits(result.to_bits() & UPPER)
}
