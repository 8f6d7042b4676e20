//! `tanhf` and `erff` as compilers expand them, and the bound of `sinf` and `cosf`.
//!
//! `tanhf` is `1 - 2 / (1 + e^2|x|)` with the sign of x, 1 for large magnitudes, a polynomial for small ones; `erff` is one minus
//! a power of 2 with the sign of x, or a polynomial. The polynomials and the 1 are within the rounding of the functions that they
//! replace. They are taken for these only where the constants are those of the library, and where all parts of the same argument
//! are the very elements that are chosen.

use super::element::{Element, Predicate};
use super::library::{COEFFICIENTS, ERROR_FUNCTIONS, SLOW};
use super::meaning::{Comparison, Format, Real};
use super::point::name;
use super::reals::{Reading, Reals};

impl Reals {
    /// The function of the library that a choice between two of its parts is: `a` where the predicate holds.
    pub(super) fn library_choice(&mut self, name: u64, a: Element, b: Element) -> Option<Element> {
        let one = self.point.integer(1);
        if let Some(magnitude) = self.library.large(name) {
            let tangent = self.tangent(magnitude);
            if a.p == one.p && b.p == tangent.p {
                self.library.tangent(tangent, magnitude);
                return Some(tangent);
            }
        }
        if let Some(function) = self.error_function(name, [a, b]) {
            return Some(function);
        }
        let x = self.library.small(name)?;
        let tangent = self.tangent(x);
        let square = self.point.mul(x, x);
        let mut sum = Element::default();
        for bits in COEFFICIENTS {
            let coefficient = self.constant(Format::F32, bits.into())?;
            let product = self.point.mul(sum, square);
            sum = self.point.add(product, coefficient);
        }
        sum = self.point.mul(sum, square);
        let product = self.point.mul(sum, x);
        let polynomial = self.point.add(product, x);
        (a.p == tangent.p && b.p == polynomial.p).then_some(tangent)
    }

    /// The error function that a choice between two of its parts is.
    fn error_function(&mut self, name: u64, [large, small]: [Element; 2]) -> Option<Element> {
        let (magnitude, x, bound) = self.library.compared(name)?;
        let function = ERROR_FUNCTIONS.iter().find(|function| function.bound == bound)?;
        // The predicate's name says that the magnitude is smaller.
        let chosen = |reals: &mut Reals, large: Element, small: Element| {
            reals.without_law(Predicate { name, negated: false }, [small, large])
        };
        let square = self.point.mul(x, x);
        let t = chosen(self, magnitude, square);
        let mut sum = Element::default();
        for (large, small) in function.large.iter().zip(&function.small) {
            let large = self.constant(Format::F32, (*large).into())?;
            let small = self.constant(Format::F32, (*small).into())?;
            let product = self.point.mul(sum, t);
            let coefficient = chosen(self, large, small);
            sum = self.point.add(product, coefficient);
        }
        let below = self.point.neg(t);
        let other = chosen(self, below, x);
        let one = self.point.integer(1);
        let is_one = [(x, true), (other, false)].into_iter().any(|(factor, copies)| {
            let part = self.function(Real::Fma, [sum, factor, factor]);
            if planted!(Bug::ExpansionBelieved) {
                return true;
            }
            if part.p != small.p {
                return false;
            }
            let exponent = if copies {
                let magnitude = self.magnitude(part);
                self.point.neg(magnitude)
            } else {
                part
            };
            let power = self.point.power(exponent);
            let magnitude = self.point.sub(one, power);
            let signed = match copies {
                true => self.function(Real::Copysign, [x, magnitude, one]),
                false => self.with_sign(x, magnitude),
            };
            signed.p == large.p
        });
        is_one.then(|| self.odd(name::ERROR_FUNCTION, x))
    }

    /// An odd function without other laws.
    fn odd(&mut self, function: u64, x: Element) -> Element {
        let opposite = self.point.neg(x);
        let value = self.point.hash(&[function, x.p.min(opposite.p)]);
        if x.p <= opposite.p { value } else { self.point.neg(value) }
    }

    /// As [`super::Algebra::with_sign`].
    pub(super) fn with_sign(&mut self, sign: Element, magnitude: Element) -> Element {
        let of = self.magnitude(sign);
        if self.library.is_tangent(magnitude, of) {
            return self.tangent(sign);
        }
        // The sign of a number that is negative stays.
        let (of, below) = (self.magnitude(magnitude), self.point.neg(sign));
        let negative = self.point.neg(of);
        self.point.by_sign(below, negative, magnitude)
    }

    /// Whether a magnitude is compared with the bound of `sinf` and `cosf`: arguments beyond it are left out, and a reading
    /// says so.
    pub(super) fn beyond(&mut self, comparison: Comparison, a: Element, bits: u32) -> Option<bool> {
        if bits != SLOW || !self.library.magnitudes.contains_key(&a.p) {
            return None;
        }
        let holds = match comparison {
            Comparison::Ge | Comparison::Gt => false,
            Comparison::Lt | Comparison::Le => true,
            _ => return None,
        };
        let number = "larger than all arguments of sinf and cosf".to_owned();
        self.readings.insert(bits, Reading { bits, number });
        Some(holds)
    }
}
