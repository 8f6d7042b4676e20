//! Which real number a constant in single precision stands for.
//!
//! A compiler folds `1 / 768.0f` and `log2(e) / sqrt(80)` to the nearest number. A constant is read as the simplest real
//! number of a few forms that rounds to exactly its bits; two constants are never read as the same number. One with few
//! significant bits, and one that is near to no simple number, is itself.

use std::f64::consts::{LN_2, LOG2_E, PI};
use std::fmt;

/// The magnitude of the number that a constant stands for. Fractions have a numerator and a denominator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Constant {
    /// Its bits.
    Exact,
    /// A fraction.
    Fraction(i128, i128),
    /// The square root of a fraction.
    Root(i128, i128),
    /// The same times log2(e).
    RootLog2(i128, i128),
    /// A fraction of ln(2).
    Ln2(i128, i128),
    /// A fraction of pi.
    Pi(i128, i128),
    /// A fraction of sqrt(2 / pi), perhaps times log2(e).
    RootTwoOverPi(i128, i128, bool),
}

impl fmt::Display for Constant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let times = |n: i128, d: i128, what: &str| match (n, d) {
            (1, 1) => what.to_owned(),
            (n, 1) => format!("{n}*{what}"),
            (n, d) => format!("{n}/{d}*{what}"),
        };
        let text = match *self {
            Constant::Exact => "itself".to_owned(),
            Constant::Fraction(n, d) => format!("{n}/{d}"),
            Constant::Root(n, 1) => format!("sqrt({n})"),
            Constant::Root(n, d) => format!("sqrt({n}/{d})"),
            Constant::RootLog2(1, 1) => "log2(e)".to_owned(),
            Constant::RootLog2(n, d) => format!("sqrt({n}/{d})*log2(e)"),
            Constant::Ln2(n, d) => times(n, d, "ln(2)"),
            Constant::Pi(n, d) => times(n, d, "pi"),
            Constant::RootTwoOverPi(n, d, false) => times(n, d, "sqrt(2/pi)"),
            Constant::RootTwoOverPi(n, d, true) => times(n, d, "sqrt(2/pi)*log2(e)"),
        };
        f.write_str(&text)
    }
}

/// A constant with at most as many significant bits is itself.
const SHORT: u32 = 11;

/// log2(e).
pub(super) const LOG2_OF_E: u32 = 0x3fb8_aa3b;
/// log2(e) less its nearest number, as `expf` adds it.
pub(super) const TAIL_OF_LOG2_E: u32 = 0x32a5_7060;
/// log2(e) / 252.
pub(super) const SHARE_OF_LOG2_E: u32 = 0x3bbb_989d;

/// The bound of numerator times denominator.
const MOST: f64 = 262_144.0;

/// Whether a constant has few significant bits.
pub(super) fn is_short(value: f64) -> bool {
    let bits = value.to_bits() & ((1 << 52) - 1) | 1 << 52;
    53 - bits.trailing_zeros() <= SHORT
}

/// Reads a finite constant that is not 0.
pub(super) fn read(value: f32) -> Constant {
    let magnitude = value.abs();
    let bits = magnitude.to_bits();
    if is_short(value.into()) || !magnitude.is_normal() {
        return Constant::Exact;
    }
    let rounds = |number: f64| (number as f32).to_bits() == bits;
    let exact = f64::from(magnitude);
    let root = (2.0 / PI).sqrt();
    type Form = fn(i128, i128) -> Constant;
    let forms: [(f64, Form); 5] = [
        (LOG2_E, |n, d| Constant::RootLog2(n * n, d * d)),
        (LN_2, Constant::Ln2),
        (root, |n, d| Constant::RootTwoOverPi(n, d, false)),
        (root * LOG2_E, |n, d| Constant::RootTwoOverPi(n, d, true)),
        (PI, Constant::Pi),
    ];
    for (unit, form) in forms {
        let exponent = (exact / unit).log2().round();
        if exponent.abs() < 30.0 && rounds(unit * exponent.exp2()) {
            let scale = 1_i128 << exponent.abs() as u32;
            return if exponent >= 0.0 { form(scale, 1) } else { form(1, scale) };
        }
    }
    type Value = fn(f64) -> f64;
    let candidates: [(f64, f64, Value, Form); 3] = [
        (exact, 1.0, |ratio| ratio, Constant::Fraction),
        (exact * exact, 8.0, f64::sqrt, Constant::Root),
        ((exact / LOG2_E).powi(2), 16.0, |ratio| ratio.sqrt() * LOG2_E, Constant::RootLog2),
    ];
    let read = candidates.into_iter().filter_map(|(target, price, value, form)| {
        let (n, d) = simplest(target, MOST / price, |ratio| rounds(value(ratio)))?;
        Some((n as f64 * d as f64 * price, form(n, d)))
    });
    let best = read.min_by(|one, other| one.0.total_cmp(&other.0));
    best.map_or(Constant::Exact, |(_, constant)| constant)
}

/// The first convergent of a number that fits, if its numerator times its denominator is at most `most`.
fn simplest(target: f64, most: f64, fits: impl Fn(f64) -> bool) -> Option<(i128, i128)> {
    let (mut n0, mut n1, mut d0, mut d1) = (0_i128, 1_i128, 1_i128, 0_i128);
    let mut rest = target;
    for _ in 0..20 {
        let whole = rest.floor();
        if whole > 1e9 {
            return None;
        }
        (n0, n1) = (n1, whole as i128 * n1 + n0);
        (d0, d1) = (d1, whole as i128 * d1 + d0);
        if n1 as f64 * d1 as f64 > most {
            return None;
        }
        if n1 > 0 && fits(n1 as f64 / d1 as f64) {
            return Some((n1, d1));
        }
        if rest - whole < 1e-13 {
            return None;
        }
        rest = 1.0 / (rest - whole);
    }
    None
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;

    crate::unit_tests!(constants_are_read, neighbours_are_read_as_other_numbers);

    fn constants_are_read() {
        let reads = |value: f64| read(value as f32).to_string();
        assert_eq!(reads(1.0 / 768.0), "1/768");
        assert_eq!(reads(0.1), "1/10");
        assert_eq!(reads(LOG2_E), "log2(e)");
        assert_eq!(reads((1.0_f64 / 80.0).sqrt()), "sqrt(1/80)");
        assert_eq!(reads((1.0_f64 / 80.0).sqrt() * LOG2_E), "sqrt(1/80)*log2(e)");
        assert_eq!(reads(LOG2_E / 8.0), "sqrt(1/64)*log2(e)");
        assert_eq!(reads((2.0 / PI).sqrt()), "sqrt(2/pi)");
        assert_eq!(reads(LN_2), "ln(2)");
        assert_eq!(reads(1.5), "itself");
    }

    fn neighbours_are_read_as_other_numbers() {
        for value in [1.0_f64 / 768.0, 0.1, LOG2_E, LN_2, PI, 0.7] {
            let bits = (value as f32).to_bits();
            for other in [bits - 1, bits + 1] {
                assert_ne!(read(f32::from_bits(other)), read(f32::from_bits(bits)), "{value}");
            }
        }
    }
}
