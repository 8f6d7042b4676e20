//! Single precision (PTX ISA, "Floating Point Instructions").
//!
//! Round-to-nearest is the host's arithmetic with NaNs made canonical. Directed rounding goes
//! through doubles rounded to odd. `.ftz` and `.sat` are operations of their own before and behind
//! the arithmetic, except where speed matters.

use super::half::{bf16_value, f16_value};
use crate::algebra::{Format, Meaning, Mode, Real};
use crate::float::Round;
use crate::float::format::F32 as FORMAT;
use crate::float::{
    NAN32, approx, canonical32, flush32, maximum32 as maximum, minimum32 as minimum, odd,
    saturate32,
};
use crate::interp::decode::{Decoder, Inst};
use crate::interp::fault::Fault;
use crate::interp::registers::{File, Slot, WarpFn, warp};
use crate::isa::{Modifier, Opcode, Qualifier};
use crate::ptx::Operand;
use crate::ptx::ScalarType::{self, F32, F32x2, Pred};

/// All single-precision instructions but comparisons and conversions.
pub(super) fn decode<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &mut Inst<'m, 's>,
) -> Result<(), Fault> {
    let round = inst.take_round();
    let (approximate, full) = (inst.take(Qualifier::Approx), inst.take(Qualifier::Full));
    let (ftz, saturate) = (inst.take(Qualifier::Ftz), inst.take(Qualifier::Sat));
    let propagate = inst.take(Qualifier::PropagateNan);
    let (sign, absolute) = (inst.take(Qualifier::Xorsign), inst.take(Qualifier::Abs));
    let name = inst.ast.form.opcode;
    if name == Opcode::Testp {
        return test(cx, inst);
    }
    let ty = inst.take_type()?;
    // `add sub fma .f32.f16`: all sources but the last are narrower than the result.
    let narrow = match name {
        Opcode::Add | Opcode::Sub | Opcode::Fma if ty == F32 => inst.take_with(|m| match m {
            Modifier::Type(narrow @ (ScalarType::F16 | ScalarType::Bf16)) => Some(narrow),
            _ => None,
        }),
        _ => None,
    };
    let mode = round.unwrap_or(Round::Even);
    // The operation, and whether operands and result still have to be flushed around it.
    let (run, flush) = match (ty, name) {
        (F32, Opcode::Min | Opcode::Max) => {
            (extremum(name == Opcode::Max, propagate, sign && absolute), ftz)
        }
        (F32, Opcode::Copysign) => (
            Some(warp!(means one(Real::Copysign, 0); |a: f32, b: f32| -> f32 { b.copysign(a) })),
            false,
        ),
        (F32, Opcode::Div) if round.is_none() => (Some(division(approximate || !full, ftz)), false),
        (F32, Opcode::Rcp | Opcode::Sqrt) if round.is_none() => (function(name, ftz), false),
        (
            F32,
            Opcode::Rsqrt | Opcode::Sin | Opcode::Cos | Opcode::Lg2 | Opcode::Ex2 | Opcode::Tanh,
        ) => (function(name, ftz), false),
        (F32x2, _)
            if saturate
                || !matches!(name, Opcode::Add | Opcode::Sub | Opcode::Mul | Opcode::Fma) =>
        {
            (None, false)
        }
        (F32 | F32x2, _) if mode == Round::Even && ftz && !saturate => {
            (nearest_flushing(name), false)
        }
        (F32 | F32x2, _) if mode == Round::Even => (nearest(name), ftz),
        (F32 | F32x2, _) => (directed(name, mode), ftz),
        _ => (None, false),
    };
    let run = run.ok_or_else(|| inst.bad_type(ty))?;
    inst.finish()?;
    if ty == F32x2 {
        return packed(cx, inst, run, flush);
    }
    let sources = inst.operands().len().saturating_sub(1);
    // `min` and `max` also take three sources.
    let three = matches!(name, Opcode::Min | Opcode::Max) && sources == 3 && !sign;
    if sources != arity(name) && !three || (absolute && !three && !sign) {
        let message = format!("`{}` is not modelled with {sources} sources", inst.ast.opcode.text);
        return Err(inst.unsupported(message));
    }
    let mut slots = [Slot::default(); 3];
    for (index, slot) in slots[..sources].iter_mut().enumerate() {
        *slot = match narrow {
            Some(ty) if index + 1 < sources => widened(cx, inst.operand(index + 1)?, ty)?,
            _ => cx.source(inst.operand(index + 1)?, F32)?,
        };
    }
    let d = cx.dest(inst.operand(0)?, F32)?;
    if three {
        extremum_of_three(cx, run, d, slots, absolute, flush);
    } else {
        finish(cx, run, d, &mut slots[..sources], flush, saturate);
    }
    Ok(())
}

/// Emits `min` or `max` of three sources: `run` on the first two, then on its result and the third.
fn extremum_of_three(
    cx: &mut Decoder<'_, '_, '_>,
    run: WarpFn,
    d: Slot,
    mut slots: [Slot; 3],
    absolute: bool,
    flush: bool,
) {
    if absolute {
        for slot in &mut slots {
            let magnitude = cx.scratch(File::W32);
            cx.emit_lanes(
                warp!(means one(Real::Abs, 0); |a: f32| -> f32 { a.abs() }),
                &[magnitude],
                &[*slot],
            );
            *slot = magnitude;
        }
    }
    let first = cx.scratch(File::W32);
    finish(cx, run, first, &mut slots[..2].to_vec(), flush, false);
    finish(cx, run, d, &mut [first, slots[2]], flush, false);
}

/// A half or bfloat16 as a single, which holds it exactly.
fn widened<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    operand: &'m Operand<'s>,
    ty: ScalarType,
) -> Result<Slot, Fault> {
    let narrow = cx.source(operand, ty)?;
    let wide = cx.scratch(File::W32);
    let run = match ty {
        ScalarType::F16 => warp!(means Meaning::convert(Format::F16, Format::F32, 0);
            |a: u16| -> f32 { f16_value(a) as f32 }),
        _ => warp!(means Meaning::convert(Format::Bf16, Format::F32, 0);
            |a: u16| -> f32 { bf16_value(a) as f32 }),
    };
    cx.emit_lanes(run, &[wide], &[narrow]);
    Ok(wide)
}

fn arity(name: Opcode) -> usize {
    match name {
        Opcode::Fma | Opcode::Mad => 3,
        Opcode::Add
        | Opcode::Sub
        | Opcode::Mul
        | Opcode::Div
        | Opcode::Min
        | Opcode::Max
        | Opcode::Copysign => 2,
        _ => 1,
    }
}

/// Emits the operation with flushing before and behind it, and saturation at the end.
fn finish(
    cx: &mut Decoder<'_, '_, '_>,
    run: WarpFn,
    d: Slot,
    sources: &mut [Slot],
    flush: bool,
    saturate: bool,
) {
    let flushing = warp!(means one(Real::Same, Mode::FTZ); |a: f32| -> f32 { flush32(a) });
    if flush {
        for slot in sources.iter_mut() {
            let flushed = cx.scratch(File::W32);
            cx.emit_lanes(flushing, &[flushed], &[*slot]);
            *slot = flushed;
        }
    }
    cx.emit_lanes(run, &[d], sources);
    if flush {
        cx.emit_lanes(flushing, &[d], &[d]);
    }
    if saturate {
        cx.emit_lanes(
            warp!(means one(Real::Sat, 0); |a: f32| -> f32 { saturate32(a) }),
            &[d],
            &[d],
        );
    }
}

/// A function of singles.
const fn one(op: Real, mode: u8) -> Meaning {
    Meaning::real(op, Format::F32, mode)
}

fn nearest(name: Opcode) -> Option<WarpFn> {
    Some(match name {
        Opcode::Add => {
            warp!(means one(Real::Add, 0); |a: f32, b: f32| -> f32 { canonical32(a + b) })
        }
        Opcode::Sub => {
            warp!(means one(Real::Sub, 0); |a: f32, b: f32| -> f32 { canonical32(a - b) })
        }
        Opcode::Mul => {
            warp!(means one(Real::Mul, 0); |a: f32, b: f32| -> f32 { canonical32(a * b) })
        }
        Opcode::Fma | Opcode::Mad => {
            warp!(means one(Real::Fma, 0); |a: f32, b: f32, c: f32| -> f32 { canonical32(a.mul_add(b, c)) })
        }
        Opcode::Div => {
            warp!(means one(Real::Div, 0); |a: f32, b: f32| -> f32 { canonical32(a / b) })
        }
        Opcode::Rcp => warp!(means one(Real::Rcp, 0); |a: f32| -> f32 { canonical32(1.0 / a) }),
        Opcode::Sqrt => warp!(means one(Real::Sqrt, 0); |a: f32| -> f32 { canonical32(a.sqrt()) }),
        Opcode::Abs => warp!(means one(Real::Abs, 0); |a: f32| -> f32 { a.abs() }),
        Opcode::Neg => warp!(means one(Real::Neg, 0); |a: f32| -> f32 { -a }),
        _ => return None,
    })
}

/// Round-to-nearest with `.ftz` in one step, for the instructions that `-use_fast_math` makes
/// frequent.
fn nearest_flushing(name: Opcode) -> Option<WarpFn> {
    Some(match name {
        Opcode::Add => {
            warp!(means one(Real::Add, Mode::FTZ); |a: f32, b: f32| -> f32 { flush32(canonical32(flush32(a) + flush32(b))) })
        }
        Opcode::Sub => {
            warp!(means one(Real::Sub, Mode::FTZ); |a: f32, b: f32| -> f32 { flush32(canonical32(flush32(a) - flush32(b))) })
        }
        Opcode::Mul => {
            warp!(means one(Real::Mul, Mode::FTZ); |a: f32, b: f32| -> f32 { flush32(canonical32(flush32(a) * flush32(b))) })
        }
        Opcode::Fma | Opcode::Mad => {
            warp!(means one(Real::Fma, Mode::FTZ); |a: f32, b: f32, c: f32| -> f32 {
                flush32(canonical32(flush32(a).mul_add(flush32(b), flush32(c))))
            })
        }
        Opcode::Div => {
            warp!(means one(Real::Div, Mode::FTZ); |a: f32, b: f32| -> f32 { flush32(canonical32(flush32(a) / flush32(b))) })
        }
        Opcode::Rcp => {
            warp!(means one(Real::Rcp, Mode::FTZ); |a: f32| -> f32 { flush32(canonical32(1.0 / flush32(a))) })
        }
        Opcode::Sqrt => {
            warp!(means one(Real::Sqrt, Mode::FTZ); |a: f32| -> f32 { canonical32(flush32(a).sqrt()) })
        }
        Opcode::Abs => warp!(means one(Real::Abs, Mode::FTZ); |a: f32| -> f32 { flush32(a).abs() }),
        Opcode::Neg => warp!(means one(Real::Neg, Mode::FTZ); |a: f32| -> f32 { -flush32(a) }),
        _ => return None,
    })
}

fn narrow(value: f64, round: Round) -> f32 {
    f32::from_bits(FORMAT.round(value, round))
}

/// A sum in a directed mode: an exact zero of operands that are not equal zeros is negative when
/// rounding down.
fn sum(a: f64, b: f64, round: Round) -> f32 {
    let result = odd::add(a, b);
    let same_zeros = a == 0.0 && b == 0.0 && a.is_sign_negative() == b.is_sign_negative();
    if result == 0.0 && round == Round::Down && !same_zeros { -0.0 } else { narrow(result, round) }
}

/// The same function in each of the three directed modes.
macro_rules! modes {
    ($op:expr, $round:expr, |$($arg:ident),+; $mode:ident| $body:expr) => {
        match $round {
            Round::Zero => warp!(means one($op, Mode::ZERO); |$($arg: f32),+| -> f32 {
                let $mode = Round::Zero;
                $(let $arg = f64::from($arg);)+
                $body
            }),
            Round::Down => warp!(means one($op, Mode::DOWN); |$($arg: f32),+| -> f32 {
                let $mode = Round::Down;
                $(let $arg = f64::from($arg);)+
                $body
            }),
            Round::Up => warp!(means one($op, Mode::UP); |$($arg: f32),+| -> f32 {
                let $mode = Round::Up;
                $(let $arg = f64::from($arg);)+
                $body
            }),
            _ => return None,
        }
    };
}

fn directed(name: Opcode, round: Round) -> Option<WarpFn> {
    Some(match name {
        Opcode::Add => modes!(Real::Add, round, |a, b; mode| sum(a, b, mode)),
        Opcode::Sub => modes!(Real::Sub, round, |a, b; mode| sum(a, -b, mode)),
        Opcode::Mul => modes!(Real::Mul, round, |a, b; mode| narrow(a * b, mode)),
        Opcode::Fma | Opcode::Mad => modes!(Real::Fma, round, |a, b, c; mode| sum(a * b, c, mode)),
        Opcode::Div => modes!(Real::Div, round, |a, b; mode| narrow(odd::div(a, b), mode)),
        Opcode::Rcp => modes!(Real::Rcp, round, |a; mode| narrow(odd::div(1.0, a), mode)),
        Opcode::Sqrt => modes!(Real::Sqrt, round, |a; mode| narrow(odd::sqrt(a), mode)),
        _ => return None,
    })
}

fn division(fast: bool, ftz: bool) -> WarpFn {
    match (fast, ftz) {
        (true, false) => {
            warp!(means one(Real::Div, Mode::APPROX); |a: f32, b: f32| -> f32 { approx::div(a, b, false) })
        }
        (true, true) => {
            warp!(means one(Real::Div, Mode::APPROX | Mode::FTZ); |a: f32, b: f32| -> f32 { approx::div(a, b, true) })
        }
        (false, false) => {
            warp!(means one(Real::Div, 0); |a: f32, b: f32| -> f32 { canonical32(a / b) })
        }
        (false, true) => {
            warp!(means one(Real::Div, Mode::FTZ); |a: f32, b: f32| -> f32 { flush32(canonical32(flush32(a) / flush32(b))) })
        }
    }
}

/// The approximations.
fn function(name: Opcode, ftz: bool) -> Option<WarpFn> {
    Some(match (name, ftz) {
        (Opcode::Rcp, false) => {
            warp!(means one(Real::Rcp, Mode::APPROX); |a: f32| -> f32 { approx::unary(a, false, approx::rcp) })
        }
        (Opcode::Rcp, true) => {
            warp!(means one(Real::Rcp, Mode::APPROX | Mode::FTZ); |a: f32| -> f32 { approx::unary(a, true, approx::rcp) })
        }
        (Opcode::Sqrt, false) => {
            warp!(means one(Real::Sqrt, Mode::APPROX); |a: f32| -> f32 { approx::unary(a, false, f64::sqrt) })
        }
        (Opcode::Sqrt, true) => {
            warp!(means one(Real::Sqrt, Mode::APPROX | Mode::FTZ); |a: f32| -> f32 { approx::unary(a, true, f64::sqrt) })
        }
        (Opcode::Rsqrt, false) => {
            warp!(means one(Real::Rsqrt, Mode::APPROX); |a: f32| -> f32 { approx::unary(a, false, approx::rsqrt) })
        }
        (Opcode::Rsqrt, true) => {
            warp!(means one(Real::Rsqrt, Mode::APPROX | Mode::FTZ); |a: f32| -> f32 { approx::unary(a, true, approx::rsqrt) })
        }
        (Opcode::Sin, false) => {
            warp!(means one(Real::Sin, Mode::APPROX); |a: f32| -> f32 { approx::unary(a, false, libm::sin) })
        }
        (Opcode::Sin, true) => {
            warp!(means one(Real::Sin, Mode::APPROX | Mode::FTZ); |a: f32| -> f32 { approx::unary(a, true, libm::sin) })
        }
        (Opcode::Cos, false) => {
            warp!(means one(Real::Cos, Mode::APPROX); |a: f32| -> f32 { approx::unary(a, false, libm::cos) })
        }
        (Opcode::Cos, true) => {
            warp!(means one(Real::Cos, Mode::APPROX | Mode::FTZ); |a: f32| -> f32 { approx::unary(a, true, libm::cos) })
        }
        (Opcode::Lg2, false) => {
            warp!(means one(Real::Lg2, Mode::APPROX); |a: f32| -> f32 { approx::unary(a, false, libm::log2) })
        }
        (Opcode::Lg2, true) => {
            warp!(means one(Real::Lg2, Mode::APPROX | Mode::FTZ); |a: f32| -> f32 { approx::unary(a, true, libm::log2) })
        }
        (Opcode::Ex2, false) => {
            warp!(means one(Real::Ex2, Mode::APPROX); |a: f32| -> f32 { approx::unary(a, false, libm::exp2) })
        }
        (Opcode::Ex2, true) => {
            warp!(means one(Real::Ex2, Mode::APPROX | Mode::FTZ); |a: f32| -> f32 { approx::unary(a, true, libm::exp2) })
        }
        (Opcode::Tanh, _) => {
            warp!(means one(Real::Tanh, Mode::APPROX); |a: f32| -> f32 { approx::unary(a, false, libm::tanh) })
        }
        _ => return None,
    })
}

/// `min`/`max` with `.NaN` (a NaN operand wins) and `.xorsign.abs` (of magnitudes; the sign is the
/// product's).
fn extremum(max: bool, propagate: bool, absolute: bool) -> Option<WarpFn> {
    Some(match (max, propagate, absolute) {
        (false, false, false) => {
            warp!(means one(Real::Min, 0); |a: f32, b: f32| -> f32 { minimum(a, b) })
        }
        (true, false, false) => {
            warp!(means one(Real::Max, 0); |a: f32, b: f32| -> f32 { maximum(a, b) })
        }
        (false, true, false) => {
            warp!(means one(Real::Min, Mode::NAN); |a: f32, b: f32| -> f32 { either(a, b, minimum) })
        }
        (true, true, false) => {
            warp!(means one(Real::Max, Mode::NAN); |a: f32, b: f32| -> f32 { either(a, b, maximum) })
        }
        (false, false, true) => {
            warp!(|a: f32, b: f32| -> f32 { signed(a, b, minimum(a.abs(), b.abs())) })
        }
        (true, false, true) => {
            warp!(|a: f32, b: f32| -> f32 { signed(a, b, maximum(a.abs(), b.abs())) })
        }
        (false, true, true) => {
            warp!(|a: f32, b: f32| -> f32 { signed(a, b, either(a.abs(), b.abs(), minimum)) })
        }
        (true, true, true) => {
            warp!(|a: f32, b: f32| -> f32 { signed(a, b, either(a.abs(), b.abs(), maximum)) })
        }
    })
}

fn either(a: f32, b: f32, choose: fn(f32, f32) -> f32) -> f32 {
    if a.is_nan() || b.is_nan() { f32::from_bits(NAN32) } else { choose(a, b) }
}

fn signed(a: f32, b: f32, magnitude: f32) -> f32 {
    let sign = (a.to_bits() ^ b.to_bits()) & 0x8000_0000;
    if magnitude.is_nan() { magnitude } else { f32::from_bits(magnitude.to_bits() | sign) }
}

/// `testp.op.{f32,f64} p, a`.
pub(super) fn test<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &mut Inst<'m, 's>,
) -> Result<(), Fault> {
    let property = inst.take_one_of(&[
        Qualifier::Finite,
        Qualifier::Infinite,
        Qualifier::Number,
        Qualifier::NotANumber,
        Qualifier::Normal,
        Qualifier::Subnormal,
    ]);
    let ty = inst.take_type()?;
    let run = match (property, ty) {
        (Some(Qualifier::Finite), F32) => warp!(|a: f32| -> bool { a.is_finite() }),
        (Some(Qualifier::Infinite), F32) => warp!(|a: f32| -> bool { a.is_infinite() }),
        (Some(Qualifier::Number), F32) => warp!(|a: f32| -> bool { !a.is_nan() }),
        (Some(Qualifier::NotANumber), F32) => warp!(|a: f32| -> bool { a.is_nan() }),
        (Some(Qualifier::Normal), F32) => warp!(|a: f32| -> bool { a.is_normal() }),
        (Some(Qualifier::Subnormal), F32) => warp!(|a: f32| -> bool { a.is_subnormal() }),
        (Some(Qualifier::Finite), ScalarType::F64) => warp!(|a: f64| -> bool { a.is_finite() }),
        (Some(Qualifier::Infinite), ScalarType::F64) => warp!(|a: f64| -> bool { a.is_infinite() }),
        (Some(Qualifier::Number), ScalarType::F64) => warp!(|a: f64| -> bool { !a.is_nan() }),
        (Some(Qualifier::NotANumber), ScalarType::F64) => warp!(|a: f64| -> bool { a.is_nan() }),
        (Some(Qualifier::Normal), ScalarType::F64) => warp!(|a: f64| -> bool { a.is_normal() }),
        (Some(Qualifier::Subnormal), ScalarType::F64) => {
            warp!(|a: f64| -> bool { a.is_subnormal() })
        }
        _ => return Err(inst.bad_type(ty)),
    };
    cx.apply(inst, run, Pred, &[ty])
}

/// Two singles in a 64-bit register, `add sub mul fma .f32x2`: the operation on each half.
fn packed<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &Inst<'m, 's>,
    run: WarpFn,
    flush: bool,
) -> Result<(), Fault> {
    let mut halves = [const { Vec::new() }; 2];
    for index in 1..=arity(inst.ast.form.opcode) {
        let source = cx.source(inst.operand(index)?, F32x2)?;
        let low = warp!(|a: u64| -> u32 { a as u32 });
        let high = warp!(|a: u64| -> u32 { (a >> 32) as u32 });
        for (sources, part) in halves.iter_mut().zip([low, high]) {
            let half = cx.scratch(File::W32);
            cx.emit_lanes(part, &[half], &[source]);
            sources.push(half);
        }
    }
    let results = halves.map(|mut sources| {
        let result = cx.scratch(File::W32);
        finish(cx, run, result, &mut sources, flush, false);
        result
    });
    let d = cx.dest(inst.operand(0)?, F32x2)?;
    let join = warp!(|low: u32, high: u32| -> u64 { u64::from(high) << 32 | u64::from(low) });
    cx.emit_lanes(join, &[d], &results);
    Ok(())
}
