//! Double precision (PTX ISA, "Floating Point Instructions").

use super::single;
use crate::algebra::{Format, Meaning, Mode, Real};
use crate::float::Round;
use crate::float::{approx, canonical64, directed, saturate64};
use crate::interp::decode::{Decoder, Inst};
use crate::interp::fault::Fault;
use crate::interp::registers::{WarpFn, warp};
use crate::isa::{Opcode, Qualifier};
use crate::ptx::ScalarType::F64;

/// All double-precision instructions but comparisons and conversions.
pub(super) fn decode<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &mut Inst<'m, 's>,
) -> Result<(), Fault> {
    let name = inst.ast.form.opcode;
    if name == Opcode::Testp {
        return single::test(cx, inst);
    }
    let round = inst.take_round().unwrap_or(Round::Even);
    let approximate = inst.take(Qualifier::Approx);
    let ftz = inst.take(Qualifier::Ftz);
    let saturate = inst.take(Qualifier::Sat);
    let ty = inst.take_type()?;
    let run = match (name, approximate, ftz) {
        (Opcode::Rcp, true, true) => Some(warp!(means one(Real::Rcp, Mode::APPROX | Mode::FTZ);
                |a: f64| -> f64 { approx::upper_half(a, approx::rcp) })),
        (Opcode::Rsqrt, true, true) => {
            Some(warp!(means one(Real::Rsqrt, Mode::APPROX | Mode::FTZ);
                |a: f64| -> f64 { approx::upper_half(a, approx::rsqrt) }))
        }
        (Opcode::Rsqrt, true, false) => Some(warp!(means one(Real::Rsqrt, Mode::APPROX);
                |a: f64| -> f64 { canonical64(approx::rsqrt(a)) })),
        (_, false, false) if round == Round::Even => nearest(name),
        (_, false, false) => rounded(name, round),
        _ => None,
    };
    let run = run.ok_or_else(|| inst.bad_type(ty))?;
    let sources = match name {
        Opcode::Fma | Opcode::Mad => 3,
        Opcode::Add
        | Opcode::Sub
        | Opcode::Mul
        | Opcode::Div
        | Opcode::Min
        | Opcode::Max
        | Opcode::Copysign => 2,
        _ => 1,
    };
    cx.apply(inst, run, F64, &[F64; 3][..sources])?;
    if saturate {
        let d = cx.dest(inst.operand(0)?, F64)?;
        let clamp = warp!(means one(Real::Sat, 0); |a: f64| -> f64 { saturate64(a) });
        cx.emit_lanes(clamp, &[d], &[d]);
    }
    Ok(())
}

/// A function of doubles.
const fn one(op: Real, mode: u8) -> Meaning {
    Meaning::real(op, Format::F64, mode)
}

fn nearest(name: Opcode) -> Option<WarpFn> {
    Some(match name {
        Opcode::Add => {
            warp!(means one(Real::Add, 0); |a: f64, b: f64| -> f64 { canonical64(a + b) })
        }
        Opcode::Sub => {
            warp!(means one(Real::Sub, 0); |a: f64, b: f64| -> f64 { canonical64(a - b) })
        }
        Opcode::Mul => {
            warp!(means one(Real::Mul, 0); |a: f64, b: f64| -> f64 { canonical64(a * b) })
        }
        Opcode::Fma | Opcode::Mad => {
            warp!(means one(Real::Fma, 0); |a: f64, b: f64, c: f64| -> f64 { canonical64(a.mul_add(b, c)) })
        }
        Opcode::Div => {
            warp!(means one(Real::Div, 0); |a: f64, b: f64| -> f64 { canonical64(a / b) })
        }
        Opcode::Rcp => warp!(means one(Real::Rcp, 0); |a: f64| -> f64 { canonical64(1.0 / a) }),
        Opcode::Sqrt => warp!(means one(Real::Sqrt, 0); |a: f64| -> f64 { canonical64(a.sqrt()) }),
        Opcode::Abs => warp!(means one(Real::Abs, 0); |a: f64| -> f64 { a.abs() }),
        Opcode::Neg => warp!(means one(Real::Neg, 0); |a: f64| -> f64 { -a }),
        Opcode::Copysign => {
            warp!(means one(Real::Copysign, 0); |a: f64, b: f64| -> f64 { b.copysign(a) })
        }
        Opcode::Min => warp!(means one(Real::Min, 0); |a: f64, b: f64| -> f64 { -maximum(-a, -b) }),
        Opcode::Max => warp!(means one(Real::Max, 0); |a: f64, b: f64| -> f64 { maximum(a, b) }),
        _ => return None,
    })
}

/// The larger of two numbers, +0 above -0; a NaN loses against a number.
fn maximum(a: f64, b: f64) -> f64 {
    match (a.is_nan(), b.is_nan()) {
        (true, true) => canonical64(a),
        (true, false) => b,
        (false, true) => a,
        _ if a > b || a == b && a.is_sign_positive() => a,
        _ => b,
    }
}

/// The same function in each of the three directed modes.
macro_rules! modes {
    ($op:expr, $round:expr, |$($arg:ident),+; $mode:ident| $body:expr) => {
        match $round {
            Round::Zero => warp!(means one($op, Mode::ZERO); |$($arg: f64),+| -> f64 {
                let $mode = Round::Zero;
                canonical64($body)
            }),
            Round::Down => warp!(means one($op, Mode::DOWN); |$($arg: f64),+| -> f64 {
                let $mode = Round::Down;
                canonical64($body)
            }),
            Round::Up => warp!(means one($op, Mode::UP); |$($arg: f64),+| -> f64 {
                let $mode = Round::Up;
                canonical64($body)
            }),
            _ => return None,
        }
    };
}

fn rounded(name: Opcode, round: Round) -> Option<WarpFn> {
    Some(match name {
        Opcode::Add => modes!(Real::Add, round, |a, b; mode| directed::add(a, b, mode)),
        Opcode::Sub => modes!(Real::Sub, round, |a, b; mode| directed::add(a, -b, mode)),
        Opcode::Mul => modes!(Real::Mul, round, |a, b; mode| directed::mul(a, b, mode)),
        Opcode::Fma | Opcode::Mad => {
            modes!(Real::Fma, round, |a, b, c; mode| directed::fma(a, b, c, mode))
        }
        Opcode::Div => modes!(Real::Div, round, |a, b; mode| directed::div(a, b, mode)),
        Opcode::Rcp => modes!(Real::Rcp, round, |a; mode| directed::div(1.0, a, mode)),
        Opcode::Sqrt => modes!(Real::Sqrt, round, |a; mode| directed::sqrt(a, mode)),
        _ => return None,
    })
}
