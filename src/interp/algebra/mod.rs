//! Algebras whose elements stand for floating-point numbers that are not known.
//!
//! In: operations by their meaning ([`Meaning`]), and operands that are numbers or elements. Out: the element, or the number,
//! that the operation yields; or nothing, where the algebra does not know. Nobody claims more than [`Algebra::same`] says:
//! two elements that are the same are the same function of the inputs but for a bounded probability ([`Algebra::bound`]).
//!
//! - `element`: elements; `field`: residues modulo two numbers; `point`: real functions at a random point, `plain`: sums and products of many; `class`: logarithms
//!   there; `reals`: operations on them; `choices`: choices and comparisons; `piecewise`, `conditions`: functions by cases, `lattice`: which
//!   cases exclude each other; `maxima`: sets whose maximum is taken; `constants`: which real number a constant stands for;
//!   `exact`: operations on numbers that do not round; `library`, `expansions`, `exponents`: functions as compilers expand
//!   them; `bits`: the same operations on the same operands.
//!
//! Which law holds, and why two kernels that are the same function are found equal: `docs/prove.md`.

mod bits;
mod choices;
mod class;
mod conditions;
mod constants;
mod element;
mod exact;
mod expansions;
mod exponents;
mod field;
mod lattice;
mod library;
mod maxima;
mod meaning;
mod piecewise;
mod plain;
mod point;
mod reals;

pub(crate) use element::{Degree, Element, Elements, Predicate, Term, Truth, mix};
pub(crate) use exact::{is_exact, number, rounded};
pub(crate) use meaning::{Comparison, Format, Meaning, Mode, Real};
pub use reals::Reading;

use bits::Bits;
use reals::{Junction, Reals};

/// Over which domain elements are computed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Domain {
    /// Real functions: rounding, overflow and the order of sums are not seen.
    Reals,
    /// Trees of operations: two results are the same if the same operations lead to them.
    Bits,
}

/// Names of functions of predicates.
const BOTH: u64 = 1;
const DIFFER: u64 = 2;

/// An algebra and the elements that it has met.
#[derive(Debug)]
pub(crate) enum Algebra {
    /// Of real functions.
    Reals(Box<Reals>),
    /// Of trees of operations.
    Bits(Box<Bits>),
}

macro_rules! either {
    ($self:ident, $algebra:ident => $body:expr) => {
        match $self {
            Algebra::Reals($algebra) => $body,
            Algebra::Bits($algebra) => $body,
        }
    };
}

impl Algebra {
    /// The algebra of a domain; elements are random by the seed.
    pub(crate) fn new(domain: Domain, seed: u64) -> Algebra {
        match domain {
            Domain::Reals => Algebra::Reals(Box::new(Reals::new(seed))),
            Domain::Bits => Algebra::Bits(Box::new(Bits::new(seed))),
        }
    }

    /// An input: a number of a buffer, by names of both.
    pub(crate) fn input(&self, buffer: u64, index: u64) -> Element {
        match self {
            Algebra::Reals(reals) => reals.point.input(buffer, index),
            Algebra::Bits(bits) => bits.input(buffer, index),
        }
    }

    /// The element of a number; none of NaN and infinities.
    pub(crate) fn constant(&mut self, format: Format, bits: u64) -> Option<Element> {
        either!(self, algebra => algebra.constant(format, bits))
    }

    /// Whether an operation on numbers that are all known yields what the machine computes.
    pub(crate) fn keeps(&self, op: Real, format: Format, operands: &[u64]) -> bool {
        match self {
            Algebra::Reals(_) => planted!(Bug::RoundingKept) || is_exact(op, format, operands),
            Algebra::Bits(_) => true,
        }
    }

    /// Whether a conversion of a number that is known yields what the machine computes.
    pub(crate) fn keeps_converted(&self, (from, to): (Format, Format), bits: u64) -> bool {
        match self {
            Algebra::Reals(_) => exact::is_kept(from, to, bits),
            Algebra::Bits(_) => true,
        }
    }

    /// The result of an operation.
    pub(crate) fn apply(
        &mut self,
        (op, format, mode): (Real, Format, Mode),
        operands: &[Term],
    ) -> Option<Term> {
        either!(self, algebra => algebra.apply((op, format, mode), operands))
    }

    /// A sum or product of elements in some places. Returns the places whose result was written: in the others more is known
    /// of an operand.
    pub(crate) fn apply_all<const N: usize>(
        &mut self,
        op: Real,
        operands: &[&Elements<N>],
        (mask, results): (u64, &mut Elements<N>),
    ) -> u64 {
        match self {
            Algebra::Reals(reals) => reals.point.apply_all(op, operands, (mask, results)),
            Algebra::Bits(_) => 0,
        }
    }

    /// A number in another format.
    pub(crate) fn convert(
        &mut self,
        (from, to, mode): (Format, Format, Mode),
        operand: Term,
    ) -> Option<Term> {
        either!(self, algebra => algebra.convert((from, to, mode), operand))
    }

    /// A comparison.
    pub(crate) fn compare(
        &mut self,
        (comparison, format, mode): (Comparison, Format, Mode),
        operands: [Term; 2],
    ) -> Option<Truth> {
        either!(self, algebra => algebra.compare((comparison, format, mode), operands))
    }

    /// The first of two operands where a predicate holds, else the second.
    pub(crate) fn choose(
        &mut self,
        predicate: Predicate,
        format: Format,
        operands: [Term; 2],
    ) -> Option<Term> {
        either!(self, algebra => algebra.choose(predicate, format, operands))
    }

    /// A B + C, of matrices row by row.
    pub(crate) fn product(
        &mut self,
        formats: (Format, Format),
        matrices: [&[Term]; 3],
        shape: (usize, usize),
    ) -> Option<Vec<Term>> {
        either!(self, algebra => algebra.product(formats, matrices, shape))
    }

    /// Whether both predicates hold.
    pub(crate) fn both(&mut self, one: Predicate, other: Predicate) -> Truth {
        if one == other {
            return Truth::Known(true).and(one);
        }
        if one == other.not() {
            return Truth::Known(false);
        }
        let key = |it: Predicate| it.name << 1 ^ u64::from(it.negated);
        let (a, b) = (key(one).min(key(other)), key(one).max(key(other)));
        let name = mix(mix(a, BOTH), b);
        if let Algebra::Reals(reals) = self {
            reals.junctions.insert(name, (Junction::Both, [one, other]));
        }
        Truth::Open(Predicate { name, negated: false })
    }

    /// Whether exactly one of two predicates holds.
    pub(crate) fn differ(&mut self, one: Predicate, other: Predicate) -> Truth {
        let negated = one.negated != other.negated;
        if one.name == other.name {
            return Truth::Known(negated);
        }
        let (a, b) = (one.name.min(other.name), one.name.max(other.name));
        let name = mix(mix(a, DIFFER), b);
        if let Algebra::Reals(reals) = self {
            let operands = [a, b].map(|name| Predicate { name, negated: false });
            reals.junctions.insert(name, (Junction::Differ, operands));
        }
        Truth::Open(Predicate { name, negated })
    }

    /// 2 to the power of the integer that a sum with 1.5 * 2^23 holds in its low bits, less the bias and the constant: the
    /// meaning of such a number's bits, shifted left by 23. None if the element is not such a sum.
    pub(crate) fn power_of_magic(&mut self, sum: Element) -> Option<Element> {
        match self {
            Algebra::Reals(reals) => reals.power_of_magic(sum),
            Algebra::Bits(_) => None,
        }
    }

    /// The exponent of a number's bits plus a constant, as an integer: 2^23 times an integer k. The number is `x`.
    pub(crate) fn exponent(&mut self, x: Element, constant: u32) -> Option<Element> {
        match self {
            Algebra::Reals(reals) => Some(reals.exponent(x, constant)),
            Algebra::Bits(_) => None,
        }
    }

    /// The number whose bits are those of `x` less an exponent, as [`Algebra::exponent`] returns it.
    pub(crate) fn without_exponent(&mut self, x: Element, exponent: Element) -> Option<Element> {
        match self {
            Algebra::Reals(reals) => reals.without_exponent(x, exponent),
            Algebra::Bits(_) => None,
        }
    }

    /// The number `magnitude` with its sign bit set where that of another number is.
    pub(crate) fn with_sign(&mut self, sign: Element, magnitude: Element) -> Option<Element> {
        match self {
            Algebra::Reals(reals) => Some(reals.with_sign(sign, magnitude)),
            Algebra::Bits(_) => None,
        }
    }

    /// A function of integers about which nothing else is known.
    pub(crate) fn function(&mut self, name: u64, operands: &[Term]) -> Option<Element> {
        match self {
            Algebra::Reals(reals) => reals.integer_function(name, operands),
            Algebra::Bits(_) => None,
        }
    }

    /// The element of an integer, if the algebra has one that is not rounded.
    pub(crate) fn integer(&self, value: i128) -> Option<Element> {
        match self {
            Algebra::Reals(reals) => Some(reals.point.integer(value)),
            Algebra::Bits(_) => None,
        }
    }

    /// A function of bits about which nothing else is known.
    pub(crate) fn opaque(&self, name: u64, operands: &[u64]) -> Option<Element> {
        match self {
            Algebra::Reals(_) => None,
            Algebra::Bits(bits) => Some(bits.opaque(name, operands)),
        }
    }

    /// Whether two elements are the same.
    pub(crate) fn same(&self, one: Element, other: Element) -> bool {
        match self {
            Algebra::Reals(reals) => reals.point.same(one, other),
            Algebra::Bits(bits) => bits.same(one, other),
        }
    }

    /// Notes the degree of an element that is compared.
    pub(crate) fn note_degree(&mut self, element: Element) {
        if let Algebra::Reals(reals) = self {
            reals.point.note_degree(element);
        }
    }

    /// A bound of the probability that elements which differ are taken for the same, in any of `words` comparisons.
    pub(crate) fn bound(&self, words: u64) -> f64 {
        match self {
            Algebra::Reals(reals) => reals.point.bound(words),
            Algebra::Bits(bits) => bits.bound(words),
        }
    }

    /// Whether something was met that has no value: a division by zero.
    pub(crate) fn trouble(&self) -> Option<&'static str> {
        match self {
            Algebra::Reals(reals) => reals.point.trouble,
            Algebra::Bits(_) => None,
        }
    }

    /// The constants that were taken for other numbers than their bits say.
    pub(crate) fn readings(&self) -> Vec<Reading> {
        match self {
            Algebra::Reals(reals) => reals.readings.values().cloned().collect(),
            Algebra::Bits(_) => Vec::new(),
        }
    }
}
