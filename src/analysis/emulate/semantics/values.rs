//! One instruction's operands, and where terms are made of them: all that a meaning depends on besides
//! the instruction's form.

use smallvec::{SmallVec, smallvec};

use super::super::symbols::{Function, Symbols};
use super::operand::{Operand, Part};
use crate::expr::{Arena, TermId};
use crate::isa::Selector;
use crate::ptx::ScalarType;

/// The operands of an instruction.
#[derive(Debug)]
pub(in crate::emulate) struct Values<'a> {
    /// Where terms are made.
    pub arena: &'a mut Arena,
    /// Where symbols and uninterpreted functions are named.
    pub symbols: &'a mut Symbols,
    /// The opcode with its modifiers as written, which names an uninterpreted function.
    pub name: &'a str,
    /// Where the results go.
    pub destination: Destination,
    /// The operands behind the destination.
    pub sources: &'a [Operand<'a>],
    /// The carry flag, where it is known: first as the instruction finds it, then as the instruction
    /// leaves it. The flag is the carry out of an addition, and the inverse of the borrow out of a
    /// subtraction.
    pub carry: Option<TermId>,
}

/// The shape of an instruction's first operand, as far as results depend on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::emulate) enum Destination {
    /// A register.
    Register,
    /// Parts of a register, as only video instructions write them; `None` for all of it.
    Part(Option<Selector>),
    /// `{a, b}`: how many registers.
    Vector(usize),
    /// `a|b`
    Pair,
    /// No operand, or something else.
    Other,
}

/// The results of an instruction: a term for each register of its destination, and the type by whose sign
/// the term is extended in a wider register.
pub(in crate::emulate) type Results = SmallVec<[(TermId, ScalarType); 2]>;

/// The width in which a value of a type is kept: 128-bit registers are opaque and kept as 64.
#[inline]
pub(in crate::emulate) fn width_of(ty: ScalarType) -> u8 {
    ty.bits().min(64) as u8
}

/// The result of an instruction that writes one register.
#[inline]
pub(super) fn single(term: TermId, ty: ScalarType) -> Results {
    smallvec![(term, ty)]
}

impl Values<'_> {
    /// Source operand `index` (0 is the first behind the destination) as `width` bits.
    #[inline]
    pub(super) fn source(&mut self, index: usize, width: u8) -> Option<TermId> {
        self.sources.get(index)?.value(self.arena, self.symbols, width)
    }

    /// Source operand `index` as a predicate.
    pub(super) fn predicate(&mut self, index: usize) -> Option<TermId> {
        self.source(index, 1)
    }

    /// Source operand `index` of a video instruction: its 32 bits, and which of them are meant.
    pub(super) fn part(&mut self, index: usize) -> Option<Part> {
        match *self.sources.get(index)? {
            Operand::Part(part) => {
                Some(Part { whole: self.arena.extract(part.whole, 0, 32), ..part })
            }
            _ => {
                let whole = self.source(index, 32)?;
                Some(Part { whole, selector: None, negated: false })
            }
        }
    }

    /// An uninterpreted function of all source operands: equal operands give equal results.
    pub(super) fn uninterpreted(&mut self, width: u8) -> Option<TermId> {
        let mut arguments = SmallVec::<[TermId; 4]>::new();
        for source in self.sources {
            let elements = match source {
                Operand::Vector(elements) => elements,
                single => std::slice::from_ref(single),
            };
            for element in elements {
                arguments.push(element.natural(self.arena, self.symbols, 64)?);
            }
        }
        let function = self.symbols.function(Function::Opcode(self.name.to_owned()));
        Some(self.arena.apply(function, &arguments, width))
    }
}
