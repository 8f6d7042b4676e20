//! Double precision in the rounding modes that the host's arithmetic does not use.

use rustc_apfloat::ieee::Double;
use rustc_apfloat::{Float, Round as ApRound, StatusAnd};

use super::Round;

fn mode(round: Round) -> ApRound {
    match round {
        Round::Even => ApRound::NearestTiesToEven,
        Round::Away => ApRound::NearestTiesToAway,
        Round::Zero => ApRound::TowardZero,
        Round::Down => ApRound::TowardNegative,
        Round::Up => ApRound::TowardPositive,
    }
}

fn wrap(value: f64) -> Double {
    Double::from_bits(u128::from(value.to_bits()))
}

fn unwrap(result: StatusAnd<Double>) -> f64 {
    f64::from_bits(result.value.to_bits() as u64)
}

/// `a + b`.
pub fn add(a: f64, b: f64, round: Round) -> f64 {
    unwrap(wrap(a).add_r(wrap(b), mode(round)))
}

/// `a * b`.
pub fn mul(a: f64, b: f64, round: Round) -> f64 {
    unwrap(wrap(a).mul_r(wrap(b), mode(round)))
}

/// `a * b + c`.
pub fn fma(a: f64, b: f64, c: f64, round: Round) -> f64 {
    unwrap(wrap(a).mul_add_r(wrap(b), wrap(c), mode(round)))
}

/// `a / b`.
pub fn div(a: f64, b: f64, round: Round) -> f64 {
    unwrap(wrap(a).div_r(wrap(b), mode(round)))
}

/// The square root of `a`.
pub fn sqrt(a: f64, round: Round) -> f64 {
    let root = a.sqrt();
    if !root.is_finite() || root == 0.0 {
        return root;
    }
    // The sign of a - root^2, computed where it cannot underflow: 2^108 has the root 2^54.
    let (scaled, scaled_root) = if a < f64::MIN_POSITIVE * 2_f64.powi(108) {
        (a * 2_f64.powi(108), root * 2_f64.powi(54))
    } else {
        (a, root)
    };
    let remainder = (-scaled_root).mul_add(scaled_root, scaled);
    match round {
        Round::Up if remainder > 0.0 => root.next_up(),
        Round::Zero | Round::Down if remainder < 0.0 => root.next_down(),
        _ => root,
    }
}
