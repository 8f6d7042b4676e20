//! The constants of functions as compilers expand them, and the elements that were met of their parts.

use rustc_hash::FxHashMap;

use super::element::Element;

/// The magnitude from which on the hyperbolic tangent is 1, in single precision.
const LARGE: u32 = 0x4110_2cb4;
/// The magnitude below which it is a polynomial.
const SMALL: u32 = 0x3f19_999a;

/// The coefficients of the polynomial in the square of the argument, the highest power first.
pub(super) const COEFFICIENTS: [u32; 4] = [0x3c80_f082, 0xbd56_3cae, 0x3e08_5941, 0xbeaa_a9ed];

/// The magnitude from which on `sinf` and `cosf` reduce their argument with many words of 2 / pi.
pub(super) const SLOW: u32 = 0x47ce_4780;

/// An expansion of `erff`: the bound, and the coefficients from it on and below it, the highest power first.
pub(super) struct ErrorFunction {
    pub bound: u32,
    pub large: [u32; 7],
    pub small: [u32; 7],
}

/// That of CUDA 13, and that of libdevice.
pub(super) const ERROR_FUNCTIONS: [ErrorFunction; 2] = [
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
    pub magnitudes: FxHashMap<u64, Element>,
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
    pub(super) fn compared(&self, name: u64) -> Option<(Element, Element, u32)> {
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

/// 2^-23, which makes k of the integer.
pub(super) const UNIT: u32 = 0x3400_0000;
/// ln(2).
pub(super) const LN_2: u32 = 0x3f31_7218;

/// Expansions: the constant that is added to the bits, and the polynomial's coefficients, the highest power first.
pub(super) const POLYNOMIALS: [(u32, [u32; 9]); 2] = [
    // logf
    (
        0xc0d5_5555,
        [
            0xbe05_5027,
            0x3e10_39f6,
            0xbdf8_cdcc,
            0x3e0f_2955,
            0xbe2a_d8b9,
            0x3e4c_ed0b,
            0xbe7f_ff22,
            0x3eaa_aa78,
            0xbf00_0000,
        ],
    ),
    // log1pf, of x + 1
    (
        0xc0c0_0000,
        [
            0xbd39_bf78,
            0x3dd8_0012,
            0xbe07_78e0,
            0x3e14_6475,
            0xbe2a_68dd,
            0x3e4c_af9e,
            0xbe80_0042,
            0x3eaa_aae6,
            0xbf00_0000,
        ],
    ),
];

/// Exponents that were met, by the residue modulo `P` of an element.
#[derive(Debug, Default)]
pub(super) struct Exponents {
    /// The number whose exponent an integer is, and the constant that was added to its bits.
    pub integers: FxHashMap<u64, (Element, u32)>,
    /// The same for k plus an addend, and the addend.
    pub sums: FxHashMap<u64, (Element, u32, Element)>,
    /// The number whose logarithm an element is, or the logarithm's negative.
    pub logarithms: FxHashMap<u64, (Element, bool)>,
    /// The number that an element is the value of `logf` for outside of the logarithm's domain.
    pub outside: FxHashMap<u64, Element>,
}
