//! Types and state spaces (PTX ISA, "State Spaces, Types, and Variables").

use std::fmt;

/// A fundamental or packed type. The name says kind and width in bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
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
        use ScalarType::*;
        Some(match text.strip_prefix('.').unwrap_or(text) {
            "pred" => Pred,
            "b8" => B8,
            "b16" => B16,
            "b32" => B32,
            "b64" => B64,
            "b128" => B128,
            "u8" => U8,
            "u16" => U16,
            "u32" => U32,
            "u64" => U64,
            "s8" => S8,
            "s16" => S16,
            "s32" => S32,
            "s64" => S64,
            "f16" => F16,
            "f16x2" => F16x2,
            "bf16" => Bf16,
            "bf16x2" => Bf16x2,
            "f32" => F32,
            "f64" => F64,
            "f32x2" => F32x2,
            "u16x2" => U16x2,
            "s16x2" => S16x2,
            "tf32" => Tf32,
            "e4m3" => E4m3,
            "e5m2" => E5m2,
            _ => return None,
        })
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
        use ScalarType::*;
        match self {
            Pred => "pred",
            B8 => "b8",
            B16 => "b16",
            B32 => "b32",
            B64 => "b64",
            B128 => "b128",
            U8 => "u8",
            U16 => "u16",
            U32 => "u32",
            U64 => "u64",
            S8 => "s8",
            S16 => "s16",
            S32 => "s32",
            S64 => "s64",
            F16 => "f16",
            F16x2 => "f16x2",
            Bf16 => "bf16",
            Bf16x2 => "bf16x2",
            F32 => "f32",
            F64 => "f64",
            F32x2 => "f32x2",
            U16x2 => "u16x2",
            S16x2 => "s16x2",
            Tf32 => "tf32",
            E4m3 => "e4m3",
            E5m2 => "e5m2",
        }
    }
}

impl fmt::Display for ScalarType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, ".{}", self.name())
    }
}

/// A state space. `Generic` is the absence of one on an instruction: the address may lie in any
/// window (PTX ISA, "Generic Addressing").
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
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
        use StateSpace::*;
        let text = text.strip_prefix('.').unwrap_or(text);
        Some(match text.split("::").next().unwrap_or(text) {
            "reg" => Reg,
            "sreg" => Sreg,
            "const" => Const,
            "global" => Global,
            "local" => Local,
            "param" => Param,
            "shared" => Shared,
            "tex" => Tex,
            _ => return None,
        })
    }

    /// The PTX spelling without its dot; `generic` for a generic address.
    pub fn name(self) -> &'static str {
        use StateSpace::*;
        match self {
            Reg => "reg",
            Sreg => "sreg",
            Const => "const",
            Global => "global",
            Local => "local",
            Param => "param",
            Shared => "shared",
            Tex => "tex",
            Generic => "generic",
        }
    }
}
