//! Operations whose operands have no order, and which instructions are functions of their operands at all.

use crate::emulate::on_numbers;
use crate::isa::{Form, Opcode, ScalarType};

/// Operations on integers whose operands have no order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) enum Bag {
    /// Sum, by width.
    Add(u8),
    /// Low half of the product, by width.
    Mul(u8),
    /// Exclusive or.
    Xor,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Least or greatest: the opcode and its type.
    Extreme(Opcode, ScalarType),
}

impl Bag {
    /// The number that changes nothing.
    pub(super) fn neutral(self) -> Option<u64> {
        match self {
            Bag::Add(_) | Bag::Xor | Bag::Or => Some(0),
            Bag::Mul(_) => Some(1),
            Bag::And | Bag::Extreme(..) => None,
        }
    }

    /// The operation on two numbers.
    pub(super) fn numbers(self, a: u64, b: u64) -> u64 {
        let cut = |value: u64, bits: u8| if bits >= 64 { value } else { value & ((1 << bits) - 1) };
        match self {
            Bag::Add(bits) => cut(a.wrapping_add(b), bits),
            Bag::Mul(bits) => cut(a.wrapping_mul(b), bits),
            Bag::Xor => a ^ b,
            Bag::And => a & b,
            Bag::Or => a | b,
            Bag::Extreme(opcode, ty) => {
                let form = Form::of(&format!("{}{ty}", opcode.name()));
                on_numbers(&form, &[a, b]).unwrap_or(a)
            }
        }
    }
}

/// Whether an instruction's result is a function of its operands and nothing else.
pub(super) fn is_pure(opcode: Opcode) -> bool {
    use Opcode::*;
    matches!(
        opcode,
        Add | Sub
            | Mul
            | Mad
            | Mul24
            | Mad24
            | Sad
            | Div
            | Rem
            | Abs
            | Neg
            | Min
            | Max
            | Popc
            | Clz
            | Bfind
            | Brev
            | Bfe
            | Bfi
            | Szext
            | Bmsk
            | Dp4a
            | Dp2a
            | Copysign
            | Fma
            | Rcp
            | Sqrt
            | Rsqrt
            | Sin
            | Cos
            | Lg2
            | Ex2
            | Tanh
            | Set
            | Setp
            | Selp
            | Slct
            | And
            | Or
            | Xor
            | Not
            | Cnot
            | Lop3
            | Shf
            | Shl
            | Shr
            | Prmt
            | Cvt
    )
}
