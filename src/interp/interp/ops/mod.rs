//! The semantics of every instruction, by family. A family's `decode` functions turn an instruction into
//! micro-operations; for pure instructions the scalar semantics stand right there, as closures.
//!
//! The semantics are written from the PTX ISA manual alone; nothing is shared with the symbolic
//! emulator, so that the two can check each other.

mod arithmetic;
mod bits;
mod carry;
mod compare;
mod convert;
mod cvt_modifiers;
mod double;
mod half;
mod integers;
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
use super::registers::{File, warp};
use crate::isa::{Opcode, Qualifier};
use crate::ptx::ScalarType;

/// Decodes one instruction.
///
/// # Errors
/// The instruction is not modelled, or its operands do not fit.
pub(super) fn decode<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &mut Inst<'m, 's>,
) -> Result<(), Fault> {
    match inst.ast.form.opcode {
        Opcode::Add
        | Opcode::Sub
        | Opcode::Mul
        | Opcode::Mad
        | Opcode::Fma
        | Opcode::Div
        | Opcode::Min
        | Opcode::Max
        | Opcode::Abs
        | Opcode::Neg => arithmetic_by_type(cx, inst),
        Opcode::Rem | Opcode::Sad => arithmetic::decode(cx, inst),
        Opcode::Addc | Opcode::Subc | Opcode::Madc => carry::decode(cx, inst),
        Opcode::Mul24 | Opcode::Mad24 | Opcode::Dp4a | Opcode::Dp2a => multiply::decode(cx, inst),
        Opcode::Popc
        | Opcode::Clz
        | Opcode::Bfind
        | Opcode::Fns
        | Opcode::Brev
        | Opcode::Bfe
        | Opcode::Bfi
        | Opcode::Szext
        | Opcode::Bmsk => bits::decode(cx, inst),
        Opcode::And
        | Opcode::Or
        | Opcode::Xor
        | Opcode::Not
        | Opcode::Cnot
        | Opcode::Lop3
        | Opcode::Shl
        | Opcode::Shr
        | Opcode::Shf => logic::decode(cx, inst),
        Opcode::Prmt => prmt::decode(cx, inst),
        Opcode::Setp | Opcode::Set | Opcode::Selp | Opcode::Slct => compare::decode(cx, inst),
        Opcode::Rcp
        | Opcode::Sqrt
        | Opcode::Rsqrt
        | Opcode::Sin
        | Opcode::Cos
        | Opcode::Lg2
        | Opcode::Ex2
        | Opcode::Tanh
        | Opcode::Testp
        | Opcode::Copysign => float_by_type(cx, inst),
        Opcode::Mov => pack::decode(cx, inst),
        Opcode::Cvt => convert::decode(cx, inst),
        Opcode::Cvta | Opcode::Isspacep => decode::address(cx, inst),
        Opcode::Ld | Opcode::Ldu => decode::load(cx, inst),
        Opcode::St => decode::store(cx, inst),
        Opcode::Atom | Opcode::Red => decode::atomic(cx, inst),
        Opcode::Cp => decode::copy_async(cx, inst),
        Opcode::Mma => matrix::multiply(cx, inst),
        Opcode::Wmma => matrix::wmma(cx, inst),
        Opcode::Ldmatrix | Opcode::Stmatrix => matrix::rows(cx, inst),
        Opcode::Movmatrix => matrix::transpose(cx, inst),
        Opcode::Vadd
        | Opcode::Vsub
        | Opcode::Vabsdiff
        | Opcode::Vmin
        | Opcode::Vmax
        | Opcode::Vshl
        | Opcode::Vshr
        | Opcode::Vset
        | Opcode::Vmad => video::decode(cx, inst),
        Opcode::Vadd2
        | Opcode::Vsub2
        | Opcode::Vavrg2
        | Opcode::Vabsdiff2
        | Opcode::Vmin2
        | Opcode::Vmax2
        | Opcode::Vset2
        | Opcode::Vadd4
        | Opcode::Vsub4
        | Opcode::Vavrg4
        | Opcode::Vabsdiff4
        | Opcode::Vmin4
        | Opcode::Vmax4
        | Opcode::Vset4 => simd::decode(cx, inst),
        Opcode::Membar | Opcode::Fence => decode::fence(cx, inst),
        Opcode::Prefetch | Opcode::Prefetchu | Opcode::ApplyPriority | Opcode::Discard => Ok(()),
        Opcode::GridDepControl | Opcode::NanoSleep | Opcode::PmEvent | Opcode::SetMaxNReg => Ok(()),
        Opcode::Bra => decode::branch(cx, inst),
        Opcode::Brx => decode::indexed_branch(cx, inst),
        Opcode::Call => decode::call(cx, inst),
        Opcode::Alloca | Opcode::StackSave | Opcode::StackRestore => decode::stack(cx, inst),
        Opcode::Ret | Opcode::Exit | Opcode::Trap | Opcode::Brkpt => decode::leave(cx, inst),
        Opcode::Bar if inst.ast.form.has(Qualifier::Warp) => decode::warp_barrier(cx, inst),
        Opcode::Barrier if inst.ast.form.has(Qualifier::Cluster) => {
            decode::cluster_barrier(cx, inst)
        }
        Opcode::Bar | Opcode::Barrier => decode::barrier(cx, inst),
        Opcode::Mbarrier => decode::mbarrier(cx, inst),
        Opcode::Mapa | Opcode::Getctarank => decode::map_address(cx, inst),
        Opcode::CreatePolicy => policy(cx, inst),
        Opcode::Shfl => decode::shuffle(cx, inst),
        Opcode::Vote => decode::vote(cx, inst),
        Opcode::Match => decode::matching(cx, inst),
        Opcode::Redux => decode::reduction(cx, inst),
        Opcode::Elect => decode::elect(cx, inst),
        Opcode::ActiveMask => decode::active_mask(cx, inst),
        Opcode::Multimem
        | Opcode::Istypep
        | Opcode::Tensormap
        | Opcode::Tex
        | Opcode::Tld4
        | Opcode::Txq
        | Opcode::Suld
        | Opcode::Sust
        | Opcode::Sured
        | Opcode::Suq
        | Opcode::ClusterLaunchControl
        | Opcode::Wgmma
        | Opcode::Tcgen05
        | Opcode::Cctl
        | Opcode::Cctlu
        | Opcode::SpCompress
        | Opcode::SpDecompress
        | Opcode::Unknown => Err(unknown(inst)),
    }
}

/// `createpolicy`: caching changes no values, so the policy is 0.
fn policy<'m, 's>(cx: &mut Decoder<'_, 'm, 's>, inst: &Inst<'m, 's>) -> Result<(), Fault> {
    let zero = cx.immediate(File::W64, 0);
    let d = cx.dest(inst.operand(0)?, ScalarType::B64)?;
    cx.emit_lanes(warp!(|a: u64| -> u64 { a }), &[d], &[zero]);
    Ok(())
}

fn unknown(inst: &Inst<'_, '_>) -> Fault {
    inst.unsupported(format!("the instruction `{}` is not modelled", inst.ast.opcode.text))
}

fn arithmetic_by_type<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &mut Inst<'m, 's>,
) -> Result<(), Fault> {
    let types = inst.ast.form.types();
    let mnemonic = inst.ast.form.opcode;
    match types.first() {
        Some(ScalarType::F32 | ScalarType::F32x2) => single::decode(cx, inst),
        Some(ScalarType::F64) => double::decode(cx, inst),
        Some(ScalarType::F16 | ScalarType::F16x2 | ScalarType::Bf16 | ScalarType::Bf16x2) => {
            half::decode(cx, inst)
        }
        Some(ScalarType::U16x2 | ScalarType::S16x2) => packed::decode(cx, inst),
        _ if inst.ast.form.has(Qualifier::Cc) => carry::decode(cx, inst),
        _ if matches!(mnemonic, Opcode::Mul | Opcode::Mad) => multiply::decode(cx, inst),
        _ => arithmetic::decode(cx, inst),
    }
}

fn float_by_type<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &mut Inst<'m, 's>,
) -> Result<(), Fault> {
    match inst.ast.form.types().first() {
        Some(ScalarType::F64) => double::decode(cx, inst),
        Some(ScalarType::F16 | ScalarType::F16x2 | ScalarType::Bf16 | ScalarType::Bf16x2) => {
            half::decode(cx, inst)
        }
        _ => single::decode(cx, inst),
    }
}
