//! Values that stores write.

use super::eligible::OWN_REGISTERS;
use super::legality::Legality;
use crate::cfg::{Arg, RegisterId};
use crate::ptx::{ScalarType, Value};

/// The value that a store writes into a word.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StoredValue {
    /// A register of the word's width.
    Register(RegisterId),
    /// The bits of a constant.
    Bits(u64),
}

impl Legality<'_, '_, '_> {
    /// The value of an operand, if it is a constant or a register with a width that `fits`.
    pub fn stored_value(
        &self,
        value: &Arg<'_>,
        ty: ScalarType,
        fits: impl Fn(u32) -> bool,
    ) -> Option<StoredValue> {
        let bits = ty.bits();
        match value {
            Arg::Register(register) => {
                let described = &self.flow().registers[*register];
                let is_whole = described.component.is_none()
                    && fits(described.ty.bits())
                    && !described.name.starts_with(OWN_REGISTERS);
                is_whole.then_some(StoredValue::Register(*register))
            }
            Arg::Constant(Value::F32(number)) if bits == 32 => {
                Some(StoredValue::Bits((*number).into()))
            }
            Arg::Constant(Value::F64(number)) if bits == 64 => Some(StoredValue::Bits(*number)),
            Arg::Constant(value) if !ty.is_float() => {
                let all = u64::MAX >> (64 - bits);
                Some(StoredValue::Bits(value.as_integer()? as u64 & all))
            }
            _ => None,
        }
    }
}
