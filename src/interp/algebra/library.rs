//! `tanhf` and `erff` as compilers expand them, and the bound of `sinf` and `cosf`.
//!
//! `tanhf` is `1 - 2 / (1 + e^2|x|)` with the sign of x, 1 for large magnitudes, a polynomial for small ones; `erff` is one minus
//! a power of 2 with the sign of x, or a polynomial. The polynomials and the 1 are within the rounding of the functions that they
//! replace. They are taken for these only where the constants are those of the library, and where all parts of the same argument
//! are the very elements that are chosen.

use rustc_hash::FxHashMap;

use super::element::Element;
use super::meaning::{Comparison, Format, Real};
use super::point::name;
use super::reals::{Reading, Reals};

/// The magnitude from which on the hyperbolic tangent is 1, in single precision.
const LARGE: u32 = 0x4110_2cb4;
/// The magnitude below which it is a polynomial.
const SMALL: u32 = 0x3f19_999a;

/// The coefficients of the polynomial in the square of the argument, the highest power first.
const COEFFICIENTS: [u32; 4] = [0x3c80_f082, 0xbd56_3cae, 0x3e08_5941, 0xbeaa_a9ed];

/// The magnitude from which on `sinf` and `cosf` reduce their argument with many words of 2 / pi.
const SLOW: u32 = 0x47ce_4780;

/// An expansion of `erff`: the bound, and the coefficients from it on and below it, the highest power first.
struct ErrorFunction {
    bound: u32,
    large: [u32; 7],
    small: [u32; 7],
}

/// That of CUDA 13, and that of libdevice.
const ERROR_FUNCTIONS: [ErrorFunction; 2] = [
    ErrorFunction {
        bound: 0x3f80_7b28,
        large: [
            0x388e_49b7,
            0xba73_c723,
            0x3be3_e044,
            0xbd19_b6f7,
            0x3e20_72ab,
            0x3f6a_18f3,
            0x3f20_f3eb,
        ],
        small: [
            0x388d_8e09,
            0xba48_7a7d,
            0x3ba8_86c1,
            0xbcdb_c4cf,
            0x3de7_12bb,
            0xbec0_9388,
            0x3e03_75d4,
        ],
    },
    ErrorFunction {
        bound: 0x3f80_60fe,
        large: [
            0x38eb_4c3a,
            0xbaae_005b,
            0x3c09_919f,
            0xbd24_d99a,
            0x3e23_5519,
            0x3f69_b4f9,
            0x3f21_0a14,
        ],
        small: [
            0x38b1_e96a,
            0xba57_4d20,
            0x3baa_d5ea,
            0xbcdc_1be7,
            0x3de7_18af,
            0xbec0_93ac,
            0x3e03_75d3,
        ],
    },
];

/// Elements whose arguments are known.
#[derive(Debug, Default)]
pub(super) struct Library {
    /// The number whose magnitude an element is, by the residue modulo `P`.
    magnitudes: FxHashMap<u64, Element>,
    /// The magnitude whose hyperbolic tangent an element is.
    tangents: FxHashMap<u64, Element>,
    /// The magnitude and the bits of the constant that a predicate compares, by its name.
    bounds: FxHashMap<u64, (Element, u32)>,
}

impl Library {
    /// Notes a magnitude.
    pub(super) fn magnitude(&mut self, magnitude: Element, of: Element) {
        self.magnitudes.insert(magnitude.p, of);
    }

    /// Notes that a predicate, or its negation, says that a magnitude is at least as large as a constant.
    pub(super) fn bound(&mut self, name: u64, number: Element, bits: u32) {
        let is_error = ERROR_FUNCTIONS.iter().any(|function| function.bound == bits);
        let is_known = is_error || matches!(bits, LARGE | SMALL);
        if is_known && self.magnitudes.contains_key(&number.p) {
            self.bounds.insert(name, (number, bits));
        }
    }

    /// The magnitude that a predicate compares with the large bound.
    pub(super) fn large(&self, name: u64) -> Option<Element> {
        self.bounds.get(&name).filter(|bound| bound.1 == LARGE).map(|bound| bound.0)
    }

    /// The number whose magnitude a predicate compares with the small bound.
    pub(super) fn small(&self, name: u64) -> Option<Element> {
        let magnitude = self.bounds.get(&name).filter(|bound| bound.1 == SMALL)?.0;
        self.magnitudes.get(&magnitude.p).copied()
    }

    /// The magnitude that a predicate compares, whose magnitude it is, and the bits of the constant.
    fn compared(&self, name: u64) -> Option<(Element, Element, u32)> {
        let &(magnitude, bits) = self.bounds.get(&name)?;
        Some((magnitude, *self.magnitudes.get(&magnitude.p)?, bits))
    }

    /// Notes the hyperbolic tangent of a magnitude.
    pub(super) fn tangent(&mut self, tangent: Element, of: Element) {
        self.tangents.insert(tangent.p, of);
    }

    /// Whether an element is the hyperbolic tangent of a number's magnitude.
    pub(super) fn is_tangent(&self, tangent: Element, magnitude: Element) -> bool {
        self.tangents.get(&tangent.p).is_some_and(|of| of.p == magnitude.p)
    }
}

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
            reals.without_law(name, [small, large])
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
            (signed.p, part.p) == (large.p, small.p)
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
        self.point.hash(&[name::WITH_SIGN, sign.p, magnitude.p])
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
