//! Operations on numbers that are known, in double precision: whether the machine's result is that of real arithmetic.

use super::meaning::{Format, Real};
use crate::float::Round;
use crate::float::format::{BF16, F16, F32 as SINGLE, TF32};

/// The value of a number.
pub(crate) fn number(format: Format, bits: u64) -> f64 {
    match format {
        Format::F32 | Format::Tf32 => f64::from(f32::from_bits(bits as u32)),
        Format::F64 => f64::from_bits(bits),
        Format::S32 => f64::from(bits as u32 as i32),
        Format::F16 => F16.widen(bits as u32 & 0xffff),
        Format::Bf16 => BF16.widen(bits as u32 & 0xffff),
    }
}

/// The number of a format that is nearest to a value.
pub(crate) fn rounded(format: Format, value: f64) -> u64 {
    match format {
        Format::F32 => u64::from(SINGLE.round(value, Round::Even)),
        Format::Tf32 => u64::from(TF32.round(value, Round::Even) << 13),
        Format::F64 => value.to_bits(),
        Format::S32 => u64::from(value as i32 as u32),
        Format::F16 => u64::from(F16.round(value, Round::Even)),
        Format::Bf16 => u64::from(BF16.round(value, Round::Even)),
    }
}

fn is_representable(format: Format, value: f64) -> bool {
    number(format, rounded(format, value)) == value
}

/// A sum and its rounding error.
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let part = sum - a;
    (sum, (a - (sum - part)) + (b - part))
}

/// A product and its rounding error, unless it underflows.
fn two_product(a: f64, b: f64) -> (f64, f64) {
    let product = a * b;
    (product, a.mul_add(b, -product))
}

/// Whether a conversion does not change a number.
pub(super) fn is_kept(from: Format, to: Format, bits: u64) -> bool {
    let value = number(from, bits);
    !value.is_finite() || is_representable(to, value)
}

/// Whether an operation on finite numbers has a result that the format holds. With an operand that is not finite it has that
/// of the machine.
pub(crate) fn is_exact(op: Real, format: Format, operands: &[u64]) -> bool {
    let value = |at: usize| number(format, operands[at]);
    if operands.iter().any(|&bits| !number(format, bits).is_finite()) {
        return true;
    }
    let held = |(value, error): (f64, f64)| {
        error == 0.0 && value.is_finite() && is_representable(format, value)
    };
    // Errors of products below this bound are not seen.
    let is_tiny = |value: f64| value != 0.0 && value.abs() < 1e-280;
    match op {
        Real::Neg
        | Real::Abs
        | Real::Max
        | Real::Min
        | Real::Copysign
        | Real::Same
        | Real::Sat
        | Real::Relu
        | Real::Floor
        | Real::Ceil
        | Real::Trunc
        | Real::Nearest => true,
        Real::Add => held(two_sum(value(0), value(1))),
        Real::Sub => held(two_sum(value(0), -value(1))),
        Real::Mul => {
            let (product, error) = two_product(value(0), value(1));
            let vanished = product == 0.0 && value(0) != 0.0 && value(1) != 0.0;
            held((product, error)) && !is_tiny(product) && !vanished
        }
        Real::Fma => {
            let (product, error) = two_product(value(0), value(1));
            let vanished = product == 0.0 && value(0) != 0.0 && value(1) != 0.0;
            error == 0.0 && !is_tiny(product) && !vanished && held(two_sum(product, value(2)))
        }
        // A quotient by zero is infinite or NaN, which stays a number.
        Real::Div if value(1) == 0.0 => true,
        Real::Rcp if value(0) == 0.0 => true,
        Real::Div | Real::Rcp => {
            let (a, b) = if op == Real::Div { (value(0), value(1)) } else { (1.0, value(0)) };
            let quotient = a / b;
            two_product(quotient, b) == (a, 0.0) && !is_tiny(quotient) && held((quotient, 0.0))
        }
        Real::Sqrt => {
            let root = value(0).sqrt();
            value(0) >= 0.0 && two_product(root, root) == (value(0), 0.0) && held((root, 0.0))
        }
        Real::Rsqrt => {
            let root = value(0).sqrt();
            let inverse = 1.0 / root;
            value(0) > 0.0
                && two_product(root, root) == (value(0), 0.0)
                && two_product(root, inverse) == (1.0, 0.0)
                && held((inverse, 0.0))
        }
        Real::Ex2 => {
            value(0).fract() == 0.0 && value(0).abs() < 1e3 && held((value(0).exp2(), 0.0))
        }
        Real::Lg2 => {
            value(0) > 0.0 && value(0).log2().fract() == 0.0 && {
                let exponent = value(0).log2();
                exponent.exp2() == value(0)
            }
        }
        Real::Sin | Real::Tanh => value(0) == 0.0,
        Real::Cos => value(0) == 0.0,
    }
}
