//! `cvt` (PTX ISA, "Data Movement and Conversion Instructions: cvt").
//!
//! A conversion goes through a wide value, in one or two operations: integers through 64 bits,
//! floating-point numbers through a double, which holds all narrower formats exactly.

use super::cvt_modifiers::Modifiers;
use super::half::{bf16_value, f16_value};
use super::narrow::{self, Pair, finite, rectify};
use crate::algebra::{Format, Meaning, Mode, Real};
use crate::float::Round;
use crate::float::format::{BF16, F16, F32 as SINGLE, TF32};
use crate::float::{Format as Layout, canonical32, canonical64, flush32, saturate64};
use crate::interp::decode::{Decoder, Inst};
use crate::interp::fault::Fault;
use crate::interp::registers::{File, Slot, WarpFn, warp};
use crate::isa::{Modifier, Qualifier};
use crate::ptx::ScalarType::{
    self, B8, B16, B32, Bf16, F16 as Half, F32, F64, S8, S16, S32, S64, Tf32, U8, U16, U32, U64,
};

/// `cvt{.round}{.ftz}{.sat}{.relu}{.satfinite}.dtype.atype d, a{, b}`.
pub(super) fn decode<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &mut Inst<'m, 's>,
) -> Result<(), Fault> {
    if inst.take(Qualifier::Pack) {
        return pack(cx, inst);
    }
    let modifiers = Modifiers::take(inst);
    let pairs = |m: &Modifier| Pair::of(*m).is_some_and(|pair| pair != Pair::Singles);
    if inst.ast.form.modifiers().iter().any(pairs) {
        let mut next = || {
            let pair = inst.take_with(Pair::of);
            pair.ok_or_else(|| inst.unsupported("this conversion of pairs is not modelled"))
        };
        let (to, from) = (next()?, next()?);
        return narrow::decode(cx, inst, &modifiers, to, from);
    }
    let (to, from) = (inst.take_type()?, inst.take_type()?);
    inst.finish()?;
    if inst.operands().len() != 2 {
        return Err(inst.unsupported("`cvt` takes two operands"));
    }
    let (d, a) = (inst.operand(0)?, inst.operand(1)?);
    if let Some(run) = direct(&modifiers, to, from) {
        return cx.apply_wide(run, (d, to), &[(a, from)]);
    }
    let a = cx.source_low(a, from)?;
    let unsupported = || inst.bad_type(to);
    let wide = cx.scratch(File::W64);
    let result = match (to.is_float(), from.is_float()) {
        (false, false) => {
            cx.emit_lanes(integer_in(from).ok_or_else(unsupported)?, &[wide], &[a]);
            let unsigned = from == U64;
            let run = integer_out(to, modifiers.saturate, unsigned).ok_or_else(unsupported)?;
            (run, vec![wide])
        }
        (true, false) => {
            cx.emit_lanes(integer_in(from).ok_or_else(unsupported)?, &[wide], &[a]);
            let double = if from == U64 {
                warp!(means Meaning::FromInteger(Format::F64, false);
                    |a: u64| -> f64 { odd_from(i128::from(a)) })
            } else {
                warp!(means Meaning::FromInteger(Format::F64, true);
                    |a: i64| -> f64 { odd_from(i128::from(a)) })
            };
            // A double is rounded from the integer itself.
            if to == F64 {
                let run =
                    integer_to_double(from == U64, modifiers.round).ok_or_else(unsupported)?;
                (run, vec![wide])
            } else {
                cx.emit_lanes(double, &[wide], &[wide]);
                (float_out(cx, wide, to, &modifiers).ok_or_else(unsupported)?, vec![wide])
            }
        }
        (_, true) => {
            cx.emit_lanes(float_in(from, modifiers.ftz).ok_or_else(unsupported)?, &[wide], &[a]);
            if let Some(mode) = modifiers.integral {
                cx.emit_lanes(integral_part(mode), &[wide], &[wide]);
            }
            if to.is_float() {
                (float_out(cx, wide, to, &modifiers).ok_or_else(unsupported)?, vec![wide])
            } else {
                let special = from == F64 || to.bits() == 64;
                (float_to_integer(to, special).ok_or_else(unsupported)?, vec![wide])
            }
        }
    };
    let temporary = cx.temporary(d, to)?;
    cx.emit_lanes(result.0, &[temporary], &result.1);
    cx.store_wide(d, to, temporary)
}

/// The frequent conversions in one step.
fn direct(modifiers: &Modifiers, to: ScalarType, from: ScalarType) -> Option<WarpFn> {
    if modifiers.ftz || modifiers.saturate || modifiers.relu || modifiers.finite {
        return None;
    }
    Some(match (to, from, modifiers.round, modifiers.integral) {
        (S64, S32, None, None) => warp!(bits 1; |a: i32| -> i64 { i64::from(a) }),
        (U64, U32, None, None) => warp!(bits 1; |a: u32| -> u64 { u64::from(a) }),
        (U32 | S32, U64 | S64, None, None) => warp!(bits 1; |a: u64| -> u32 { a as u32 }),
        (U32 | S32, U16, None, None) => warp!(bits 1; |a: u16| -> u32 { u32::from(a) }),
        (U32 | S32, S16, None, None) => warp!(bits 1; |a: i16| -> i32 { i32::from(a) }),
        (U16 | S16, U32 | S32, None, None) => warp!(bits 1; |a: u32| -> u16 { a as u16 }),
        (F32, S32, Some(Round::Even), None) => {
            warp!(means Meaning::FromInteger(Format::F32, true); |a: i32| -> f32 { a as f32 })
        }
        (F32, U32, Some(Round::Even), None) => {
            warp!(means Meaning::FromInteger(Format::F32, false); |a: u32| -> f32 { a as f32 })
        }
        (F64, S32, Some(Round::Even), None) => {
            warp!(means Meaning::FromInteger(Format::F64, true); |a: i32| -> f64 { f64::from(a) })
        }
        (F64, U32, Some(Round::Even), None) => {
            warp!(means Meaning::FromInteger(Format::F64, false); |a: u32| -> f64 { f64::from(a) })
        }
        (F64, F32, None, None) => {
            warp!(means change(Format::F32, Format::F64, 0); |a: f32| -> f64 { canonical64(f64::from(a)) })
        }
        (F32, F64, Some(Round::Even), None) => {
            warp!(means change(Format::F64, Format::F32, 0); |a: f64| -> f32 { canonical32(a as f32) })
        }
        (S32, F32, None, Some(Round::Zero)) => {
            warp!(means Meaning::ToInteger(Format::F32); |a: f32| -> i32 { a as i32 })
        }
        (U32, F32, None, Some(Round::Zero)) => {
            warp!(means Meaning::ToInteger(Format::F32); |a: f32| -> u32 { a as u32 })
        }
        _ => return None,
    })
}

/// Any integer, extended to 64 bits by its own sign.
fn integer_in(from: ScalarType) -> Option<WarpFn> {
    Some(match from {
        U8 | B8 => warp!(bits 1; |a: u8| -> u64 { u64::from(a) }),
        S8 => warp!(bits 1; |a: i8| -> i64 { i64::from(a) }),
        U16 | B16 => warp!(bits 1; |a: u16| -> u64 { u64::from(a) }),
        S16 => warp!(bits 1; |a: i16| -> i64 { i64::from(a) }),
        U32 | B32 => warp!(bits 1; |a: u32| -> u64 { u64::from(a) }),
        S32 => warp!(bits 1; |a: i32| -> i64 { i64::from(a) }),
        U64 | S64 | ScalarType::B64 => warp!(bits 1; |a: u64| -> u64 { a }),
        _ => return None,
    })
}

/// Truncates a 64-bit integer, or clamps it to the type's range.
fn integer_out(to: ScalarType, saturate: bool, unsigned: bool) -> Option<WarpFn> {
    macro_rules! narrow {
        ($t:ty) => {
            match (saturate, unsigned) {
                (false, _) => warp!(bits 1; |a: i64| -> $t { a as $t }),
                (true, false) => warp!(|a: i64| -> $t {
                    <$t>::try_from(a).unwrap_or(if a < 0 { <$t>::MIN } else { <$t>::MAX })
                }),
                (true, true) => warp!(|a: u64| -> $t { <$t>::try_from(a).unwrap_or(<$t>::MAX) }),
            }
        };
    }
    Some(match to {
        U8 | B8 => narrow!(u8),
        S8 => narrow!(i8),
        U16 | B16 => narrow!(u16),
        S16 => narrow!(i16),
        U32 | B32 => narrow!(u32),
        S32 => narrow!(i32),
        U64 | ScalarType::B64 => narrow!(u64),
        S64 => narrow!(i64),
        _ => return None,
    })
}

/// An integer as a double, rounded to odd.
fn odd_from(value: i128) -> f64 {
    let nearest = value as f64;
    let error = value - nearest as i128;
    if error == 0 || nearest.to_bits() & 1 != 0 {
        nearest
    } else if error > 0 {
        nearest.next_up()
    } else {
        nearest.next_down()
    }
}

fn double_from(value: i128, round: Round) -> f64 {
    let nearest = value as f64;
    let error = value - nearest as i128;
    let up = match round {
        Round::Up => true,
        Round::Zero => value < 0,
        _ => false,
    };
    match (round, error.signum()) {
        (Round::Even | Round::Away, _) | (_, 0) => nearest,
        (_, 1) if up => nearest.next_up(),
        (_, -1) if !up => nearest.next_down(),
        _ => nearest,
    }
}

fn integer_to_double(unsigned: bool, round: Option<Round>) -> Option<WarpFn> {
    Some(match (unsigned, round?) {
        (false, Round::Even) => {
            warp!(means Meaning::FromInteger(Format::F64, true); |a: i64| -> f64 { a as f64 })
        }
        (true, Round::Even) => {
            warp!(means Meaning::FromInteger(Format::F64, false); |a: u64| -> f64 { a as f64 })
        }
        (false, Round::Zero) => {
            warp!(means Meaning::FromInteger(Format::F64, true); |a: i64| -> f64 { double_from(a.into(), Round::Zero) })
        }
        (true, Round::Zero) => {
            warp!(means Meaning::FromInteger(Format::F64, false); |a: u64| -> f64 { double_from(a.into(), Round::Zero) })
        }
        (false, Round::Down) => {
            warp!(means Meaning::FromInteger(Format::F64, true); |a: i64| -> f64 { double_from(a.into(), Round::Down) })
        }
        (true, Round::Down) => {
            warp!(means Meaning::FromInteger(Format::F64, false); |a: u64| -> f64 { double_from(a.into(), Round::Down) })
        }
        (false, Round::Up) => {
            warp!(means Meaning::FromInteger(Format::F64, true); |a: i64| -> f64 { double_from(a.into(), Round::Up) })
        }
        (true, Round::Up) => {
            warp!(means Meaning::FromInteger(Format::F64, false); |a: u64| -> f64 { double_from(a.into(), Round::Up) })
        }
        _ => return None,
    })
}

/// The meaning of a change of the format.
const fn change(from: Format, to: Format, mode: u8) -> Meaning {
    Meaning::convert(from, to, mode)
}

/// A number of any format as a double.
fn float_in(from: ScalarType, ftz: bool) -> Option<WarpFn> {
    Some(match (from, ftz) {
        (F32, false) => {
            warp!(means change(Format::F32, Format::F64, 0); |a: f32| -> f64 { f64::from(a) })
        }
        (F32, true) => {
            warp!(means change(Format::F32, Format::F64, Mode::FTZ); |a: f32| -> f64 { f64::from(flush32(a)) })
        }
        // Subnormal doubles are kept: `.ftz` concerns singles.
        (F64, _) => warp!(means Meaning::real(Real::Same, Format::F64, 0); |a: f64| -> f64 { a }),
        (Half, _) => {
            warp!(means change(Format::F16, Format::F64, 0); |a: u16| -> f64 { f16_value(a) })
        }
        (Bf16, _) => {
            warp!(means change(Format::Bf16, Format::F64, 0); |a: u16| -> f64 { bf16_value(a) })
        }
        _ => return None,
    })
}

fn integral_part(mode: Round) -> WarpFn {
    match mode {
        Round::Zero => {
            warp!(means Meaning::real(Real::Trunc, Format::F64, 0); |a: f64| -> f64 { canonical64(a.trunc()) })
        }
        Round::Down => {
            warp!(means Meaning::real(Real::Floor, Format::F64, 0); |a: f64| -> f64 { canonical64(a.floor()) })
        }
        Round::Up => {
            warp!(means Meaning::real(Real::Ceil, Format::F64, 0); |a: f64| -> f64 { canonical64(a.ceil()) })
        }
        _ => warp!(means Meaning::real(Real::Nearest, Format::F64, 0);
            |a: f64| -> f64 { canonical64(a.round_ties_even()) }),
    }
}

/// Clamps to the type's range. For a NaN the result is 0, or the top bit alone if a double or 64 bits
/// are involved.
fn float_to_integer(to: ScalarType, special: bool) -> Option<WarpFn> {
    macro_rules! clamp {
        ($t:ty, $top:expr) => {
            if special {
                warp!(|a: f64| -> $t { if a.is_nan() { $top } else { a as $t } })
            } else {
                warp!(|a: f64| -> $t { a as $t })
            }
        };
    }
    Some(match to {
        U8 => clamp!(u8, 1 << 7),
        S8 => clamp!(i8, i8::MIN),
        U16 => clamp!(u16, 1 << 15),
        S16 => clamp!(i16, i16::MIN),
        U32 if !special => {
            warp!(means Meaning::ToInteger(Format::F64); |a: f64| -> u32 { a as u32 })
        }
        S32 if !special => {
            warp!(means Meaning::ToInteger(Format::F64); |a: f64| -> i32 { a as i32 })
        }
        U32 => clamp!(u32, 1 << 31),
        S32 => clamp!(i32, i32::MIN),
        U64 => clamp!(u64, 1 << 63),
        S64 => clamp!(i64, i64::MIN),
        _ => return None,
    })
}

/// Rounds a double to a format. Saturation and rectification come first: their bounds are exact
/// in every format.
fn float_out(
    cx: &mut Decoder<'_, '_, '_>,
    wide: Slot,
    to: ScalarType,
    modifiers: &Modifiers,
) -> Option<WarpFn> {
    if modifiers.saturate {
        let clamp = warp!(means Meaning::real(Real::Sat, Format::F64, 0);
            |a: f64| -> f64 { saturate64(a) });
        cx.emit_lanes(clamp, &[wide], &[wide]);
    }
    if modifiers.relu {
        let clamp = warp!(means Meaning::real(Real::Relu, Format::F64, 0);
            |a: f64| -> f64 { rectify(a) });
        cx.emit_lanes(clamp, &[wide], &[wide]);
    }
    let mode = modifiers.round.unwrap_or(Round::Even);
    Some(match (to, mode, modifiers.ftz) {
        (F64, ..) => {
            warp!(means Meaning::real(Real::Same, Format::F64, 0); |a: f64| -> f64 { canonical64(a) })
        }
        (F32, Round::Even, false) => {
            warp!(means change(Format::F64, Format::F32, 0); |a: f64| -> f32 { canonical32(a as f32) })
        }
        (F32, Round::Even, true) => {
            warp!(means change(Format::F64, Format::F32, Mode::FTZ); |a: f64| -> f32 { flush32(canonical32(a as f32)) })
        }
        (F32, Round::Zero, false) => {
            warp!(means change(Format::F64, Format::F32, Mode::ZERO); |a: f64| -> u32 { SINGLE.round(a, Round::Zero) })
        }
        (F32, Round::Down, false) => {
            warp!(means change(Format::F64, Format::F32, Mode::DOWN); |a: f64| -> u32 { SINGLE.round(a, Round::Down) })
        }
        (F32, Round::Up, false) => {
            warp!(means change(Format::F64, Format::F32, Mode::UP); |a: f64| -> u32 { SINGLE.round(a, Round::Up) })
        }
        (F32, Round::Zero, true) => {
            warp!(means change(Format::F64, Format::F32, Mode::ZERO | Mode::FTZ); |a: f64| -> f32 { flush32(f32::from_bits(SINGLE.round(a, Round::Zero))) })
        }
        (F32, Round::Down, true) => {
            warp!(means change(Format::F64, Format::F32, Mode::DOWN | Mode::FTZ); |a: f64| -> f32 { flush32(f32::from_bits(SINGLE.round(a, Round::Down))) })
        }
        (F32, Round::Up, true) => {
            warp!(means change(Format::F64, Format::F32, Mode::UP | Mode::FTZ); |a: f64| -> f32 { flush32(f32::from_bits(SINGLE.round(a, Round::Up))) })
        }
        (Half, ..) => narrow_out(F16, mode, modifiers.finite)?,
        (Bf16, ..) => narrow_out(BF16, mode, modifiers.finite)?,
        (Tf32, Round::Away, _) if modifiers.finite => {
            warp!(means change(Format::F64, Format::Tf32, Mode::ZERO | Mode::UP); |a: f64| -> u32 { finite(TF32, a, Round::Away) << 13 })
        }
        (Tf32, Round::Even, _) if modifiers.finite => {
            warp!(means change(Format::F64, Format::Tf32, 0); |a: f64| -> u32 { finite(TF32, a, Round::Even) << 13 })
        }
        (Tf32, Round::Zero, _) if modifiers.finite => {
            warp!(means change(Format::F64, Format::Tf32, Mode::ZERO); |a: f64| -> u32 { finite(TF32, a, Round::Zero) << 13 })
        }
        (Tf32, Round::Away, _) => {
            warp!(means change(Format::F64, Format::Tf32, Mode::ZERO | Mode::UP); |a: f64| -> u32 { TF32.round(a, Round::Away) << 13 })
        }
        (Tf32, Round::Even, _) => {
            warp!(means change(Format::F64, Format::Tf32, 0); |a: f64| -> u32 { TF32.round(a, Round::Even) << 13 })
        }
        (Tf32, Round::Zero, _) => {
            warp!(means change(Format::F64, Format::Tf32, Mode::ZERO); |a: f64| -> u32 { TF32.round(a, Round::Zero) << 13 })
        }
        _ => return None,
    })
}

fn narrow_out(format: Layout, mode: Round, clamp: bool) -> Option<WarpFn> {
    macro_rules! to {
        ($format:ident, $narrow:expr) => {
            match (mode, clamp) {
                (Round::Even, true) => warp!(means change(Format::F64, $narrow, 0); |a: f64| -> u32 { finite($format, a, Round::Even) }),
                (Round::Zero, true) => warp!(means change(Format::F64, $narrow, Mode::ZERO); |a: f64| -> u32 { finite($format, a, Round::Zero) }),
                (Round::Even, false) => warp!(means change(Format::F64, $narrow, 0); |a: f64| -> u32 { $format.round(a, Round::Even) }),
                (Round::Away, false) => warp!(means change(Format::F64, $narrow, Mode::ZERO | Mode::UP); |a: f64| -> u32 { $format.round(a, Round::Away) }),
                (Round::Zero, false) => warp!(means change(Format::F64, $narrow, Mode::ZERO); |a: f64| -> u32 { $format.round(a, Round::Zero) }),
                (Round::Down, false) => warp!(means change(Format::F64, $narrow, Mode::DOWN); |a: f64| -> u32 { $format.round(a, Round::Down) }),
                (Round::Up, false) => warp!(means change(Format::F64, $narrow, Mode::UP); |a: f64| -> u32 { $format.round(a, Round::Up) }),
                _ => return None,
            }
        };
    }
    Some(match format {
        F16 => to!(F16, Format::F16),
        BF16 => to!(BF16, Format::Bf16),
        _ => return None,
    })
}

/// `cvt.pack.sat.{u16,s16}.s32 d, a, b` and `cvt.pack.sat.{u8,s8,u4,s4,u2,s2}.s32.b32 d, a, b, c`.
fn pack<'m, 's>(cx: &mut Decoder<'_, 'm, 's>, inst: &mut Inst<'m, 's>) -> Result<(), Fault> {
    /// Both values as numbers of some bits, in front of them the low bits of `c`.
    macro_rules! joined {
        ($bits:literal, $least:literal..=$greatest:literal) => {
            warp!(|a: i32, b: i32, c: u32| -> u32 {
                let part = |v: i32| v.clamp($least, $greatest) as u32 & ((1 << $bits) - 1);
                c << (2 * $bits) | part(a) << $bits | part(b)
            })
        };
    }
    inst.take(Qualifier::Sat);
    let narrow = [(Qualifier::U4, 4), (Qualifier::S4, 4), (Qualifier::U2, 2), (Qualifier::S2, 2)];
    let (bits, is_signed) = match narrow.into_iter().find(|(to, _)| inst.take(*to)) {
        Some((to, bits)) => (bits, matches!(to, Qualifier::S4 | Qualifier::S2)),
        None => match inst.take_type()? {
            to @ (U16 | S16 | U8 | S8) => (to.bits(), to.is_signed()),
            to => return Err(inst.bad_type(to)),
        },
    };
    inst.take_type()?;
    inst.take_modifier(Modifier::Type(B32));
    inst.finish()?;
    let run = match (bits, is_signed) {
        (16, false) => warp!(|a: i32, b: i32, _c: u32| -> u32 {
            (a.clamp(0, 0xffff) as u32) << 16 | b.clamp(0, 0xffff) as u32
        }),
        (16, true) => warp!(|a: i32, b: i32, _c: u32| -> u32 {
            (a.clamp(-0x8000, 0x7fff) as u32) << 16 | b.clamp(-0x8000, 0x7fff) as u32 & 0xffff
        }),
        (8, false) => joined!(8, 0..=0xff),
        (8, true) => joined!(8, -0x80..=0x7f),
        (4, false) => joined!(4, 0..=0xf),
        (4, true) => joined!(4, -8..=7),
        (_, false) => joined!(2, 0..=3),
        (_, true) => joined!(2, -2..=1),
    };
    let mut types = vec![S32, S32];
    if bits < 16 {
        types.push(B32);
    }
    cx.apply(inst, run, B32, &types)
}
