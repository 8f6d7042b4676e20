//! What every instruction does, by family. A family's `decode` functions turn an instruction into
//! micro-operations; for pure instructions the scalar semantics stand right there, as closures.
//!
//! The semantics are written from the PTX ISA manual alone; nothing is shared with the symbolic
//! emulator, so that the two can check each other.

mod arithmetic;
mod bits;
mod carry;
mod compare;
mod convert;
mod double;
mod half;
mod logic;
mod matrix;
mod multiply;
mod narrow;
mod pack;
mod packed;
mod prmt;
mod simd;
mod single;
mod video;

use super::decode::{self, Decoder, Inst};
use super::fault::Fault;
use super::program::Op;
use super::registers::{File, warp};
use crate::ptx::ScalarType;

/// The one scalar function for each of the integer types of 16, 32 and 64 bits; `None` for others.
macro_rules! integers {
    ($ty:expr, |$($arg:ident),+| $body:block) => {
        match $ty {
            ScalarType::U16 => Some(warp!(|$($arg: u16),+| -> u16 $body)),
            ScalarType::S16 => Some(warp!(|$($arg: i16),+| -> i16 $body)),
            ScalarType::U32 => Some(warp!(|$($arg: u32),+| -> u32 $body)),
            ScalarType::S32 => Some(warp!(|$($arg: i32),+| -> i32 $body)),
            ScalarType::U64 => Some(warp!(|$($arg: u64),+| -> u64 $body)),
            ScalarType::S64 => Some(warp!(|$($arg: i64),+| -> i64 $body)),
            _ => None,
        }
    };
}
use integers;

/// Decodes one instruction.
///
/// # Errors
/// It is not modelled, or its operands do not fit.
pub fn decode<'m, 's>(cx: &mut Decoder<'_, 'm, 's>, inst: &mut Inst<'m, 's>) -> Result<(), Fault> {
    match inst.ast.mnemonic() {
        "add" | "sub" | "mul" | "mad" | "fma" | "div" | "min" | "max" | "abs" | "neg" => {
            arithmetic_by_type(cx, inst)
        }
        "rem" | "sad" => arithmetic::decode(cx, inst),
        "addc" | "subc" | "madc" => carry::decode(cx, inst),
        "mul24" | "mad24" | "dp4a" | "dp2a" => multiply::decode(cx, inst),
        "popc" | "clz" | "bfind" | "fns" | "brev" | "bfe" | "bfi" | "szext" | "bmsk" => {
            bits::decode(cx, inst)
        }
        "and" | "or" | "xor" | "not" | "cnot" | "lop3" | "shl" | "shr" | "shf" => {
            logic::decode(cx, inst)
        }
        "prmt" => prmt::decode(cx, inst),
        "setp" | "set" | "selp" | "slct" => compare::decode(cx, inst),
        "rcp" | "sqrt" | "rsqrt" | "sin" | "cos" | "lg2" | "ex2" | "tanh" | "testp"
        | "copysign" => float_by_type(cx, inst),
        "mov" => pack::decode(cx, inst),
        "cvt" => convert::decode(cx, inst),
        "cvta" | "isspacep" => decode::address(cx, inst),
        "ld" | "ldu" => decode::load(cx, inst),
        "st" => decode::store(cx, inst),
        "atom" | "red" => decode::atomic(cx, inst),
        "cp" => decode::copy_async(cx, inst),
        "mma" => matrix::multiply(cx, inst),
        "wmma" => matrix::wmma(cx, inst),
        "ldmatrix" | "stmatrix" => matrix::rows(cx, inst),
        "movmatrix" => matrix::transpose(cx, inst),
        "vadd" | "vsub" | "vabsdiff" | "vmin" | "vmax" | "vshl" | "vshr" | "vset" | "vmad" => {
            video::decode(cx, inst)
        }
        name if simd::lanes_of(name).is_some() => simd::decode(cx, inst),
        "membar" | "fence" => {
            cx.emit(Op::Fence);
            Ok(())
        }
        "prefetch" | "prefetchu" | "applypriority" | "discard" => Ok(()),
        "griddepcontrol" | "nanosleep" | "pmevent" | "setmaxnreg" => Ok(()),
        "bra" => decode::branch(cx, inst),
        "brx" => decode::indexed_branch(cx, inst),
        "call" => decode::call(cx, inst),
        "alloca" | "stacksave" | "stackrestore" => decode::stack(cx, inst),
        "ret" | "exit" | "trap" | "brkpt" => decode::leave(cx, inst),
        "bar" if inst.ast.has("warp") => decode::warp_barrier(cx, inst),
        "barrier" if inst.ast.has("cluster") => decode::cluster_barrier(cx, inst),
        "bar" | "barrier" => decode::barrier(cx, inst),
        "mbarrier" => decode::mbarrier(cx, inst),
        "mapa" | "getctarank" => decode::map_address(cx, inst),
        "createpolicy" => policy(cx, inst),
        "shfl" => decode::shuffle(cx, inst),
        "vote" => decode::vote(cx, inst),
        "match" => decode::matching(cx, inst),
        "redux" => decode::reduction(cx, inst),
        "elect" => decode::elect(cx, inst),
        "activemask" => decode::active_mask(cx, inst),
        _ => Err(unknown(inst)),
    }
}

/// `createpolicy`: how to cache says nothing about values; the policy is 0.
fn policy<'m, 's>(cx: &mut Decoder<'_, 'm, 's>, inst: &Inst<'m, 's>) -> Result<(), Fault> {
    let zero = cx.immediate(File::W64, 0);
    let d = cx.dest(inst.operand(0)?, ScalarType::B64)?;
    cx.emit_lanes(warp!(|a: u64| -> u64 { a }), &[d], &[zero]);
    Ok(())
}

fn unknown(inst: &Inst<'_, '_>) -> Fault {
    inst.unsupported(format!("instruction `{}` is not modelled", inst.ast.opcode.text))
}

fn arithmetic_by_type<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &mut Inst<'m, 's>,
) -> Result<(), Fault> {
    let types = inst.ast.types();
    let mnemonic = inst.ast.mnemonic();
    match types.first() {
        Some(ScalarType::F32 | ScalarType::F32x2) => single::decode(cx, inst),
        Some(ScalarType::F64) => double::decode(cx, inst),
        Some(ScalarType::F16 | ScalarType::F16x2 | ScalarType::Bf16 | ScalarType::Bf16x2) => {
            half::decode(cx, inst)
        }
        Some(ScalarType::U16x2 | ScalarType::S16x2) => packed::decode(cx, inst),
        _ if inst.ast.has("cc") => carry::decode(cx, inst),
        _ if matches!(mnemonic, "mul" | "mad") => multiply::decode(cx, inst),
        _ => arithmetic::decode(cx, inst),
    }
}

fn float_by_type<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &mut Inst<'m, 's>,
) -> Result<(), Fault> {
    match inst.ast.types().first() {
        Some(ScalarType::F64) => double::decode(cx, inst),
        Some(ScalarType::F16 | ScalarType::F16x2 | ScalarType::Bf16 | ScalarType::Bf16x2) => {
            half::decode(cx, inst)
        }
        _ => single::decode(cx, inst),
    }
}
