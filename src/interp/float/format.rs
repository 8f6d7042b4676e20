//! Binary formats narrower than a double: rounding a double to one, and widening.

use super::Round;
use Specials::{Ieee, NanOnly};

/// An interchange format of at most 32 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Format {
    /// Bits of the significand, the hidden one included.
    pub precision: u32,
    /// Exponent of the smallest normal number.
    pub emin: i32,
    /// Exponent of the largest finite number.
    pub emax: i32,
    /// Which values it has besides finite numbers.
    pub specials: Specials,
}

/// Which values a format has besides finite numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Specials {
    /// The topmost exponent holds infinities and NaNs only.
    Ieee,
    /// The topmost exponent holds finite numbers, and NaN in its last place (`.e4m3`).
    NanOnly,
    /// Finite numbers only (`.e2m1` and its like).
    None,
}

/// Half precision.
pub const F16: Format = Format { precision: 11, emin: -14, emax: 15, specials: Ieee };
/// The upper half of a single.
pub const BF16: Format = Format { precision: 8, emin: -126, emax: 127, specials: Ieee };
/// A single with 10 fraction bits.
pub const TF32: Format = Format { precision: 11, emin: -126, emax: 127, specials: Ieee };
/// Single precision.
pub const F32: Format = Format { precision: 24, emin: -126, emax: 127, specials: Ieee };
/// 8 bits, 3 of them fraction; no infinities, NaN is all ones.
pub const E4M3: Format = Format { precision: 4, emin: -6, emax: 8, specials: NanOnly };
/// 8 bits, 2 of them fraction.
pub const E5M2: Format = Format { precision: 3, emin: -14, emax: 15, specials: Ieee };
/// 6 bits, 3 of them fraction.
pub const E2M3: Format = Format { precision: 4, emin: 0, emax: 2, specials: Specials::None };
/// 6 bits, 2 of them fraction.
pub const E3M2: Format = Format { precision: 3, emin: -2, emax: 4, specials: Specials::None };
/// 4 bits, one of them fraction.
pub const E2M1: Format = Format { precision: 2, emin: 0, emax: 2, specials: Specials::None };

impl Format {
    /// The sign bit.
    fn sign_bit(self) -> u32 {
        let fields = self.emax - self.emin + 2 + i32::from(self.specials == Ieee);
        (fields as u32) << (self.precision - 1)
    }

    /// The largest finite magnitude.
    pub fn max_finite(self) -> u32 {
        match self.specials {
            Ieee => self.infinity() - 1,
            NanOnly => self.nan() - 1,
            Specials::None => self.sign_bit() - 1,
        }
    }

    /// The bits behind the largest exponent of finite numbers.
    fn infinity(self) -> u32 {
        ((self.emax - self.emin + 2) as u32) << (self.precision - 1)
    }

    /// The NaN that operations produce; in a format without NaN the largest number.
    pub fn nan(self) -> u32 {
        self.sign_bit() - 1
    }

    /// Whether a magnitude (no sign bit) is a NaN.
    fn is_nan(self, magnitude: u32) -> bool {
        match self.specials {
            Ieee => magnitude > self.infinity(),
            NanOnly => magnitude == self.nan(),
            Specials::None => false,
        }
    }

    /// Rounds a double. On overflow the result is what the mode says; if that is an infinity and the
    /// format has none, it is NaN, or the largest number without NaN either.
    ///
    /// To round the exact result of an operation correctly, hand over that result rounded to odd
    /// (see [`super::odd`]): the formats here are narrow enough for the second rounding to be the
    /// only one that counts.
    pub fn round(self, value: f64, mode: Round) -> u32 {
        let sign = if value.is_sign_negative() { self.sign_bit() } else { 0 };
        if value.is_nan() {
            return self.nan();
        }
        if value == 0.0 {
            return sign;
        }
        if value.is_infinite() {
            return if self.specials == Ieee { sign | self.infinity() } else { self.nan() };
        }
        let bits = value.to_bits();
        let biased = (bits >> 52 & 0x7ff) as i32;
        let fraction = bits & ((1 << 52) - 1);
        // value = significand * 2^exponent
        let (significand, exponent) =
            if biased == 0 { (fraction, -1074) } else { (fraction | 1 << 52, biased - 1075) };
        let scale = (exponent + 52).max(self.emin);
        let drop = ((scale - (self.precision as i32 - 1)) - exponent).min(63) as u32;
        let kept = significand >> drop;
        let lost = significand & ((1_u64 << drop) - 1);
        let half = 1_u64 << (drop - 1);
        let up = match mode {
            Round::Even => lost > half || lost == half && kept & 1 != 0,
            Round::Away => lost >= half,
            Round::Zero => false,
            Round::Down => lost != 0 && sign != 0,
            Round::Up => lost != 0 && sign == 0,
        };
        // The hidden bit of `kept` adds one to the exponent field; a carry does so once more.
        let magnitude =
            (((scale - self.emin) as u64) << (self.precision - 1)) + kept + u64::from(up);
        let magnitude = u32::try_from(magnitude).unwrap_or(u32::MAX);
        if magnitude <= self.max_finite() {
            return sign | magnitude;
        }
        let away = match mode {
            Round::Even | Round::Away => true,
            Round::Zero => false,
            Round::Down => sign != 0,
            Round::Up => sign == 0,
        };
        match (away, self.specials == Ieee) {
            (true, true) => sign | self.infinity(),
            (true, false) => self.nan(),
            (false, _) => sign | self.max_finite(),
        }
    }

    /// The exact value of a number of this format; bits above the format are ignored.
    pub fn widen(self, bits: u32) -> f64 {
        let negative = bits & self.sign_bit() != 0;
        let magnitude = bits & (self.sign_bit() - 1);
        let field = (magnitude >> (self.precision - 1)) as i32;
        let fraction = f64::from(magnitude & ((1 << (self.precision - 1)) - 1));
        let unit = 1.0 - self.precision as f64;
        let absolute = if self.is_nan(magnitude) {
            f64::NAN
        } else if self.specials == Ieee && magnitude == self.infinity() {
            f64::INFINITY
        } else if field == 0 {
            fraction * exp2i(self.emin + unit as i32)
        } else {
            let hidden = f64::from(1_u32 << (self.precision - 1));
            (hidden + fraction) * exp2i(field - 1 + self.emin + unit as i32)
        };
        if negative { -absolute } else { absolute }
    }
}

/// 2 to a power in the range of normal doubles.
fn exp2i(power: i32) -> f64 {
    f64::from_bits(((power + 1023) as u64) << 52)
}
