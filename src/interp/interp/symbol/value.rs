//! A lane's value: numbers that are known, and symbols, in parts of 16 bits.

use crate::algebra::{Degree, Element, Format, Predicate, Term, Truth};
use crate::interp::registers::{File, whole};

/// The most parts of a value.
pub(crate) const WIDTH: usize = 4;

/// What a part of a value belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Kind {
    /// It is known, or nothing is known of it: poison tells which.
    #[default]
    None,
    /// A number of a format; for 32 and 64 bits all parts have to be side by side.
    Number(Format),
    /// One of two patterns of 32 bits, by a predicate; the element is its name.
    Choice,
    /// A predicate: its name and whether it is negated.
    Truth,
    /// The bits of a single plus a constant; the element is the name of both.
    Biased,
    /// The sign bit of a single, above zeros.
    Sign,
}

/// A part of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Symbol {
    p: u64,
    q: u64,
    degree: Degree,
    /// The kind of the whole value.
    pub kind: Kind,
    /// Which part of it this is, the lowest first.
    pub part: u8,
}

impl Symbol {
    /// No symbol.
    pub(crate) const NONE: Symbol =
        Symbol { p: 0, q: 0, degree: Degree::ZERO, kind: Kind::None, part: 0 };

    /// A part of a value.
    #[inline]
    pub(crate) fn new(Element { p, q, degree }: Element, kind: Kind, part: u8) -> Symbol {
        Symbol { p, q, degree, kind, part }
    }

    /// The whole value that it is a part of.
    #[inline]
    pub(crate) fn element(&self) -> Element {
        Element { p: self.p, q: self.q, degree: self.degree }
    }

    /// Whether it is the part `part` of the value whose first part is `first`.
    #[inline]
    pub(crate) fn is_part_of(&self, first: &Symbol, part: usize) -> bool {
        self.kind == first.kind
            && (self.p, self.q) == (first.p, first.q)
            && usize::from(self.part) == part
    }

    /// Whether there is a symbol.
    #[inline]
    pub(crate) fn is_some(&self) -> bool {
        self.kind != Kind::None
    }
}

/// A lane's value.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Value {
    /// The bits of the parts that are known.
    pub bits: u64,
    /// The parts; those that are known have no symbol.
    pub parts: [Symbol; WIDTH],
    /// Whether something in it is neither known nor a symbol.
    pub lost: bool,
}

impl Value {
    /// A value that is known.
    pub(crate) fn known(bits: u64) -> Value {
        Value { bits, parts: [Symbol::NONE; WIDTH], lost: false }
    }

    /// A value without known parts.
    pub(crate) fn lost() -> Value {
        Value { lost: true, ..Value::known(0) }
    }

    /// A number of a format, in the lowest bits.
    pub(crate) fn number(format: Format, term: Term) -> Value {
        match term {
            Term::Number(bits) => Value::known(bits),
            Term::Element(element) => {
                let kind = Kind::Number(match format {
                    Format::Tf32 => Format::F32,
                    format => format,
                });
                let mut value = Value::known(0);
                for (part, symbol) in value.parts[..format.parts()].iter_mut().enumerate() {
                    *symbol = Symbol::new(element, kind, part as u8);
                }
                value
            }
        }
    }

    /// A truth value.
    pub(crate) fn truth(truth: Truth) -> Value {
        match truth {
            Truth::Known(holds) => Value::known(holds.into()),
            Truth::Open(Predicate { name, negated }) => {
                let mut value = Value::known(0);
                let element = Element { p: name, q: negated.into(), ..Element::default() };
                value.parts[0] = Symbol::new(element, Kind::Truth, 0);
                value
            }
        }
    }

    /// Whether the lowest bytes are known to be those of another value.
    pub(crate) fn is_same(&self, other: &Value, bytes: u32) -> bool {
        let width = u64::MAX >> (64 - 8 * bytes.min(8));
        let parts = bytes.div_ceil(2) as usize;
        let same = |(one, other): (&Symbol, &Symbol)| {
            let is_number = matches!(one.kind, Kind::Number(_));
            (one.kind, one.part, one.p) == (other.kind, other.part, other.p)
                && (is_number || one.q == other.q)
        };
        let both = self.parts[..parts].iter().zip(&other.parts);
        !self.lost
            && !other.lost
            && (self.bits ^ other.bits) & width == 0
            && both.into_iter().all(same)
    }

    /// Whether all of it is known.
    pub(crate) fn is_known(&self) -> bool {
        !self.lost && self.parts.iter().all(|part| !part.is_some())
    }

    /// The value as a truth value; none if it is lost.
    pub(crate) fn as_truth(&self) -> Option<Truth> {
        let element = self.parts[0].element();
        match self.parts[0].kind {
            _ if self.lost => None,
            Kind::Truth => {
                Some(Truth::Open(Predicate { name: element.p, negated: element.q != 0 }))
            }
            Kind::None => Some(Truth::Known(self.bits & 1 != 0)),
            _ => None,
        }
    }

    /// The value from some part on.
    pub(crate) fn behind_part(&self, first: usize) -> Value {
        let mut value = Value { bits: self.bits >> (16 * first), ..*self };
        value.parts = [Symbol::NONE; WIDTH];
        value.parts[..WIDTH - first].copy_from_slice(&self.parts[first..]);
        value
    }

    /// The bits that are symbols.
    pub(crate) fn symbolic(&self, file: File) -> u64 {
        let parts = self.parts.iter().enumerate().filter(|(_, part)| part.is_some());
        let all = parts.fold(0, |bits, (at, _)| bits | 0xffff << (16 * at));
        all & whole(file)
    }

    /// A part of the value alone.
    pub(crate) fn half(&self, part: usize) -> Value {
        let mut half = self.behind_part(part);
        half.bits &= 0xffff;
        half.parts[1..].fill(Symbol::NONE);
        half
    }
}
