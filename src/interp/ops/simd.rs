//! SIMD video instructions: `vadd2 vadd4 vsub2 ... vset4` (PTX ISA, "SIMD Video Instructions"): two
//! halves or four bytes at a time, picked from two registers.

use super::video::{compare, split_selector};
use crate::interp::decode::{Decoder, Inst};
use crate::interp::fault::Fault;
use crate::interp::program::Op;
use crate::interp::program::rare::{Cell, Scalar};
use crate::interp::registers::File;
use crate::ptx::ScalarType::{B32, S32, U32};
use crate::ptx::{Name, Operand};

/// How many elements a mnemonic of this family works on.
pub fn lanes_of(mnemonic: &str) -> Option<u32> {
    let (operation, count) = mnemonic.split_at_checked(mnemonic.len().saturating_sub(1))?;
    let known =
        matches!(operation, "vadd" | "vsub" | "vavrg" | "vabsdiff" | "vmin" | "vmax" | "vset");
    match count {
        "2" if known => Some(2),
        "4" if known => Some(4),
        _ => None,
    }
}

/// The elements that a selector names, lowest first: numbers within the pair of sources.
fn picked<'s>(
    inst: &Inst<'_, 's>,
    name: Name<'s>,
    count: u32,
    default: Vec<u32>,
) -> Result<(Name<'s>, Vec<u32>), Fault> {
    let (register, selector) = split_selector(name);
    let Some((letter, digits)) = selector else { return Ok((register, default)) };
    let numbers: Option<Vec<u32>> =
        digits.chars().rev().map(|c| c.to_digit(10).filter(|&n| n < 2 * count)).collect();
    match numbers {
        Some(numbers) if letter == if count == 2 { 'h' } else { 'b' } => Ok((register, numbers)),
        _ => Err(inst.unsupported(format!("`{}` selects nothing", name.text))),
    }
}

/// `vop2.dtype.atype.btype{.sat}{.add} d{.mask}, a{.asel}, b{.bsel}, c`.
pub fn decode<'m, 's>(cx: &mut Decoder<'_, 'm, 's>, inst: &mut Inst<'m, 's>) -> Result<(), Fault> {
    let name = inst.ast.mnemonic();
    let count = lanes_of(name).unwrap_or(2);
    let bits = 32 / count;
    let (saturate, sums) = (inst.take("sat"), inst.take("add"));
    let comparison = if name.starts_with("vset") { inst.take_with(compare) } else { None };
    let d_type = if comparison.is_some() { U32 } else { inst.take_type()? };
    let (a_type, b_type) = (inst.take_type()?, inst.take_type()?);
    inst.finish()?;
    let run: fn(i64, i64) -> i64 = match &name[..name.len() - 1] {
        "vadd" => |a, b| a + b,
        "vsub" => |a, b| a - b,
        // Halves are rounded away from zero.
        "vavrg" => |a, b| (a + b + i64::from(a + b >= 0)) >> 1,
        "vabsdiff" => |a, b| (a - b).abs(),
        "vmin" => i64::min,
        "vmax" => i64::max,
        _ if comparison.is_none() => return Err(inst.unsupported("`vset` needs a comparison")),
        _ => |_, _| 0,
    };
    let mut side = |index: usize, from: u32| -> Result<(Cell, Vec<u32>), Fault> {
        let default = (from..from + count).collect();
        match inst.operand(index)? {
            Operand::Name(name) => {
                let (register, numbers) = picked(inst, *name, count, default)?;
                if numbers.len() != count as usize {
                    return Err(inst.unsupported(format!("`{}` selects too few", name.text)));
                }
                Ok(((File::W32, cx.named_source(register, 0, File::W32)?), numbers))
            }
            other => Ok(((File::W32, cx.source(other, B32)?), default)),
        }
    };
    let ((a, a_picks), (b, b_picks)) = (side(1, 0)?, side(2, count)?);
    let c = (File::W32, cx.source(inst.operand(3)?, B32)?);
    let Operand::Name(d) = inst.operand(0)? else {
        return Err(inst.unsupported("this is no destination of a video instruction"));
    };
    let (d, mask) = picked(inst, *d, count, (0..count).collect())?;
    let d = (File::W32, cx.named_dest(d, B32)?);
    let (signed, a_signed, b_signed) = (d_type == S32, a_type == S32, b_type == S32);
    let element = (1_u64 << bits) - 1;
    let run = Box::new(move |[x, y, z, _]: [u64; 4]| {
        let pair = y << 32 | x;
        let read = |number: u32, signed: bool| {
            let raw = (pair >> (bits * number) & element) as i64;
            if signed { raw << (64 - bits) >> (64 - bits) } else { raw }
        };
        let (mut sum, mut merged) = (z as i64, z);
        for index in 0..count {
            if !mask.contains(&index) {
                continue;
            }
            let (a, b) =
                (read(a_picks[index as usize], a_signed), read(b_picks[index as usize], b_signed));
            let result = match comparison {
                Some(holds) => i64::from(holds(&a, &b)),
                None => run(a, b),
            };
            let result = match (saturate, signed) {
                (false, _) => result,
                (true, true) => result.clamp(-(1 << (bits - 1)), (1 << (bits - 1)) - 1),
                (true, false) => result.clamp(0, element as i64),
            };
            sum += result;
            let at = bits * index;
            merged = merged & !(element << at) | (result as u64 & element) << at;
        }
        Ok(if sums { u64::from(sum as u32) } else { merged })
    });
    cx.emit(Op::Scalar(Box::new(Scalar { run, d, s: vec![a, b, c] })));
    Ok(())
}
