//! Half precision and bfloat16, scalar and in pairs (PTX ISA, "Half Precision Floating Point
//! Instructions"). Computed in doubles rounded to odd and rounded once to the format.

use crate::algebra::{Format, Meaning, Mode, Real};
use crate::float::Round;
use crate::float::format::{BF16, F16};
use crate::float::{Format as Layout, odd};
use crate::interp::decode::{Decoder, Inst};
use crate::interp::fault::Fault;
use crate::interp::registers::{File, Slot, WarpFn, warp};
use crate::isa::{Opcode, Qualifier};
use crate::ptx::ScalarType;

/// The value of a half.
pub(super) fn f16_value(bits: u16) -> f64 {
    F16.widen(u32::from(bits))
}

/// The value of a half with subnormal numbers flushed.
pub(super) fn f16_flushed(bits: u16) -> f64 {
    f16_value(flush(bits))
}

/// The value of a bfloat16.
pub(super) fn bf16_value(bits: u16) -> f64 {
    BF16.widen(u32::from(bits))
}

fn flush(bits: u16) -> u16 {
    if bits & 0x7c00 == 0 { bits & 0x8000 } else { bits }
}

fn lower(format: Layout, value: f64) -> u16 {
    format.round(value, Round::Even) as u16
}

/// Applies a function to both halves of up to three registers.
fn both(a: u32, b: u32, c: u32, f: impl Fn(u16, u16, u16) -> u16) -> u32 {
    let low = f(a as u16, b as u16, c as u16);
    let high = f((a >> 16) as u16, (b >> 16) as u16, (c >> 16) as u16);
    u32::from(low) | u32::from(high) << 16
}

/// The meaning of a function of one number or, in pairs, of two, if it has one.
const fn meaning(pairs: bool, op: Option<Real>, format: Format, mode: u8) -> Meaning {
    match op {
        Some(op) if pairs => Meaning::halves(op, format, mode),
        Some(op) => Meaning::real(op, format, mode),
        None => Meaning::Unknown,
    }
}

/// A function of values, given for each of the four types.
macro_rules! halves {
    ($op:expr, $mode:expr, $ty:expr, |$a:ident, $b:ident, $c:ident| $body:expr) => {
        match $ty {
            ScalarType::F16 => warp!(means meaning(false, $op, Format::F16, $mode); |a: u16, b: u16, c: u16| -> u16 {
                let ($a, $b, $c) = (f16_value(a), f16_value(b), f16_value(c));
                lower(F16, $body)
            }),
            ScalarType::Bf16 => warp!(means meaning(false, $op, Format::Bf16, $mode); |a: u16, b: u16, c: u16| -> u16 {
                let ($a, $b, $c) = (bf16_value(a), bf16_value(b), bf16_value(c));
                lower(BF16, $body)
            }),
            ScalarType::F16x2 => warp!(means meaning(true, $op, Format::F16, $mode); halves; |a: u32, b: u32, c: u32| -> u32 {
                both(a, b, c, |a, b, c| {
                    let ($a, $b, $c) = (f16_value(a), f16_value(b), f16_value(c));
                    lower(F16, $body)
                })
            }),
            ScalarType::Bf16x2 => warp!(means meaning(true, $op, Format::Bf16, $mode); halves; |a: u32, b: u32, c: u32| -> u32 {
                both(a, b, c, |a, b, c| {
                    let ($a, $b, $c) = (bf16_value(a), bf16_value(b), bf16_value(c));
                    lower(BF16, $body)
                })
            }),
            _ => return None,
        }
    };
}

/// A function of signs, given for both formats.
macro_rules! sign {
    ($meaning:expr, $op:expr, $ty:expr, |$a:ident| $body:expr) => {
        match $ty {
            ScalarType::F16 | ScalarType::F16x2 => {
                warp!(means $meaning($op, Format::F16, 0); bits 1; |$a: u32| -> u32 { $body })
            }
            _ => warp!(means $meaning($op, Format::Bf16, 0); bits 1; |$a: u32| -> u32 { $body }),
        }
    };
}

/// `add sub mul fma min max abs neg ex2 tanh`.
pub(super) fn decode<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &mut Inst<'m, 's>,
) -> Result<(), Fault> {
    let name = inst.ast.form.opcode;
    let round = inst.take_round();
    inst.take(Qualifier::Approx);
    let (ftz, saturate, relu) =
        (inst.take(Qualifier::Ftz), inst.take(Qualifier::Sat), inst.take(Qualifier::Relu));
    let propagate = inst.take(Qualifier::PropagateNan);
    let sign = inst.take(Qualifier::Xorsign) && inst.take(Qualifier::Abs);
    let ty = inst.take_type()?;
    if round.is_some_and(|round| round != Round::Even) {
        return Err(inst.unsupported("half precision is modelled in `.rn` only"));
    }
    let run = if sign { by_magnitude(name, ty, propagate) } else { operation(name, ty, propagate) };
    let run = run.ok_or_else(|| inst.bad_type(ty))?;
    inst.finish()?;
    let count = match name {
        Opcode::Fma => 3,
        Opcode::Abs | Opcode::Neg | Opcode::Ex2 | Opcode::Tanh => 1,
        _ => 2,
    };
    if inst.operands().len() != count + 1 {
        let (name, sources) = (inst.ast.opcode.text, inst.operands().len().saturating_sub(1));
        return Err(inst.unsupported(format!("`{name}` is not modelled with {sources} sources")));
    }
    let mut sources = [Slot::default(); 3];
    for (index, slot) in sources[..count].iter_mut().enumerate() {
        *slot = cx.source(inst.operand(index + 1)?, ty)?;
    }
    // The functions take three sources; those that the instruction does not have add nothing.
    let first = sources[0];
    sources[count..].fill(first);
    let d = cx.dest(inst.operand(0)?, ty)?;
    let half = matches!(ty, ScalarType::F16 | ScalarType::F16x2);
    let flushing = warp!(means Meaning::halves(Real::Same, Format::F16, Mode::FTZ); halves;
        |a: u32| -> u32 { both(a, 0, 0, |a, _, _| flush(a)) });
    if ftz && half {
        for slot in &mut sources[..count] {
            let flushed = cx.scratch(File::W32);
            cx.emit_lanes(flushing, &[flushed], &[*slot]);
            *slot = flushed;
        }
    }
    cx.emit_lanes(run, &[d], &sources);
    if ftz && half {
        cx.emit_lanes(flushing, &[d], &[d]);
    }
    let limit = match (saturate, relu, half) {
        (true, _, true) => Some(warp!(means Meaning::halves(Real::Sat, Format::F16, 0); halves;
                |a: u32| -> u32 { both(a, 0, 0, |a, _, _| saturate_bits(a, 0x3c00)) })),
        (true, _, false) => Some(warp!(means Meaning::halves(Real::Sat, Format::Bf16, 0); halves;
                |a: u32| -> u32 { both(a, 0, 0, |a, _, _| saturate_bits(a, 0x3f80)) })),
        (_, true, true) => Some(warp!(means Meaning::halves(Real::Relu, Format::F16, 0); halves;
                |a: u32| -> u32 { both(a, 0, 0, |a, _, _| relu_bits(a, 0x7c00)) })),
        (_, true, false) => Some(warp!(means Meaning::halves(Real::Relu, Format::Bf16, 0); halves;
                |a: u32| -> u32 { both(a, 0, 0, |a, _, _| relu_bits(a, 0x7f80)) })),
        _ => None,
    };
    if let Some(limit) = limit {
        cx.emit_lanes(limit, &[d], &[d]);
    }
    Ok(())
}

/// Clamps to `[0, 1]`: negative numbers and NaNs become +0.
fn saturate_bits(bits: u16, one: u16) -> u16 {
    let nan = bits & 0x7fff > if one == 0x3c00 { 0x7c00 } else { 0x7f80 };
    if nan || bits & 0x8000 != 0 { 0 } else { bits.min(one) }
}

/// Turns negative numbers to +0; NaN stays.
fn relu_bits(bits: u16, infinity: u16) -> u16 {
    if bits & 0x8000 != 0 && bits & 0x7fff <= infinity { 0 } else { bits }
}

fn operation(name: Opcode, ty: ScalarType, propagate: bool) -> Option<WarpFn> {
    let pair = matches!(ty, ScalarType::F16x2 | ScalarType::Bf16x2);
    Some(match name {
        Opcode::Add => halves!(Some(Real::Add), 0, ty, |a, b, _c| odd::add(a, b)),
        Opcode::Sub => halves!(Some(Real::Sub), 0, ty, |a, b, _c| odd::add(a, -b)),
        Opcode::Mul => halves!(Some(Real::Mul), 0, ty, |a, b, _c| a * b),
        Opcode::Fma => halves!(Some(Real::Fma), 0, ty, |a, b, c| odd::fma(a, b, c)),
        Opcode::Min if propagate => {
            halves!(Some(Real::Min), Mode::NAN, ty, |a, b, _c| either(a, b, minimum))
        }
        Opcode::Max if propagate => {
            halves!(Some(Real::Max), Mode::NAN, ty, |a, b, _c| either(a, b, maximum))
        }
        Opcode::Min => halves!(Some(Real::Min), 0, ty, |a, b, _c| minimum(a, b)),
        Opcode::Max => halves!(Some(Real::Max), 0, ty, |a, b, _c| maximum(a, b)),
        Opcode::Ex2 => halves!(Some(Real::Ex2), Mode::APPROX, ty, |a, _b, _c| libm::exp2(a)),
        Opcode::Tanh => halves!(Some(Real::Tanh), Mode::APPROX, ty, |a, _b, _c| libm::tanh(a)),
        Opcode::Abs if pair => sign!(Meaning::halves, Real::Abs, ty, |a| a & 0x7fff_7fff),
        Opcode::Abs => sign!(Meaning::real, Real::Abs, ty, |a| a & 0x7fff),
        Opcode::Neg if pair => sign!(Meaning::halves, Real::Neg, ty, |a| a ^ 0x8000_8000),
        Opcode::Neg => sign!(Meaning::real, Real::Neg, ty, |a| a ^ 0x8000),
        _ => return None,
    })
}

/// `min`/`max` with `.xorsign.abs`: of magnitudes; the sign is the product's.
fn by_magnitude(name: Opcode, ty: ScalarType, propagate: bool) -> Option<WarpFn> {
    Some(match (name, propagate) {
        (Opcode::Min, false) => {
            halves!(None, 0, ty, |a, b, _c| signed(a, b, minimum(a.abs(), b.abs())))
        }
        (Opcode::Max, false) => {
            halves!(None, 0, ty, |a, b, _c| signed(a, b, maximum(a.abs(), b.abs())))
        }
        (Opcode::Min, true) => {
            halves!(None, 0, ty, |a, b, _c| signed(a, b, either(a.abs(), b.abs(), minimum)))
        }
        (Opcode::Max, true) => {
            halves!(None, 0, ty, |a, b, _c| signed(a, b, either(a.abs(), b.abs(), maximum)))
        }
        _ => return None,
    })
}

fn signed(a: f64, b: f64, magnitude: f64) -> f64 {
    if a.is_sign_negative() != b.is_sign_negative() { -magnitude } else { magnitude }
}

fn minimum(a: f64, b: f64) -> f64 {
    -maximum(-a, -b)
}

/// The larger number, +0 above -0; a NaN loses against a number.
fn maximum(a: f64, b: f64) -> f64 {
    if a.is_nan() || a < b || a == b && a.is_sign_negative() { b } else { a }
}

fn either(a: f64, b: f64, choose: fn(f64, f64) -> f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { choose(a, b) }
}
