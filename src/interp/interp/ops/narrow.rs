//! Conversions of two numbers at a time: `.f16x2 .bf16x2` and the formats of 8, 6 and 4 bits (PTX
//! ISA, "cvt"). Each number goes through a double, which holds all of these formats exactly.

use super::cvt_modifiers::Modifiers;
use crate::algebra::{self, Meaning, Mode};
use crate::float::Round;
use crate::float::format::{BF16, E2M1, E2M3, E3M2, E4M3, E5M2, F16};
use crate::float::{Format, flush32};
use crate::interp::decode::{Decoder, Inst};
use crate::interp::fault::Fault;
use crate::isa::{Modifier, Qualifier};
use crate::ptx::ScalarType::{self, B8, B16, B32, F32};

/// A type of two numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Pair {
    /// Numbers of a format, each in a field; its width in bits.
    Of(Format, u32),
    /// `.ue8m0x2`: powers of two without a sign, each in a byte.
    Powers,
    /// Two registers of singles; a source only.
    Singles,
}

impl Pair {
    /// The pair that a modifier names.
    pub(super) fn of(modifier: Modifier) -> Option<Pair> {
        Some(match modifier {
            Modifier::Type(ScalarType::F16x2) => Pair::Of(F16, 16),
            Modifier::Type(ScalarType::Bf16x2) => Pair::Of(BF16, 16),
            Modifier::Type(ScalarType::F32) => Pair::Singles,
            Modifier::Qualifier(Qualifier::E4m3x2) => Pair::Of(E4M3, 8),
            Modifier::Qualifier(Qualifier::E5m2x2) => Pair::Of(E5M2, 8),
            Modifier::Qualifier(Qualifier::E2m3x2) => Pair::Of(E2M3, 8),
            Modifier::Qualifier(Qualifier::E3m2x2) => Pair::Of(E3M2, 8),
            Modifier::Qualifier(Qualifier::E2m1x2) => Pair::Of(E2M1, 4),
            Modifier::Qualifier(Qualifier::Ue8m0x2) => Pair::Powers,
            _ => return None,
        })
    }

    /// Bits of one number's place.
    fn bits(self) -> u32 {
        match self {
            Pair::Of(_, bits) => bits,
            Pair::Powers => 8,
            Pair::Singles => 32,
        }
    }

    fn register(self) -> ScalarType {
        match self.bits() {
            4 => B8,
            8 => B16,
            _ => B32,
        }
    }

    fn widen(self, bits: u64) -> f64 {
        let bits = bits as u32;
        match self {
            Pair::Of(format, 4) => format.widen(bits & 0xf),
            Pair::Of(format, width) => format.widen(bits & (u32::MAX >> (32 - width))),
            Pair::Powers if bits & 0xff == 0xff => f64::NAN,
            Pair::Powers => 2_f64.powi((bits & 0xff) as i32 - 127),
            Pair::Singles => f64::from(f32::from_bits(bits)),
        }
    }
}

/// Rounds a number, and clamps an overflow to the largest finite number.
pub(super) fn finite(format: Format, value: f64, mode: Round) -> u32 {
    let largest = format.widen(format.max_finite());
    if value.is_nan() { format.nan() } else { format.round(value.clamp(-largest, largest), mode) }
}

/// Turns negative numbers to +0; NaN stays.
pub(super) fn rectify(value: f64) -> f64 {
    if value <= 0.0 { 0.0 } else { value }
}

/// The power of two below or above a magnitude.
fn power(value: f64, up: bool, clamp: bool) -> u32 {
    let magnitude = value.abs();
    if magnitude.is_nan() {
        return 0xff;
    }
    let exponent = if magnitude.is_infinite() {
        0xff
    } else if magnitude < 2_f64.powi(-127) {
        0
    } else {
        let exponent = libm::ilogb(magnitude);
        exponent + 127 + i32::from(up && magnitude != 2_f64.powi(exponent))
    };
    exponent.min(if clamp { 0xfe } else { 0xff }) as u32
}

/// `cvt.round{.relu}{.satfinite}.to.from d, a{, b}`: of two registers the second gives the low half.
pub(super) fn decode<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &Inst<'m, 's>,
    modifiers: &Modifiers,
    to: Pair,
    from: Pair,
) -> Result<(), Fault> {
    let unsupported =
        || Err(inst.unsupported(format!("`{}` is not modelled", inst.ast.opcode.text)));
    let Modifiers { round, ftz, saturate, finite: clamp, relu, integral } = *modifiers;
    let mode = round.unwrap_or(Round::Even);
    let narrow: Box<dyn Fn(f64) -> u32 + Send + Sync> = match to {
        _ if saturate || integral.is_some() => return unsupported(),
        Pair::Of(format, _) if clamp => Box::new(move |value| finite(format, value, mode)),
        Pair::Of(format, _) => Box::new(move |value| format.round(value, mode)),
        Pair::Powers if matches!(mode, Round::Zero | Round::Up) => {
            Box::new(move |value| power(value, mode == Round::Up, clamp))
        }
        _ => return unsupported(),
    };
    let one = move |bits: u64| {
        let value = from.widen(bits);
        let value = if ftz { f64::from(flush32(value as f32)) } else { value };
        u64::from(narrow(if relu { rectify(value) } else { value }))
    };
    let format = match to {
        Pair::Of(F16, _) => Some(algebra::Format::F16),
        Pair::Of(BF16, _) => Some(algebra::Format::Bf16),
        _ => None,
    };
    let mode = match mode {
        Round::Even => Some(Mode::EVEN),
        Round::Zero => Some(Mode(Mode::ZERO)),
        _ => None,
    };
    let meaning = match (format, mode) {
        (Some(to), Some(mode)) if !(relu || clamp || ftz) => {
            Meaning::Pack { from: algebra::Format::F32, to, mode }
        }
        _ => Meaning::Unknown,
    };
    let place = to.bits();
    let d = to.register();
    if from == Pair::Singles {
        let sources = (&[F32, F32][..], meaning);
        return cx.scalar(inst, d, sources, move |[a, b, ..]| Ok(one(b) | one(a) << place));
    }
    let apart = from.bits();
    let source = (&[from.register()][..], Meaning::Unknown);
    cx.scalar(inst, d, source, move |[a, ..]| Ok(one(a) | one(a >> apart) << place))
}
