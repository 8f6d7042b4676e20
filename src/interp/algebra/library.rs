//! `tanhf` as compilers expand it: `copysign(1 - 2 / (1 + e^2|x|), x)`, 1 for large magnitudes, a polynomial for small ones.
//!
//! The polynomial and the 1 are within the rounding of the function that they replace. They are taken for it only where the
//! constants are those of the library, and where the polynomial of the same argument is the very element that is chosen.

use rustc_hash::FxHashMap;

use super::element::Element;

/// The magnitude from which on the hyperbolic tangent is 1, in single precision.
const LARGE: u32 = 0x4110_2cb4;
/// The magnitude below which it is a polynomial.
const SMALL: u32 = 0x3f19_999a;

/// The coefficients of the polynomial in the square of the argument, the highest power first.
pub(super) const COEFFICIENTS: [u32; 4] = [0x3c80_f082, 0xbd56_3cae, 0x3e08_5941, 0xbeaa_a9ed];

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
        if self.magnitudes.contains_key(&number.p) && matches!(bits, LARGE | SMALL) {
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

    /// Notes the hyperbolic tangent of a magnitude.
    pub(super) fn tangent(&mut self, tangent: Element, of: Element) {
        self.tangents.insert(tangent.p, of);
    }

    /// Whether an element is the hyperbolic tangent of a number's magnitude.
    pub(super) fn is_tangent(&self, tangent: Element, magnitude: Element) -> bool {
        self.tangents.get(&tangent.p).is_some_and(|of| of.p == magnitude.p)
    }
}
