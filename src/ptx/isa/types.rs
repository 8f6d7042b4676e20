//! Types and state spaces (PTX ISA, "State Spaces, Types, and Variables").

use std::fmt;

use strum::{EnumString, IntoStaticStr};

/// A fundamental or packed type. The name says kind and width in bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, EnumString, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
#[expect(missing_docs, reason = "each variant is the PTX type of the same name")]
pub enum ScalarType {
    Pred,
    B8,
    B16,
    B32,
    B64,
    B128,
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
    F16,
    F16x2,
    Bf16,
    Bf16x2,
    F32,
    F64,
    F32x2,
    U16x2,
    S16x2,
    Tf32,
    E4m3,
    E5m2,
}

impl ScalarType {
    /// The type that a word such as `f32` names, with or without its dot; `None` for any other word.
    pub fn of(text: &str) -> Option<ScalarType> {
        text.strip_prefix('.').unwrap_or(text).parse().ok()
    }

    /// The type of plain bits of this width; of 64 bits for any other width.
    pub fn b(bits: u32) -> ScalarType {
        use ScalarType::*;
        [B8, B16, B32, B128].into_iter().find(|ty| ty.bits() == bits).unwrap_or(B64)
    }

    /// The type of signed integers of this width; of 64 bits for any other width.
    pub fn s(bits: u32) -> ScalarType {
        use ScalarType::*;
        [S8, S16, S32].into_iter().find(|ty| ty.bits() == bits).unwrap_or(S64)
    }

    /// The type of unsigned integers of this width; of 64 bits for any other width.
    pub fn u(bits: u32) -> ScalarType {
        use ScalarType::*;
        [U8, U16, U32].into_iter().find(|ty| ty.bits() == bits).unwrap_or(U64)
    }

    /// Width in bits; a predicate counts as 1.
    pub fn bits(self) -> u32 {
        use ScalarType::*;
        match self {
            Pred => 1,
            B8 | U8 | S8 | E4m3 | E5m2 => 8,
            B16 | U16 | S16 | F16 | Bf16 => 16,
            B32 | U32 | S32 | F32 | F16x2 | Bf16x2 | U16x2 | S16x2 | Tf32 => 32,
            B64 | U64 | S64 | F64 | F32x2 => 64,
            B128 => 128,
        }
    }

    /// Whether the type is one of `.s8 .s16 .s32 .s64`.
    pub fn is_signed(self) -> bool {
        use ScalarType::*;
        matches!(self, S8 | S16 | S32 | S64)
    }

    /// Whether arithmetic on the type is floating-point arithmetic.
    pub fn is_float(self) -> bool {
        use ScalarType::*;
        matches!(self, F16 | F16x2 | Bf16 | Bf16x2 | F32 | F64 | F32x2 | Tf32 | E4m3 | E5m2)
    }

    /// The PTX spelling without its dot.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

impl fmt::Display for ScalarType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ".{}", self.name())
    }
}

/// A state space. `Generic` is the absence of one on an instruction: the address may lie in any
/// window (PTX ISA, "Generic Addressing").
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord, EnumString, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
#[expect(missing_docs, reason = "each variant is the state space of the same name")]
pub enum StateSpace {
    Reg,
    Sreg,
    Const,
    Global,
    Local,
    Param,
    Shared,
    Tex,
    Generic,
}

impl StateSpace {
    /// The space that a word names, with or without its dot, sub-spaces (`.shared::cta`,
    /// `.param::entry`) included.
    pub fn of(text: &str) -> Option<StateSpace> {
        let text = text.strip_prefix('.').unwrap_or(text);
        let word = text.split("::").next().unwrap_or(text);
        word.parse().ok().filter(|space| *space != StateSpace::Generic)
    }

    /// The PTX spelling without its dot; `generic` for a generic address.
    pub fn name(self) -> &'static str {
        self.into()
    }
}
