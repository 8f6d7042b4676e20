//! Operands whose registers have been read, before they are extended or truncated to the width that an instruction
//! wants.
//!
//! The machine has read the registers; its state is unknown here. Constants, addresses and special
//! registers take the width at which they are used, so each becomes a term only when an instruction
//! asks for it.

use super::super::special::Reading;
use super::super::symbols::Symbols;
use crate::expr::{Arena, TermId};
use crate::isa::Selector;
use crate::ptx::Value;

/// The sign bit of a constant.
const SIGN_BIT: u64 = 1 << 63;

/// An operand with the values of the registers that it names.
#[derive(Clone, Debug)]
pub(in crate::emulate) enum Operand<'a> {
    /// A register's value, as wide as the register.
    Register(TermId),
    /// `!%p`: the value before it is negated.
    Not(TermId),
    /// `%r1+4`: the register's value, and the offset.
    Sum(TermId, i64),
    /// A special register whose value is known or has a symbol of its own.
    Special(Box<Reading>),
    /// A special register that gives another value at each reading.
    Unsteady(TermId),
    /// A number.
    Constant(Value),
    /// The address of a variable or function.
    Address {
        /// The variable's name.
        name: &'a str,
        /// Bytes added, or elements if it is indexed.
        offset: i64,
        /// Whether it is an element of an array, `name[2]`.
        indexed: bool,
        /// The scope in a body in which it is declared.
        scope: Option<u32>,
    },
    /// `{a, b}`
    Vector(Vec<Operand<'a>>),
    /// A part of a register or its negative (`%r1.b0`, `-%r1`), which only video instructions take.
    Part(Part),
    /// An operand without a value: a memory operand, a sink.
    Nothing,
}

/// An operand of a video instruction: which bytes or halves of a register are meant, and whether a
/// minus sign stands in front (PTX ISA, "Video Instructions").
#[derive(Clone, Copy, Debug)]
pub(in crate::emulate) struct Part {
    /// The value of the register, at least 32 bits wide.
    pub whole: TermId,
    /// Which parts of its low 32 bits are meant; `None` for all of them.
    pub selector: Option<Selector>,
    /// Whether the negative of the value is meant.
    pub negated: bool,
}

impl Operand<'_> {
    /// The value as `width` bits. A wider register gives its low bits, as the manual says of operands
    /// wider than the instruction type ("Operand Size Exceeding Instruction-Type Size"); `None` if the
    /// operand is narrower, or has no value. One bit is a predicate: see [`Operand::predicate`].
    #[inline]
    pub(crate) fn value(
        &self,
        arena: &mut Arena,
        symbols: &mut Symbols,
        width: u8,
    ) -> Option<TermId> {
        if width == 1 {
            return self.predicate(arena, symbols);
        }
        let term = self.natural(arena, symbols, width)?;
        (arena.width(term) >= width).then(|| arena.extract(term, 0, width))
    }

    /// The value as a predicate: that of a predicate register, and otherwise whether a number is not zero.
    /// `None` for a wider register, which ptxas does not take for a predicate.
    fn predicate(&self, arena: &mut Arena, symbols: &mut Symbols) -> Option<TermId> {
        match self {
            Operand::Register(term) | Operand::Not(term) if arena.width(*term) != 1 => None,
            Operand::Register(_) | Operand::Not(_) => self.natural(arena, symbols, 1),
            Operand::Vector(elements) => match &elements[..] {
                [single] => single.predicate(arena, symbols),
                _ => None,
            },
            // Some instructions of ptxas take it for false, others for true.
            Operand::Constant(Value::Signed(i64::MIN) | Value::Unsigned(SIGN_BIT)) => None,
            // No sum or address is a predicate.
            Operand::Constant(Value::Signed(_) | Value::Unsigned(_))
            | Operand::Special(_)
            | Operand::Unsteady(_) => {
                let number = self.natural(arena, symbols, 64)?;
                let zero = arena.constant(0, arena.width(number));
                let is_zero = arena.equal(number, zero);
                Some(arena.not(is_zero))
            }
            _ => None,
        }
    }

    /// The value in its own width, or in `width` if it has none of its own.
    #[inline]
    pub(crate) fn natural(
        &self,
        arena: &mut Arena,
        symbols: &mut Symbols,
        width: u8,
    ) -> Option<TermId> {
        Some(match *self {
            Operand::Register(term) => term,
            Operand::Not(term) => arena.not(term),
            Operand::Sum(term, offset) => arena.add_constant(term, offset as u64),
            Operand::Special(ref reading) => {
                let term = reading.term(arena, symbols)?;
                arena.resize(term, width)
            }
            Operand::Unsteady(term) => arena.resize(term, width),
            Operand::Constant(value) => arena.constant(constant_bits(value, width), width),
            // How long an element is stands in the declaration, which may be in another module:
            // each element is an address of its own.
            Operand::Address { name, offset, indexed: true, scope } => {
                symbols.address(arena, &format!("{name}[{offset}]"), scope, width)
            }
            Operand::Address { name, offset, indexed: false, scope } => {
                let base = symbols.address(arena, name, scope, width);
                arena.add_constant(base, offset as u64)
            }
            Operand::Vector(ref elements) => match &elements[..] {
                [single] => return single.natural(arena, symbols, width),
                _ => return None,
            },
            Operand::Part(_) | Operand::Nothing => return None,
        })
    }
}

/// The bits of a constant where an operand of `width` bits is expected.
fn constant_bits(value: Value, width: u8) -> u64 {
    match value {
        Value::Signed(value) => value as u64,
        Value::Unsigned(value) => value,
        Value::F32(bits) => u64::from(bits),
        Value::F64(bits) if width == 32 => u64::from((f64::from_bits(bits) as f32).to_bits()),
        Value::F64(bits) => bits,
    }
}
