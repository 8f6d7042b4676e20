//! The elements of matrices: how wide they are, and which number a bit pattern stands for.

use crate::float::Format;
use crate::float::format::{BF16, E2M1, E2M3, E3M2, E4M3, E5M2, F16};
use crate::isa::{Modifier, Qualifier, ScalarType};

/// The type of an element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Element {
    F16,
    Bf16,
    Tf32,
    F32,
    F64,
    E4m3,
    E5m2,
    E3m2,
    E2m3,
    E2m1,
    S4,
    U4,
    S8,
    U8,
    B1,
    S32,
}

impl Element {
    /// The type that a modifier names.
    pub(super) fn of(modifier: Modifier) -> Option<Element> {
        Some(match modifier {
            Modifier::Type(ScalarType::F16) => Element::F16,
            Modifier::Type(ScalarType::Bf16) => Element::Bf16,
            Modifier::Type(ScalarType::Tf32) => Element::Tf32,
            Modifier::Type(ScalarType::F32) => Element::F32,
            Modifier::Type(ScalarType::F64) => Element::F64,
            Modifier::Type(ScalarType::E4m3) => Element::E4m3,
            Modifier::Type(ScalarType::E5m2) => Element::E5m2,
            Modifier::Type(ScalarType::S8) => Element::S8,
            Modifier::Type(ScalarType::U8) => Element::U8,
            Modifier::Type(ScalarType::S32) => Element::S32,
            Modifier::Qualifier(Qualifier::E3m2) => Element::E3m2,
            Modifier::Qualifier(Qualifier::E2m3) => Element::E2m3,
            Modifier::Qualifier(Qualifier::E2m1) => Element::E2m1,
            Modifier::Qualifier(Qualifier::S4) => Element::S4,
            Modifier::Qualifier(Qualifier::U4) => Element::U4,
            Modifier::Qualifier(Qualifier::B1) => Element::B1,
            _ => return None,
        })
    }

    /// Bits of the element's place in a register. Floating-point numbers of 4 and 6 bits have a place
    /// of 8 (`.kind::f8f6f4`).
    pub(super) fn bits(self) -> u32 {
        match self {
            Element::B1 => 1,
            Element::S4 | Element::U4 => 4,
            Element::F16 | Element::Bf16 => 16,
            Element::Tf32 | Element::F32 | Element::S32 => 32,
            Element::F64 => 64,
            _ => 8,
        }
    }

    /// Elements in a register: of 64 bits for doubles, of 32 for all others.
    pub(super) fn per_register(self) -> usize {
        (if self == Element::F64 { 1 } else { 32 / self.bits() }) as usize
    }

    /// Whether products of such elements are integers.
    pub(super) fn is_integer(self) -> bool {
        matches!(
            self,
            Element::S4 | Element::U4 | Element::S8 | Element::U8 | Element::B1 | Element::S32
        )
    }

    /// The value of a floating-point element.
    pub(super) fn number(self, bits: u64) -> f64 {
        let narrow = |format: Format| format.widen(bits as u32);
        match self {
            Element::F16 => narrow(F16),
            Element::Bf16 => narrow(BF16),
            // The lower 13 bits do not belong to the number.
            Element::Tf32 => f64::from(f32::from_bits(bits as u32 & !0x1fff)),
            Element::F32 => f64::from(f32::from_bits(bits as u32)),
            Element::F64 => f64::from_bits(bits),
            Element::E4m3 => narrow(E4M3),
            Element::E5m2 => narrow(E5M2),
            Element::E3m2 => narrow(E3M2),
            Element::E2m3 => narrow(E2M3),
            // The 4 bits stand in the middle of their byte.
            Element::E2m1 => E2M1.widen(bits as u32 >> 2),
            _ => 0.0,
        }
    }

    /// The value of an integer element.
    pub(super) fn integer(self, bits: u64) -> i64 {
        match self {
            Element::S4 => (bits as i64) << 60 >> 60,
            Element::S8 => i64::from(bits as i8),
            Element::S32 => i64::from(bits as i32),
            _ => bits as i64,
        }
    }
}
