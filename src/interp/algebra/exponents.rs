//! The exponents of numbers as integers, and `logf` as compilers expand it.
//!
//! `logf` adds a constant to the bits of x so that their sign and exponent, as an integer, are 2^23 k and x 2^-k lies around 1; it
//! returns k ln(2) and a polynomial of x 2^-k - 1, which is within the rounding of the logarithm. It is taken for that only where
//! the constants are those of the library, and where the polynomial of the same argument is the very element that is added. Small
//! x are first multiplied by 2^23. Its results for x <= 0 and for infinity are outside of the domain.

use super::element::{Element, Predicate, Term};
use super::library::{LN_2, POLYNOMIALS, UNIT};
use super::meaning::{Comparison, Format, Real};
use super::point::name;
use super::reals::Reals;
use super::{Truth, number};

impl Reals {
    /// k, of a number and the constant that is added to its bits.
    fn exponent_of(&mut self, x: Element, constant: u32) -> Element {
        self.point.hash(&[name::EXPONENT, x.p, constant.into()])
    }

    /// As [`super::Algebra::exponent`].
    pub(super) fn exponent(&mut self, x: Element, constant: u32) -> Element {
        let k = self.exponent_of(x, constant);
        let unit = self.point.integer(1 << 23);
        let integer = self.point.mul(k, unit);
        self.exponents.integers.insert(integer.p, (x, constant));
        integer
    }

    /// As [`super::Algebra::without_exponent`].
    pub(super) fn without_exponent(&mut self, x: Element, exponent: Element) -> Option<Element> {
        let &(of, constant) = self.exponents.integers.get(&exponent.p)?;
        let k = self.exponent_of(of, constant);
        let negative = self.point.neg(k);
        let power = self.point.power(negative);
        Some(self.point.mul(x, power))
    }

    /// Sums and products of exponents of numbers, as far as `logf` makes them.
    pub(super) fn of_exponents(
        &mut self,
        op: Real,
        operands: &[Term],
        [a, b, c]: [Element; 3],
    ) -> Option<Element> {
        if self.exponents.integers.is_empty() || !matches!(op, Real::Fma | Real::Mul) {
            return None;
        }
        let (other, bits) = match (operands[0], operands[1]) {
            (Term::Number(bits), Term::Element(_)) => (b, bits as u32),
            (Term::Element(_), Term::Number(bits)) => (a, bits as u32),
            _ => return None,
        };
        let addend = if op == Real::Fma { c } else { Element::default() };
        if bits == UNIT {
            let &(x, constant) = self.exponents.integers.get(&other.p)?;
            let sum = self.function(Real::Fma, [a, b, addend]);
            self.exponents.sums.insert(sum.p, (x, constant, addend));
            return Some(sum);
        }
        if bits != LN_2 || op != Real::Fma {
            return None;
        }
        let &(x, constant, more) = self.exponents.sums.get(&other.p)?;
        let polynomial = self.polynomial(x, constant)?;
        (polynomial.p == addend.p).then(|| self.logarithm_of(x, more))
    }

    /// The polynomial that is added to k ln(2).
    fn polynomial(&mut self, x: Element, constant: u32) -> Option<Element> {
        let (_, coefficients) = POLYNOMIALS.iter().find(|(other, _)| *other == constant)?;
        let k = self.exponent_of(x, constant);
        let negative = self.point.neg(k);
        let power = self.point.power(negative);
        let mantissa = self.point.mul(x, power);
        let one = self.point.integer(1);
        let rest = self.point.sub(mantissa, one);
        let mut sum = Element::default();
        for &bits in coefficients {
            let coefficient = self.constant(Format::F32, bits.into())?;
            let product = self.point.mul(sum, rest);
            sum = self.point.add(product, coefficient);
        }
        let product = self.point.mul(sum, rest);
        Some(self.function(Real::Fma, [product, rest, rest]))
    }

    /// ln(x) + more ln(2), where small x were multiplied by 2^23 and `more` is -23 for these.
    fn logarithm_of(&mut self, x: Element, more: Element) -> Element {
        let minus = self.point.integer(-23);
        let scaled = match (self.choices.get(&x.p), self.choices.get(&more.p)) {
            (Some(&(one, [large, small])), Some(&(other, addends)))
                if one == other && (addends[0].p, addends[1].p) == (minus.p, 0) =>
            {
                let factor = self.point.integer(1 << 23);
                (self.point.mul(small, factor).p == large.p).then_some(small)
            }
            _ => None,
        };
        let (argument, more) = match scaled {
            Some(small) => (small, Element::default()),
            None => (x, more),
        };
        let logarithm = self.point.logarithm(argument);
        let sum = self.point.add(logarithm, more);
        let ln2 = self.point.inverse(self.point.log2_of_e);
        let result = self.point.mul(sum, ln2);
        let opposite = self.point.neg(result);
        self.exponents.logarithms.insert(result.p, (x, false));
        self.exponents.logarithms.insert(opposite.p, (x, true));
        result
    }

    /// x times infinity and infinity added.
    pub(super) fn outside(&mut self, x: Element) -> Element {
        let result = self.point.hash(&[name::OUTSIDE, x.p]);
        self.exponents.outside.insert(result.p, x);
        result
    }

    /// The logarithm that a choice is inside of its domain, of a number that may be negative or zero; or the choice between
    /// two values outside of it.
    pub(super) fn logarithm_chosen(
        &mut self,
        predicate: Predicate,
        format: Format,
        operands: [Term; 2],
    ) -> Option<Element> {
        if self.exponents.logarithms.is_empty() {
            return None;
        }
        // Where the predicate holds, and where it does not.
        let [special, usual] =
            if predicate.negated { [operands[1], operands[0]] } else { operands };
        let Term::Element(usual) = usual else { return None };
        let zero = Element::default();
        let holds = Truth::Open(Predicate { negated: false, ..predicate });
        let logarithm = self.exponents.logarithms.get(&usual.p).copied();
        match special {
            Term::Element(outside) => {
                let x = logarithm?.0;
                let of = self.exponents.outside.get(&outside.p)?;
                (of.p == x.p && self.relation(Comparison::Lt, x, zero) == holds).then_some(usual)
            }
            Term::Number(bits) if number(format, bits).is_infinite() => {
                let negative = number(format, bits) < 0.0;
                let of = self.exponents.outside.get(&usual.p).copied();
                let (x, is_negated) = logarithm.or(of.map(|of| (of, !negative)))?;
                if is_negated == negative || self.relation(Comparison::Eq, x, zero) != holds {
                    return None;
                }
                match logarithm {
                    Some(_) => Some(usual),
                    None => {
                        let chosen = self.point.hash(&[name::OUTSIDE, usual.p, bits]);
                        self.exponents.outside.insert(chosen.p, x);
                        Some(chosen)
                    }
                }
            }
            Term::Number(_) => None,
        }
    }

    /// A function of integers about which nothing else is known.
    pub(super) fn integer_function(&mut self, function: u64, operands: &[Term]) -> Option<Element> {
        let mut words = vec![name::INTEGER, function];
        for &term in operands {
            words.push(self.element(Format::S32, term)?.p);
        }
        Some(self.point.hash(&words))
    }
}
