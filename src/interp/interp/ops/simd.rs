//! SIMD video instructions: `vadd2 vadd4 vsub2 ... vset4` (PTX ISA, "SIMD Video Instructions"): two
//! halves or four bytes at a time, picked from two registers.

use super::video::{compare, split_selector};
use crate::algebra::Meaning;
use crate::interp::decode::{Decoder, Inst};
use crate::interp::fault::Fault;
use crate::interp::program::Op;
use crate::interp::program::rare::{Cell, Scalar};
use crate::interp::registers::File;
use crate::isa::{Opcode, Qualifier};
use crate::ptx::ScalarType::{B32, S32, U32};
use crate::ptx::{Name, Operand};

/// The operation on each pair of elements.
enum Operation {
    Compute(fn(i64, i64) -> i64),
    Compare,
}

/// The operation of an opcode and how many elements it works on, 2 or 4.
fn operation(opcode: Opcode) -> Option<(Operation, u32)> {
    use Operation::{Compare, Compute};
    let add = |a, b| a + b;
    let subtract = |a, b| a - b;
    // Halves are rounded away from zero.
    let average = |a, b| (a + b + i64::from(a + b >= 0)) >> 1;
    let distance = |a: i64, b: i64| (a - b).abs();
    Some(match opcode {
        Opcode::Vadd2 => (Compute(add), 2),
        Opcode::Vadd4 => (Compute(add), 4),
        Opcode::Vsub2 => (Compute(subtract), 2),
        Opcode::Vsub4 => (Compute(subtract), 4),
        Opcode::Vavrg2 => (Compute(average), 2),
        Opcode::Vavrg4 => (Compute(average), 4),
        Opcode::Vabsdiff2 => (Compute(distance), 2),
        Opcode::Vabsdiff4 => (Compute(distance), 4),
        Opcode::Vmin2 => (Compute(i64::min), 2),
        Opcode::Vmin4 => (Compute(i64::min), 4),
        Opcode::Vmax2 => (Compute(i64::max), 2),
        Opcode::Vmax4 => (Compute(i64::max), 4),
        Opcode::Vset2 => (Compare, 2),
        Opcode::Vset4 => (Compare, 4),
        _ => return None,
    })
}

/// The elements that a selector names, lowest first: numbers within the pair of sources.
fn picked<'s>(
    inst: &Inst<'_, 's>,
    name: Name<'s>,
    count: u32,
    default: Vec<u32>,
) -> Result<(Name<'s>, Vec<u32>), Fault> {
    let (register, selector) = split_selector(name);
    match selector {
        None => Ok((register, default)),
        Some(Some(selector)) if u32::from(selector.bits) == 32 / count => {
            Ok((register, selector.numbers().iter().map(|&number| number.into()).collect()))
        }
        Some(_) => Err(inst.unsupported(format!(
            "`{}` has a selector that this instruction does not take",
            name.text
        ))),
    }
}

/// Source operand `index` and its elements; without a selector these are `default`.
fn source<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &Inst<'m, 's>,
    index: usize,
    default: Vec<u32>,
) -> Result<(Cell, Vec<u32>), Fault> {
    let count = default.len();
    match inst.operand(index)? {
        Operand::Name(name) => {
            let (register, numbers) = picked(inst, *name, count as u32, default)?;
            if numbers.len() != count {
                let message = format!("`{}` selects too few elements", name.text);
                return Err(inst.unsupported(message));
            }
            Ok(((File::W32, cx.named_source(register, 0, File::W32)?), numbers))
        }
        other => Ok(((File::W32, cx.source(other, B32)?), default)),
    }
}

/// Element `number` of a pair of registers, of `bits` bits, extended by its sign or zeros.
fn element(pair: u64, number: u32, bits: u32, signed: bool) -> i64 {
    let raw = (pair >> (bits * number) & ((1 << bits) - 1)) as i64;
    if signed { raw << (64 - bits) >> (64 - bits) } else { raw }
}

/// `vop2.dtype.atype.btype{.sat}{.add} d{.mask}, a{.asel}, b{.bsel}, c`.
pub(super) fn decode<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &mut Inst<'m, 's>,
) -> Result<(), Fault> {
    let Some((operation, count)) = operation(inst.opcode()) else {
        return Err(inst.unsupported("this is not a video instruction on halves or bytes"));
    };
    let bits = 32 / count;
    let (saturate, sums) = (inst.take(Qualifier::Sat), inst.take(Qualifier::Add));
    let compares = matches!(operation, Operation::Compare);
    let comparison = if compares { inst.take_qualifier(compare) } else { None };
    let d_type = if comparison.is_some() { U32 } else { inst.take_type()? };
    let (a_type, b_type) = (inst.take_type()?, inst.take_type()?);
    inst.finish()?;
    let run: fn(i64, i64) -> i64 = match operation {
        Operation::Compute(run) => run,
        Operation::Compare if comparison.is_none() => {
            return Err(inst.unsupported("`vset` needs a comparison"));
        }
        Operation::Compare => |_, _| 0,
    };
    let (a, a_picks) = source(cx, inst, 1, (0..count).collect())?;
    let (b, b_picks) = source(cx, inst, 2, (count..2 * count).collect())?;
    let c = (File::W32, cx.source(inst.operand(3)?, B32)?);
    let Operand::Name(d) = inst.operand(0)? else {
        return Err(inst.unsupported("the destination of a video instruction is a register"));
    };
    let (d, mask) = picked(inst, *d, count, (0..count).collect())?;
    let d = (File::W32, cx.named_dest(d, B32)?);
    let (signed, a_signed, b_signed) = (d_type == S32, a_type == S32, b_type == S32);
    let compute = move |a: i64, b: i64| {
        let result = match comparison {
            Some(holds) => i64::from(holds(&a, &b)),
            None => run(a, b),
        };
        match (saturate, signed) {
            (false, _) => result,
            (true, true) => result.clamp(-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
            (true, false) => result.clamp(0, (1 << bits) - 1),
        }
    };
    let run = Box::new(move |[x, y, z, _]: [u64; 4]| {
        let pair = y << 32 | x;
        let (mut sum, mut merged) = (z as i64, z);
        for index in (0..count).filter(|index| mask.contains(index)) {
            let a = element(pair, a_picks[index as usize], bits, a_signed);
            let b = element(pair, b_picks[index as usize], bits, b_signed);
            let result = compute(a, b);
            sum += result;
            let (ones, at) = ((1 << bits) - 1, bits * index);
            merged = merged & !(ones << at) | (result as u64 & ones) << at;
        }
        Ok(if sums { u64::from(sum as u32) } else { merged })
    });
    cx.emit(Op::Scalar(Box::new(Scalar { run, d, s: vec![a, b, c], meaning: Meaning::Unknown })));
    Ok(())
}
