//! Floating-point arithmetic that the host does not do by itself: narrow formats, directed
//! rounding, approximations that give the same bits on every machine.

pub mod approx;
pub mod directed;
pub mod format;
pub mod odd;

pub use format::Format;

/// A rounding mode of an operation that yields a floating-point number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Round {
    /// `.rn`: to nearest, ties to even.
    Even,
    /// `.rna`: to nearest, ties away from zero.
    Away,
    /// `.rz`: towards zero.
    Zero,
    /// `.rm`: towards negative infinity.
    Down,
    /// `.rp`: towards positive infinity.
    Up,
}

/// The NaN that single-precision operations produce (PTX ISA, "Floating Point Instructions").
pub const NAN32: u32 = 0x7fff_ffff;

/// The NaN that double-precision operations produce.
const NAN64: u64 = 0x7ff8_0000_0000_0000;

/// Turns every NaN into the canonical one. The choice is made on the bits: a compiler may take any NaN
/// for as good as any other, and leave out a choice between two.
#[inline(always)]
pub fn canonical32(value: f32) -> f32 {
    let bits = value.to_bits();
    f32::from_bits(if bits & 0x7fff_ffff > 0x7f80_0000 { NAN32 } else { bits })
}

/// Turns every NaN into the canonical one.
#[inline(always)]
pub fn canonical64(value: f64) -> f64 {
    const INFINITY: u64 = 0x7ff0_0000_0000_0000;
    let bits = value.to_bits();
    f64::from_bits(if bits & (u64::MAX >> 1) > INFINITY { NAN64 } else { bits })
}

/// `.ftz`: a subnormal number becomes zero of the same sign.
#[inline(always)]
pub fn flush32(value: f32) -> f32 {
    let bits = value.to_bits();
    f32::from_bits(if bits & 0x7f80_0000 == 0 { bits & 0x8000_0000 } else { bits })
}

/// `.sat`: into `[0, 1]`, NaN to +0.
#[inline(always)]
pub fn saturate32(value: f32) -> f32 {
    if value > 0.0 { if value < 1.0 { value } else { 1.0 } } else { 0.0 }
}

/// `.sat` for doubles: as [`saturate32`].
#[inline(always)]
pub fn saturate64(value: f64) -> f64 {
    if value > 0.0 { if value < 1.0 { value } else { 1.0 } } else { 0.0 }
}

/// The smaller of two numbers, -0 below +0; a NaN loses against a number.
pub fn minimum32(a: f32, b: f32) -> f32 {
    match (a.is_nan(), b.is_nan()) {
        (true, true) => f32::from_bits(NAN32),
        (true, false) => b,
        (false, true) => a,
        _ if a < b || a == b && a.is_sign_negative() => a,
        _ => b,
    }
}

/// The larger of two numbers, -0 below +0; a NaN loses against a number.
pub fn maximum32(a: f32, b: f32) -> f32 {
    match (a.is_nan(), b.is_nan()) {
        (true, true) => f32::from_bits(NAN32),
        (true, false) => b,
        (false, true) => a,
        _ if a > b || a == b && a.is_sign_positive() => a,
        _ => b,
    }
}
