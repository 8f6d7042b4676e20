//! Which opcodes have an exact meaning here, and which file computes it.

use super::video::Operation;
use crate::isa::Opcode;

/// Instructions that are computed alike.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::emulate) enum Family {
    Arithmetic,
    Product,
    DotProduct,
    /// Counting and finding bits.
    Bits,
    /// Extracting, inserting and making fields of bits.
    Field,
    /// `fns`
    NthBit,
    Permute,
    Logic,
    /// `lop3`
    Logic3,
    Shift,
    FunnelShift,
    /// `setp`
    Predicate,
    Set,
    /// `selp`
    Select,
    /// `slct`
    SelectBySign,
    Move,
    Convert,
    GenericAddress,
    /// An operation; the number of its elements, 1, 2 or 4.
    Video(Operation, u8),
    /// `vmad`
    VideoProduct,
}

/// The family of an opcode; `None` if no form of it has an exact meaning here.
pub(in crate::emulate) const fn family(opcode: Opcode) -> Option<Family> {
    use Opcode::*;
    Some(match opcode {
        Add | Addc | Sub | Subc | Sad | Div | Rem | Abs | Neg | Min | Max => Family::Arithmetic,
        Mul | Mad | Madc | Mul24 | Mad24 => Family::Product,
        Dp4a | Dp2a => Family::DotProduct,
        Popc | Clz | Brev | Bfind => Family::Bits,
        Bfe | Bfi | Bmsk | Szext => Family::Field,
        Fns => Family::NthBit,
        Prmt => Family::Permute,
        And | Or | Xor | Not | Cnot => Family::Logic,
        Lop3 => Family::Logic3,
        Shl | Shr => Family::Shift,
        Shf => Family::FunnelShift,
        Setp => Family::Predicate,
        Set => Family::Set,
        Selp => Family::Select,
        Slct => Family::SelectBySign,
        Mov => Family::Move,
        Cvt => Family::Convert,
        Cvta => Family::GenericAddress,
        Vadd => Family::Video(Operation::Add, 1),
        Vadd2 => Family::Video(Operation::Add, 2),
        Vadd4 => Family::Video(Operation::Add, 4),
        Vsub => Family::Video(Operation::Subtract, 1),
        Vsub2 => Family::Video(Operation::Subtract, 2),
        Vsub4 => Family::Video(Operation::Subtract, 4),
        Vabsdiff => Family::Video(Operation::Distance, 1),
        Vabsdiff2 => Family::Video(Operation::Distance, 2),
        Vabsdiff4 => Family::Video(Operation::Distance, 4),
        Vavrg2 => Family::Video(Operation::Average, 2),
        Vavrg4 => Family::Video(Operation::Average, 4),
        Vmin => Family::Video(Operation::Least, 1),
        Vmin2 => Family::Video(Operation::Least, 2),
        Vmin4 => Family::Video(Operation::Least, 4),
        Vmax => Family::Video(Operation::Greatest, 1),
        Vmax2 => Family::Video(Operation::Greatest, 2),
        Vmax4 => Family::Video(Operation::Greatest, 4),
        Vshl => Family::Video(Operation::ShiftLeft, 1),
        Vshr => Family::Video(Operation::ShiftRight, 1),
        Vset => Family::Video(Operation::Compare, 1),
        Vset2 => Family::Video(Operation::Compare, 2),
        Vset4 => Family::Video(Operation::Compare, 4),
        Vmad => Family::VideoProduct,
        // Functions of their operands that are left uninterpreted.
        Testp | Copysign | Fma | Rcp | Sqrt | Rsqrt | Sin | Cos | Lg2 | Ex2 | Tanh | Isspacep
        | Mapa | Getctarank => return None,
        // Opcodes that have effects, or whose results depend on more than the operands.
        Ld | Ldu | St | Atom | Red | Multimem | Prefetch | Prefetchu | ApplyPriority | Discard
        | CreatePolicy | Istypep | Cp | Tensormap | Tex | Tld4 | Txq | Suld | Sust | Sured
        | Suq | Bra | Brx | Call | Ret | Exit | Trap | Brkpt | Bar | Barrier | Membar | Fence
        | Vote | Match | ActiveMask | Redux | GridDepControl | Elect | Mbarrier
        | ClusterLaunchControl | Shfl | Wmma | Mma | Ldmatrix | Stmatrix | Movmatrix | Wgmma
        | Tcgen05 | Alloca | StackSave | StackRestore | NanoSleep | PmEvent | SetMaxNReg | Cctl
        | Cctlu | SpCompress | SpDecompress | Unknown => return None,
    })
}
