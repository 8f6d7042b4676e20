//! Comparison and selection: `setp set selp slct` (PTX ISA, "Comparison and Selection
//! Instructions").

use super::half;
use crate::algebra::{Comparison, Format, Meaning, Mode};
use crate::float::flush32;
use crate::interp::decode::{Decoder, Inst};
use crate::interp::fault::Fault;
use crate::interp::registers::{
    Dependence, FULL, File, LANES, Lane, Mask, PART, Registers, Slot, Slots, WarpFn, WarpOp, warp,
};
use crate::isa::{Opcode, Qualifier};
use crate::ptx::ScalarType::{
    self, B16, B32, B64, Bf16, Bf16x2, F16, F16x2, F32, F64, Pred, S16, S32, S64, U16, U32, U64,
};
use crate::ptx::{Operand, Value};

/// All instructions of this family.
pub(super) fn decode<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &mut Inst<'m, 's>,
) -> Result<(), Fault> {
    match inst.ast.form.opcode {
        Opcode::Setp => set_predicate(cx, inst),
        Opcode::Set => set_register(cx, inst),
        Opcode::Selp => select(cx, inst),
        _ => select_by_sign(cx, inst),
    }
}

fn take_comparison(inst: &mut Inst<'_, '_>) -> Option<Qualifier> {
    inst.take_one_of(Qualifier::COMPARISONS)
}

/// The comparison of ordered integers.
macro_rules! ordered {
    ($name:expr, $t:ty) => {
        Some(match $name {
            Qualifier::Eq => warp!(as Equality; |a: $t, b: $t| -> bool { a == b }),
            Qualifier::Ne => warp!(as Equality; |a: $t, b: $t| -> bool { a != b }),
            Qualifier::Lt | Qualifier::Lo => warp!(monotone; |a: $t, b: $t| -> bool { a < b }),
            Qualifier::Le | Qualifier::Ls => warp!(monotone; |a: $t, b: $t| -> bool { a <= b }),
            Qualifier::Gt | Qualifier::Hi => warp!(monotone; |a: $t, b: $t| -> bool { a > b }),
            Qualifier::Ge | Qualifier::Hs => warp!(monotone; |a: $t, b: $t| -> bool { a >= b }),
            _ => return None,
        })
    };
}

/// The comparison of numbers that may be NaN; `$see` prepares an operand.
macro_rules! floating {
    ($name:expr, $t:ty, $format:expr, $mode:expr, $see:expr) => {
        Some(match $name {
            Qualifier::Eq => warp!(means relation(Comparison::Eq, $format, $mode); |a: $t, b: $t| -> bool { $see(a) == $see(b) }),
            Qualifier::Ne => warp!(means relation(Comparison::Ne, $format, $mode); |a: $t, b: $t| -> bool {
                let (a, b) = ($see(a), $see(b));
                a != b && !a.is_nan() && !b.is_nan()
            }),
            Qualifier::Lt => warp!(means relation(Comparison::Lt, $format, $mode); |a: $t, b: $t| -> bool { $see(a) < $see(b) }),
            Qualifier::Le => warp!(means relation(Comparison::Le, $format, $mode); |a: $t, b: $t| -> bool { $see(a) <= $see(b) }),
            Qualifier::Gt => warp!(means relation(Comparison::Gt, $format, $mode); |a: $t, b: $t| -> bool { $see(a) > $see(b) }),
            Qualifier::Ge => warp!(means relation(Comparison::Ge, $format, $mode); |a: $t, b: $t| -> bool { $see(a) >= $see(b) }),
            Qualifier::Equ => warp!(means relation(Comparison::Eq, $format, $mode | Mode::NAN); |a: $t, b: $t| -> bool {
                let (a, b) = ($see(a), $see(b));
                a == b || a.is_nan() || b.is_nan()
            }),
            Qualifier::Neu => warp!(means relation(Comparison::Ne, $format, $mode | Mode::NAN); |a: $t, b: $t| -> bool { $see(a) != $see(b) }),
            Qualifier::Ltu => warp!(means relation(Comparison::Lt, $format, $mode | Mode::NAN); |a: $t, b: $t| -> bool { !($see(a) >= $see(b)) }),
            Qualifier::Leu => warp!(means relation(Comparison::Le, $format, $mode | Mode::NAN); |a: $t, b: $t| -> bool { !($see(a) > $see(b)) }),
            Qualifier::Gtu => warp!(means relation(Comparison::Gt, $format, $mode | Mode::NAN); |a: $t, b: $t| -> bool { !($see(a) <= $see(b)) }),
            Qualifier::Geu => warp!(means relation(Comparison::Ge, $format, $mode | Mode::NAN); |a: $t, b: $t| -> bool { !($see(a) < $see(b)) }),
            Qualifier::Num => {
                warp!(means relation(Comparison::Num, $format, $mode); |a: $t, b: $t| -> bool { !$see(a).is_nan() && !$see(b).is_nan() })
            }
            Qualifier::Nan => {
                warp!(means relation(Comparison::Nan, $format, $mode); |a: $t, b: $t| -> bool { $see(a).is_nan() || $see(b).is_nan() })
            }
            _ => return None,
        })
    };
}

/// The meaning of a comparison.
const fn relation(comparison: Comparison, format: Format, mode: u8) -> Meaning {
    Meaning::Compare(comparison, format, Mode(mode))
}

fn same<T>(value: T) -> T {
    value
}

#[allow(clippy::neg_cmp_op_on_partial_ord, reason = "unordered comparisons are exactly that")]
fn comparison(name: Qualifier, ty: ScalarType, ftz: bool) -> Option<WarpFn> {
    match ty {
        B16 if matches!(name, Qualifier::Eq | Qualifier::Ne) => ordered!(name, u16),
        B32 if matches!(name, Qualifier::Eq | Qualifier::Ne) => ordered!(name, u32),
        B64 if matches!(name, Qualifier::Eq | Qualifier::Ne) => ordered!(name, u64),
        U16 => ordered!(name, u16),
        S16 => ordered!(name, i16),
        U32 => ordered!(name, u32),
        S32 => ordered!(name, i32),
        U64 => ordered!(name, u64),
        S64 => ordered!(name, i64),
        F32 if ftz => floating!(name, f32, Format::F32, Mode::FTZ, flush32),
        F32 => floating!(name, f32, Format::F32, 0, same),
        F64 => floating!(name, f64, Format::F64, 0, same),
        F16 if ftz => floating!(name, u16, Format::F16, Mode::FTZ, half::f16_flushed),
        F16 => floating!(name, u16, Format::F16, 0, half::f16_value),
        Bf16 => floating!(name, u16, Format::Bf16, 0, half::bf16_value),
        _ => None,
    }
}

fn combination(name: Qualifier) -> WarpFn {
    match name {
        Qualifier::And => warp!(bits 2; |t: bool, c: bool| -> bool { t & c }),
        Qualifier::Or => warp!(bits 2; |t: bool, c: bool| -> bool { t | c }),
        _ => warp!(bits 2; |t: bool, c: bool| -> bool { t ^ c }),
    }
}

fn take_combination(inst: &mut Inst<'_, '_>) -> Option<Qualifier> {
    inst.take_one_of(&[Qualifier::And, Qualifier::Or, Qualifier::Xor])
}

/// `cmp{.bool}{.ftz}.stype` of an instruction, on its operands a, b and c.
struct Test {
    run: WarpFn,
    combine: Option<(WarpFn, Slot)>,
    a: Slot,
    b: Slot,
    /// Whether the operands hold two halves each, which are compared one by one.
    packed: bool,
}

/// Takes the modifiers of a comparison, with the result type of `set` before the source type, and
/// the operands behind the destination.
fn take_test<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &mut Inst<'m, 's>,
    with_result: bool,
) -> Result<(Test, ScalarType), Fault> {
    let Some(name) = take_comparison(inst) else {
        return Err(inst.unsupported("this comparison is not modelled"));
    };
    let combine = take_combination(inst);
    let ftz = inst.take(Qualifier::Ftz);
    let result = if with_result { inst.take_type()? } else { Pred };
    let ty = inst.take_type()?;
    inst.finish()?;
    let element = match ty {
        F16x2 => F16,
        Bf16x2 => Bf16,
        ty => ty,
    };
    let run = comparison(name, element, ftz).ok_or_else(|| inst.bad_type(ty))?;
    let (a, b) = (cx.source(inst.operand(1)?, ty)?, cx.source(inst.operand(2)?, ty)?);
    let combine = match combine {
        Some(name) => Some((combination(name), take_third(cx, inst)?)),
        None => None,
    };
    Ok((Test { run, combine, a, b, packed: element != ty }, result))
}

/// The predicate that a comparison is combined with. The assembler takes the constant with nothing but the sign bit as false
/// here, and as true everywhere else.
fn take_third<'m, 's>(cx: &mut Decoder<'_, 'm, 's>, inst: &Inst<'m, 's>) -> Result<Slot, Fault> {
    let bits = match inst.operand(3)? {
        Operand::Immediate(immediate) => match immediate.value {
            Value::Signed(value) => value as u64,
            Value::Unsigned(value) => value,
            _ => 0,
        },
        _ => 0,
    };
    if bits == 1 << 63 {
        return Ok(cx.immediate(File::Pred, 0));
    }
    cx.source(inst.operand(3)?, Pred)
}

impl Test {
    /// Compares, into a new predicate.
    fn holds(&self, cx: &mut Decoder<'_, '_, '_>, [a, b]: [Slot; 2]) -> Slot {
        let outcome = cx.scratch(File::Pred);
        cx.emit_lanes(self.run, &[outcome], &[a, b]);
        outcome
    }

    /// Combines an outcome with c.
    fn combined(&self, cx: &mut Decoder<'_, '_, '_>, outcome: Slot) -> Slot {
        let Some((run, c)) = self.combine else { return outcome };
        let combined = cx.scratch(File::Pred);
        cx.emit_lanes(run, &[combined], &[outcome, c]);
        combined
    }

    /// The upper halves of a and b, in new registers.
    fn upper(&self, cx: &mut Decoder<'_, '_, '_>) -> [Slot; 2] {
        [self.a, self.b].map(|slot| {
            let high = cx.scratch(File::W32);
            cx.emit_lanes(warp!(bits 1; |x: u32| -> u32 { x >> 16 }), &[high], &[slot]);
            high
        })
    }
}

/// `setp.cmp{.bool}.type p{|q}, a, b{, c}`: `p = (a cmp b) bool c`, `q = !(a cmp b) bool c`; of packed
/// types p compares the low halves and q, if it is wanted, the high ones.
fn set_predicate<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &mut Inst<'m, 's>,
) -> Result<(), Fault> {
    let (test, _) = take_test(cx, inst, false)?;
    let Operand::Pair(pair) = inst.operand(0)? else {
        let p = cx.dest(inst.operand(0)?, Pred)?;
        if test.combine.is_none() {
            cx.emit_lanes(test.run, &[p], &[test.a, test.b]);
            return Ok(());
        }
        let outcome = test.holds(cx, [test.a, test.b]);
        let combined = test.combined(cx, outcome);
        cx.emit_lanes(warp!(bits 1; |a: bool| -> bool { a }), &[p], &[combined]);
        return Ok(());
    };
    let first = test.holds(cx, [test.a, test.b]);
    let second = if test.packed {
        let upper = test.upper(cx);
        test.holds(cx, upper)
    } else {
        let negation = cx.scratch(File::Pred);
        cx.emit_lanes(warp!(bits 1; |t: bool| -> bool { !t }), &[negation], &[first]);
        negation
    };
    // Both are computed before either is written: c may be one of the destinations.
    let values = [test.combined(cx, first), test.combined(cx, second)];
    for (d, value) in pair.iter().zip(values) {
        let d = cx.dest(d, Pred)?;
        cx.emit_lanes(warp!(bits 1; |a: bool| -> bool { a }), &[d], &[value]);
    }
    Ok(())
}

/// `set.cmp{.bool}.dtype.stype d, a, b{, c}`: all ones, or 1.0 for floating-point results.
fn set_register<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &mut Inst<'m, 's>,
) -> Result<(), Fault> {
    let (test, ty) = take_test(cx, inst, true)?;
    let ones = match ty {
        // A packed comparison fills half a register for each element.
        U32 | S32 if test.packed => {
            warp!(bits 1; |p: bool| -> u16 { if p { u16::MAX } else { 0 } })
        }
        U32 | S32 => warp!(bits 1; |p: bool| -> u32 { if p { u32::MAX } else { 0 } }),
        F32 => warp!(bits 1; |p: bool| -> f32 { if p { 1.0 } else { 0.0 } }),
        U16 | S16 => warp!(bits 1; |p: bool| -> u16 { if p { u16::MAX } else { 0 } }),
        F16 | F16x2 => warp!(bits 1; |p: bool| -> u16 { if p { 0x3c00 } else { 0 } }),
        Bf16 | Bf16x2 => warp!(bits 1; |p: bool| -> u16 { if p { 0x3f80 } else { 0 } }),
        _ => return Err(inst.bad_type(ty)),
    };
    let d = cx.dest(inst.operand(0)?, ty)?;
    let filled = |cx: &mut Decoder<'_, 'm, 's>, sources| {
        let outcome = test.holds(cx, sources);
        let outcome = test.combined(cx, outcome);
        let result = cx.scratch(File::W32);
        cx.emit_lanes(ones, &[result], &[outcome]);
        result
    };
    let low = filled(cx, [test.a, test.b]);
    if test.packed {
        let upper = test.upper(cx);
        let high = filled(cx, upper);
        cx.emit_lanes(warp!(bits 2; |l: u32, h: u32| -> u32 { l | h << 16 }), &[d], &[low, high]);
    } else {
        cx.emit_lanes(warp!(bits 1; |x: u32| -> u32 { x }), &[d], &[low]);
    }
    Ok(())
}

/// Makes a function for the lanes of a where the predicate holds, and else those of b.
macro_rules! choice {
    ($file:ident, $ty:ty) => {{
        fn run(registers: &mut Registers, slots: &Slots, mask: Mask) {
            let [a, b, p, _] = slots.s;
            let p = registers.preds[p];
            // Often the lanes are of one mind.
            if mask == FULL && (p == 0 || p == FULL) {
                let from = if p == 0 { b } else { a };
                registers.$file.copy_within(from..from.plus(1), slots.d[0]);
                return;
            }
            for first in (0..LANES).step_by(PART) {
                let a = <$ty as Lane>::read(registers, a, first);
                let b = <$ty as Lane>::read(registers, b, first);
                let mut values = [0; PART];
                for at in 0..PART {
                    let keep = <$ty>::from(p >> first >> at & 1).wrapping_neg();
                    values[at] = a[at] & keep | b[at] & !keep;
                }
                <$ty as Lane>::write(registers, slots.d[0], first, &values, mask);
            }
        }
        run
    }};
}

/// `selp.type d, a, b, p`.
fn select<'m, 's>(cx: &mut Decoder<'_, 'm, 's>, inst: &mut Inst<'m, 's>) -> Result<(), Fault> {
    let ty = inst.take_type()?;
    const P: File = File::Pred;
    const NARROW: WarpOp =
        WarpOp::new(choice!(w32, u32), "selp.b32", &[File::W32], &[File::W32, File::W32, P])
            .depending(Dependence::Bits(3))
            .meaning(Meaning::Select);
    const WIDE: WarpOp =
        WarpOp::new(choice!(w64, u64), "selp.b64", &[File::W64], &[File::W64, File::W64, P])
            .depending(Dependence::Bits(3))
            .meaning(Meaning::Select);
    let run: WarpFn = match ty.bits() {
        16 | 32 => &NARROW,
        64 => &WIDE,
        _ => return Err(inst.bad_type(ty)),
    };
    cx.apply(inst, run, ty, &[ty, ty, Pred])
}

/// `slct{.ftz}.dtype.{s32,f32} d, a, b, c`: a where c is not negative (NaN selects b).
fn select_by_sign<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &mut Inst<'m, 's>,
) -> Result<(), Fault> {
    let ftz = inst.take(Qualifier::Ftz);
    let (ty, sign) = (inst.take_type()?, inst.take_type()?);
    let run = match (ty.bits(), sign, ftz) {
        (16 | 32, S32, false) => {
            warp!(bits 2; |a: u32, b: u32, c: i32| -> u32 { if c >= 0 { a } else { b } })
        }
        (64, S32, false) => {
            warp!(bits 2; |a: u64, b: u64, c: i32| -> u64 { if c >= 0 { a } else { b } })
        }
        (16 | 32, F32, false) => {
            warp!(bits 2; |a: u32, b: u32, c: f32| -> u32 { if c >= 0.0 { a } else { b } })
        }
        (64, F32, false) => {
            warp!(bits 2; |a: u64, b: u64, c: f32| -> u64 { if c >= 0.0 { a } else { b } })
        }
        (16 | 32, F32, true) => {
            warp!(bits 2; |a: u32, b: u32, c: f32| -> u32 { if flush32(c) >= 0.0 { a } else { b } })
        }
        (64, F32, true) => {
            warp!(bits 2; |a: u64, b: u64, c: f32| -> u64 { if flush32(c) >= 0.0 { a } else { b } })
        }
        _ => return Err(inst.bad_type(ty)),
    };
    cx.apply(inst, run, ty, &[ty, ty, sign])
}
