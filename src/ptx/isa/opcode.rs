//! The opcodes by their names (PTX ISA, "Instructions").

use std::fmt;

use strum::{EnumIter, EnumString, IntoStaticStr};

/// The first word of an instruction.
#[derive(
    Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, EnumString, EnumIter, IntoStaticStr,
)]
#[strum(serialize_all = "lowercase", use_phf)]
#[expect(missing_docs, reason = "each variant is the PTX opcode of the same name")]
pub enum Opcode {
    // Integer arithmetic, with carry too.
    Add,
    Addc,
    Sub,
    Subc,
    Mul,
    Mad,
    Madc,
    Mul24,
    Mad24,
    Sad,
    Div,
    Rem,
    Abs,
    Neg,
    Min,
    Max,
    Popc,
    Clz,
    Bfind,
    Fns,
    Brev,
    Bfe,
    Bfi,
    Szext,
    Bmsk,
    Dp4a,
    Dp2a,
    // Floating point.
    Testp,
    Copysign,
    Fma,
    Rcp,
    Sqrt,
    Rsqrt,
    Sin,
    Cos,
    Lg2,
    Ex2,
    Tanh,
    // Comparison and selection, logic, shifts.
    Set,
    Setp,
    Selp,
    Slct,
    And,
    Or,
    Xor,
    Not,
    Cnot,
    Lop3,
    Shf,
    Shl,
    Shr,
    // Data movement and conversion.
    Mov,
    Shfl,
    Prmt,
    Ld,
    Ldu,
    St,
    Multimem,
    Prefetch,
    Prefetchu,
    ApplyPriority,
    Discard,
    CreatePolicy,
    Isspacep,
    Istypep,
    Cvta,
    Cvt,
    Mapa,
    Getctarank,
    Cp,
    Tensormap,
    // Textures and surfaces.
    Tex,
    Tld4,
    Txq,
    Suld,
    Sust,
    Sured,
    Suq,
    // Control flow.
    Bra,
    Brx,
    Call,
    Ret,
    Exit,
    Trap,
    Brkpt,
    // Synchronisation and communication.
    Bar,
    Barrier,
    Membar,
    Fence,
    Atom,
    Red,
    Vote,
    Match,
    ActiveMask,
    Redux,
    GridDepControl,
    Elect,
    Mbarrier,
    ClusterLaunchControl,
    // Matrices.
    Wmma,
    Mma,
    Ldmatrix,
    Stmatrix,
    Movmatrix,
    Wgmma,
    Tcgen05,
    // Stack.
    Alloca,
    StackSave,
    StackRestore,
    // Scalar video.
    Vadd,
    Vsub,
    Vabsdiff,
    Vmin,
    Vmax,
    Vshl,
    Vshr,
    Vmad,
    Vset,
    // SIMD video.
    Vadd2,
    Vsub2,
    Vavrg2,
    Vabsdiff2,
    Vmin2,
    Vmax2,
    Vset2,
    Vadd4,
    Vsub4,
    Vavrg4,
    Vabsdiff4,
    Vmin4,
    Vmax4,
    Vset4,
    // Miscellaneous.
    NanoSleep,
    PmEvent,
    SetMaxNReg,
    Cctl,
    Cctlu,
    SpCompress,
    SpDecompress,
    /// Any other word.
    #[strum(disabled)]
    Unknown,
}

impl Opcode {
    /// The opcode that a word names; [`Opcode::Unknown`] for any other word.
    pub fn of(word: &str) -> Opcode {
        word.parse().unwrap_or(Opcode::Unknown)
    }

    /// The spelling: `ld`.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl fmt::Display for Opcode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(feature = "internals")]
mod tests {
    use strum::IntoEnumIterator;

    use super::*;

    crate::unit_tests!(every_name_means_its_opcode);

    fn every_name_means_its_opcode() {
        for opcode in Opcode::iter().filter(|opcode| *opcode != Opcode::Unknown) {
            assert_eq!(Opcode::of(opcode.name()), opcode);
        }
        assert_eq!(Opcode::of("applypriority"), Opcode::ApplyPriority);
        for word in ["", "LD", "ld.global", "unknown", "vadd3"] {
            assert_eq!(Opcode::of(word), Opcode::Unknown, "{word}");
        }
    }
}
