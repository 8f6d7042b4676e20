//! Element types of a launch file, and their values as text.

use crate::float::Round;
use crate::float::format::{BF16, F16};
use crate::ptx::ScalarType;
use serde::de::{Deserialize, Deserializer, Error};

/// The type of a buffer's elements or of an argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "each variant is the PTX type of the same name")]
pub enum Type {
    U8,
    S8,
    B8,
    U16,
    S16,
    B16,
    F16,
    Bf16,
    U32,
    S32,
    B32,
    F32,
    U64,
    S64,
    B64,
    F64,
}

impl Type {
    const ALL: [(&'static str, Type); 16] = [
        ("u8", Type::U8),
        ("s8", Type::S8),
        ("b8", Type::B8),
        ("u16", Type::U16),
        ("s16", Type::S16),
        ("b16", Type::B16),
        ("f16", Type::F16),
        ("bf16", Type::Bf16),
        ("u32", Type::U32),
        ("s32", Type::S32),
        ("b32", Type::B32),
        ("f32", Type::F32),
        ("u64", Type::U64),
        ("s64", Type::S64),
        ("b64", Type::B64),
        ("f64", Type::F64),
    ];

    /// The type's name in a launch file.
    pub fn name(self) -> &'static str {
        Type::ALL.iter().find(|(_, ty)| *ty == self).map_or("", |(name, _)| name)
    }

    /// Bytes of an element.
    pub fn bytes(self) -> usize {
        match self {
            Type::U8 | Type::S8 | Type::B8 => 1,
            Type::U16 | Type::S16 | Type::B16 | Type::F16 | Type::Bf16 => 2,
            Type::U32 | Type::S32 | Type::B32 | Type::F32 => 4,
            Type::U64 | Type::S64 | Type::B64 | Type::F64 => 8,
        }
    }

    /// Whether elements are floating-point numbers.
    pub fn is_float(self) -> bool {
        matches!(self, Type::F16 | Type::Bf16 | Type::F32 | Type::F64)
    }

    /// Whether elements are signed integers.
    pub fn is_signed(self) -> bool {
        matches!(self, Type::S8 | Type::S16 | Type::S32 | Type::S64)
    }

    /// The bits of the number of this type that is nearest to a double.
    pub fn round(self, value: f64) -> u64 {
        match self {
            Type::F16 => u64::from(F16.round(value, Round::Even)),
            Type::Bf16 => u64::from(BF16.round(value, Round::Even)),
            Type::F32 => u64::from((value as f32).to_bits()),
            _ => value.to_bits(),
        }
    }

    /// The value of the bits of a floating-point type.
    pub fn widen(self, bits: u64) -> f64 {
        match self {
            Type::F16 => F16.widen(bits as u32),
            Type::Bf16 => BF16.widen(bits as u32),
            Type::F32 => f64::from(f32::from_bits(bits as u32)),
            _ => f64::from_bits(bits),
        }
    }
}

impl<'de> Deserialize<'de> for Type {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Type, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        Type::ALL
            .iter()
            .find(|(name, _)| *name == text)
            .map(|(_, ty)| *ty)
            .ok_or_else(|| D::Error::custom(format!("`{text}` is not an element type")))
    }
}

impl TryFrom<ScalarType> for Type {
    type Error = ();

    fn try_from(ty: ScalarType) -> Result<Type, ()> {
        Type::ALL.iter().find(|(name, _)| *name == ty.name()).map(|(_, ty)| *ty).ok_or(())
    }
}

/// An element as JSON: integers in full, floating-point numbers as the shortest decimal that reads
/// back to the same bits, NaNs and infinities as strings.
pub fn show(ty: Type, bits: u64) -> String {
    let unused = 64 - 8 * ty.bytes() as u32;
    if ty.is_signed() {
        return ((bits << unused) as i64 >> unused).to_string();
    }
    if !ty.is_float() {
        return bits.to_string();
    }
    let value = ty.widen(bits);
    if value.is_nan() {
        return "\"nan\"".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "\"inf\"" } else { "\"-inf\"" }.to_owned();
    }
    let digits = match ty {
        Type::F32 => format!("{:e}", value as f32),
        Type::F64 => format!("{value:e}"),
        _ => (0..8)
            .map(|digits| format!("{value:.digits$e}"))
            .find(|text| text.parse().is_ok_and(|parsed| ty.round(parsed) == bits))
            .unwrap_or_else(|| format!("{value:e}")),
    };
    plain(&digits)
}

/// `1.5e0` as `1.5`; the exponent stays if the plain form would be long.
fn plain(scientific: &str) -> String {
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if !(-5..=16).contains(&exponent) {
        let point = if mantissa.contains('.') { "" } else { ".0" };
        return format!("{mantissa}{point}e{exponent}");
    }
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", mantissa),
    };
    let digits = mantissa.replace('.', "");
    if exponent < 0 {
        return format!("{sign}0.{}{digits}", "0".repeat((-exponent - 1) as usize));
    }
    let whole = exponent as usize + 1;
    if digits.len() <= whole {
        return format!("{sign}{digits}{}.0", "0".repeat(whole - digits.len()));
    }
    format!("{sign}{}.{}", &digits[..whole], &digits[whole..])
}
