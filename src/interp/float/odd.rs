//! Exact results, rounded to odd.
//!
//! Of the two doubles around an inexact result, rounding to odd takes the one whose last bit is
//! set. Rounding that once more to a format of at most 51 bits gives, in every mode, what rounding
//! the exact result would have given (Boldo and Melquiond, "When double rounding is odd").
//!
//! The operands are numbers of the formats of [`super::format`], so that products are exact and no
//! result overflows or underflows.

/// `sum + error`, both exact, rounded to odd.
#[inline(always)]
fn to_odd(sum: f64, error: f64) -> f64 {
    if error == 0.0 || !sum.is_finite() || error.is_nan() || sum.to_bits() & 1 != 0 {
        sum
    } else if error > 0.0 {
        sum.next_up()
    } else {
        sum.next_down()
    }
}

/// `a + b`.
#[inline(always)]
pub fn add(a: f64, b: f64) -> f64 {
    let sum = a + b;
    let b_part = sum - a;
    let a_part = sum - b_part;
    to_odd(sum, (a - a_part) + (b - b_part))
}

/// `a * b + c`.
#[inline(always)]
pub fn fma(a: f64, b: f64, c: f64) -> f64 {
    add(a * b, c)
}

/// `a / b`.
#[inline(always)]
pub fn div(a: f64, b: f64) -> f64 {
    let quotient = a / b;
    if !quotient.is_finite() || !b.is_finite() {
        return quotient;
    }
    let remainder = (-quotient).mul_add(b, a);
    to_odd(quotient, if b < 0.0 { -remainder } else { remainder })
}

/// The square root of `a`.
#[inline(always)]
pub fn sqrt(a: f64) -> f64 {
    let root = a.sqrt();
    if !root.is_finite() { root } else { to_odd(root, (-root).mul_add(root, a)) }
}
