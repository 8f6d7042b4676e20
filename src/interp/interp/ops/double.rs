//! Double precision (PTX ISA, "Floating Point Instructions").

use super::single;
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
        (Opcode::Rcp, true, true) => {
            Some(warp!(|a: f64| -> f64 { approx::upper_half(a, approx::rcp) }))
        }
        (Opcode::Rsqrt, true, true) => {
            Some(warp!(|a: f64| -> f64 { approx::upper_half(a, approx::rsqrt) }))
        }
        (Opcode::Rsqrt, true, false) => {
            Some(warp!(|a: f64| -> f64 { canonical64(approx::rsqrt(a)) }))
        }
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
        cx.emit_lanes(warp!(|a: f64| -> f64 { saturate64(a) }), &[d], &[d]);
    }
    Ok(())
}

fn nearest(name: Opcode) -> Option<WarpFn> {
    Some(match name {
        Opcode::Add => warp!(|a: f64, b: f64| -> f64 { canonical64(a + b) }),
        Opcode::Sub => warp!(|a: f64, b: f64| -> f64 { canonical64(a - b) }),
        Opcode::Mul => warp!(|a: f64, b: f64| -> f64 { canonical64(a * b) }),
        Opcode::Fma | Opcode::Mad => {
            warp!(|a: f64, b: f64, c: f64| -> f64 { canonical64(a.mul_add(b, c)) })
        }
        Opcode::Div => warp!(|a: f64, b: f64| -> f64 { canonical64(a / b) }),
        Opcode::Rcp => warp!(|a: f64| -> f64 { canonical64(1.0 / a) }),
        Opcode::Sqrt => warp!(|a: f64| -> f64 { canonical64(a.sqrt()) }),
        Opcode::Abs => warp!(|a: f64| -> f64 { a.abs() }),
        Opcode::Neg => warp!(|a: f64| -> f64 { -a }),
        Opcode::Copysign => warp!(|a: f64, b: f64| -> f64 { b.copysign(a) }),
        Opcode::Min => warp!(|a: f64, b: f64| -> f64 { -maximum(-a, -b) }),
        Opcode::Max => warp!(|a: f64, b: f64| -> f64 { maximum(a, b) }),
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
    ($round:expr, |$($arg:ident),+; $mode:ident| $body:expr) => {
        match $round {
            Round::Zero => warp!(|$($arg: f64),+| -> f64 {
                let $mode = Round::Zero;
                canonical64($body)
            }),
            Round::Down => warp!(|$($arg: f64),+| -> f64 {
                let $mode = Round::Down;
                canonical64($body)
            }),
            Round::Up => warp!(|$($arg: f64),+| -> f64 {
                let $mode = Round::Up;
                canonical64($body)
            }),
            _ => return None,
        }
    };
}

fn rounded(name: Opcode, round: Round) -> Option<WarpFn> {
    Some(match name {
        Opcode::Add => modes!(round, |a, b; mode| directed::add(a, b, mode)),
        Opcode::Sub => modes!(round, |a, b; mode| directed::add(a, -b, mode)),
        Opcode::Mul => modes!(round, |a, b; mode| directed::mul(a, b, mode)),
        Opcode::Fma | Opcode::Mad => modes!(round, |a, b, c; mode| directed::fma(a, b, c, mode)),
        Opcode::Div => modes!(round, |a, b; mode| directed::div(a, b, mode)),
        Opcode::Rcp => modes!(round, |a; mode| directed::div(1.0, a, mode)),
        Opcode::Sqrt => modes!(round, |a; mode| directed::sqrt(a, mode)),
        _ => return None,
    })
}
