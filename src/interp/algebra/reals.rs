//! Real functions as pairs of residues.
//!
//! An element is the value of a function at a random point, modulo `P` and modulo `Q`. The residue modulo `Q` is needed where
//! the function is an exponent: 2 has the order `Q` modulo `P`, so `2^(x + y) = 2^x 2^y` holds for residues. A function that
//! no law is known of yields a hash of its operands. Nothing is claimed of functions where one of them divides by zero.
//!
//! A logarithm is a residue modulo `Q` and a class modulo 8, since the powers of 2 are only an eighth of the residues modulo
//! `P`. Elements with a class other than 0 are listed with a factor, by which the logarithm was multiplied. A power of 2 of
//! such an element, and the comparison of its residue modulo `Q`, need both.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::constants::{Constant, read};
use super::exact::number;
use super::field::{
    P, Powers, Q, add, enter, fraction, imaginary_unit, inverse_p, inverse_q, leave_q, mul_p,
    mul_q, small_fraction, sub,
};
use super::maxima::Sets;
use super::{
    Comparison, Degree, Element, Format, Mode, Predicate, Real, Term, Truth, mix, rounded,
};

/// A constant that was taken for a real number which rounds to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reading {
    /// The bits of the constant, in single precision.
    pub bits: u32,
    /// The real number: `1/768`, `sqrt(1/80)*log2(e)`.
    pub number: String,
}

/// The class of a logarithm, and the factor by which it was multiplied, a residue modulo `Q`. Class 8: not known.
type Class = (u8, u64);

/// The class of an element that a function of logarithms has yielded of which no law is known.
const UNKNOWN: u8 = 8;

/// Names of functions that yield hashes.
mod name {
    pub(super) const INPUT: u64 = 1;
    pub(super) const ATOM_OF_POWER: u64 = 2;
    pub(super) const ATOM_OF_LOGARITHM: u64 = 3;
    pub(super) const ATOM_OF_INVERSE: u64 = 4;
    pub(super) const UNKNOWN_POWER: u64 = 5;
    pub(super) const LOG2_OF_E: u64 = 6;
    pub(super) const PI: u64 = 7;
    pub(super) const ANGLE: u64 = 8;
    pub(super) const POSITIVE: u64 = 9;
    pub(super) const ZERO: u64 = 10;
    pub(super) const CHOICE: u64 = 11;
    pub(super) const MAGIC: u64 = 12;
    pub(super) const SQUARE_ROOT: u64 = 13;
    pub(super) const ROUND: u64 = 14;
    pub(super) const SIGN: u64 = 15;
}

/// The algebra of real functions.
#[derive(Debug)]
pub(crate) struct Reals {
    seed: u64,
    powers: Powers,
    constants: FxHashMap<(Format, u64), Element>,
    /// The constants that were taken for other numbers, by their bits.
    pub readings: BTreeMap<u32, Reading>,
    pub(super) sets: Sets,
    /// The difference that a predicate says is positive, by the predicate's name.
    positive: FxHashMap<u64, Element>,
    /// The predicate and the operands of a choice, by its value.
    choices: FxHashMap<u64, (Predicate, [Element; 2])>,
    /// Classes of elements that contain logarithms, by the residue modulo `P`.
    classes: FxHashMap<u64, Class>,
    /// Sums that hold an integer in their low bits.
    magic: FxHashMap<u64, ()>,
    /// Something without a value that was met.
    pub trouble: Option<&'static str>,
    log2_of_e: Element,
    hashes: u64,
    exponents: u64,
    exponent_degree: u32,
    /// The largest degree of an element.
    degree: u32,
}

/// 1.5 * 2^23: the sum with a small number is that number's integer part in the low bits.
const MAGIC: f64 = 12_582_912.0;
/// The addends around it that are taken for it.
const MAGIC_SLACK: f64 = 1024.0;

impl Reals {
    /// An algebra whose random point is given by a seed.
    pub(super) fn new(seed: u64) -> Reals {
        let mut reals = Reals {
            seed: mix(seed, 0x7265_616c),
            powers: Powers::new(),
            constants: FxHashMap::default(),
            readings: BTreeMap::new(),
            sets: Sets::default(),
            positive: FxHashMap::default(),
            choices: FxHashMap::default(),
            classes: FxHashMap::default(),
            magic: FxHashMap::default(),
            trouble: None,
            log2_of_e: Element::default(),
            hashes: 0,
            exponents: 0,
            exponent_degree: 1,
            degree: 1,
        };
        reals.log2_of_e = reals.random(&[name::LOG2_OF_E]);
        reals
    }

    /// A random element by its name.
    pub(super) fn random(&self, words: &[u64]) -> Element {
        let key = words.iter().fold(self.seed, |key, &word| mix(key, word));
        let scaled =
            |key: u64, modulus: u64| ((u128::from(key) * u128::from(modulus)) >> 64) as u64;
        let (p, q) = (scaled(mix(key, 0x51ed), P), scaled(mix(key, 0xc0fe), Q));
        Element { p, q, degree: Degree::ONE }
    }

    /// A hash of operands. Only the residues modulo `P` count: elements that are the same modulo `Q` alone have others.
    fn hash(&mut self, words: &[u64]) -> Element {
        self.hashes += 1;
        self.random(words)
    }

    /// An input.
    #[inline]
    pub(super) fn input(&self, buffer: u64, index: u64) -> Element {
        self.random(&[name::INPUT, buffer, index])
    }

    /// The element of an integer.
    pub(super) fn integer(&self, value: i128) -> Element {
        self.fraction(value, 1)
    }

    /// The element of a fraction, whose denominator is small and not 0.
    pub(super) fn fraction(&self, numerator: i128, denominator: i128) -> Element {
        let (p, q) = fraction(numerator, denominator).unwrap_or_default();
        Element { p, q, degree: Degree::default() }
    }

    // Classes of logarithms

    fn class(&self, a: Element) -> Option<Class> {
        if self.classes.is_empty() { None } else { self.classes.get(&a.p).copied() }
    }

    fn classed(&mut self, a: Element, class: Option<Class>) -> Element {
        if let Some((class, factor)) = class
            && class != 0
            && a.p != 0
        {
            self.classes.insert(a.p, (class, factor));
        }
        a
    }

    fn class_of_sum(&self, a: Element, b: Element) -> Option<Class> {
        match (self.class(a), self.class(b)) {
            (None, other) | (other, None) => other,
            (Some((UNKNOWN, _)), _) | (_, Some((UNKNOWN, _))) => Some((UNKNOWN, 0)),
            (Some((one, factor)), Some((other, same))) if factor == same => {
                Some(((one + other) % 8, factor))
            }
            (Some((one, factor)), Some((other, opposite))) if add(factor, opposite, Q) == 0 => {
                Some(((one + 8 - other) % 8, factor))
            }
            _ => Some((UNKNOWN, 0)),
        }
    }

    fn class_of_product(&self, a: Element, b: Element) -> Option<Class> {
        match (self.class(a), self.class(b)) {
            (None, None) => None,
            (Some((class, factor)), None) if class != UNKNOWN => Some((class, mul_q(factor, b.q))),
            (None, Some((class, factor))) if class != UNKNOWN => Some((class, mul_q(factor, a.q))),
            _ => Some((UNKNOWN, 0)),
        }
    }

    // The operations of a field

    /// A sum.
    #[inline]
    pub(super) fn add(&mut self, a: Element, b: Element) -> Element {
        let sum =
            Element { p: add(a.p, b.p, P), q: add(a.q, b.q, Q), degree: a.degree.sum(b.degree) };
        if self.classes.is_empty() {
            return sum;
        }
        let class = self.class_of_sum(a, b);
        self.classed(sum, class)
    }

    /// The negative.
    #[inline]
    pub(super) fn neg(&mut self, a: Element) -> Element {
        let negative = Element { p: sub(0, a.p, P), q: sub(0, a.q, Q), degree: a.degree };
        match self.class(a) {
            None => negative,
            Some((class, factor)) => self.classed(negative, Some((class, sub(0, factor, Q)))),
        }
    }

    /// A difference.
    #[inline]
    pub(super) fn sub(&mut self, a: Element, b: Element) -> Element {
        let negative = self.neg(b);
        self.add(a, negative)
    }

    /// A product.
    #[inline]
    pub(super) fn mul(&mut self, a: Element, b: Element) -> Element {
        let product =
            Element { p: mul_p(a.p, b.p), q: mul_q(a.q, b.q), degree: a.degree.product(b.degree) };
        self.degree = self.degree.max(product.degree.value());
        if self.classes.is_empty() {
            return product;
        }
        let class = self.class_of_product(a, b);
        self.classed(product, class)
    }

    /// The inverse.
    pub(super) fn inverse(&mut self, a: Element) -> Element {
        let Some(p) = inverse_p(a.p) else {
            self.trouble = Some("a division by zero");
            return Element::default();
        };
        let q = inverse_q(a.q).unwrap_or_else(|| self.random(&[name::ATOM_OF_INVERSE, a.p]).q);
        let inverse = Element { p, q, degree: a.degree.inverse() };
        let class = self.class(a).map(|_| (UNKNOWN, 0));
        self.classed(inverse, class)
    }

    // Functions

    /// 2^a. The result is an atom as an exponent.
    pub(super) fn power(&mut self, a: Element) -> Element {
        self.exponents += 1;
        self.exponent_degree = self.exponent_degree.max(a.degree.value());
        let mut p = self.powers.of(leave_q(a.q));
        if let Some((class, factor)) = self.class(a) {
            let Some(times) = small_integer(factor).filter(|_| class != UNKNOWN) else {
                return self.hash(&[name::UNKNOWN_POWER, a.p]);
            };
            let turns = (i64::from(class) * times).rem_euclid(8);
            for _ in 0..turns {
                p = mul_p(p, self.powers.eighth);
            }
        }
        let q = self.random(&[name::ATOM_OF_POWER, p]).q;
        Element { p, q, degree: Degree::ONE }
    }

    /// The logarithm to the base 2.
    fn logarithm(&mut self, a: Element) -> Element {
        if a.p == 0 {
            self.trouble = Some("a logarithm of zero");
            return Element::default();
        }
        self.hashes += 1;
        let (exponent, class) = self.powers.logarithm(a.p);
        let class = if planted!(Bug::ClassOfLogarithm) { 0 } else { class };
        let q = enter(exponent.into(), Q);
        let p = self.random(&[name::ATOM_OF_LOGARITHM, q, class.into()]).p;
        let result = Element { p, q, degree: Degree::ONE };
        self.classed(result, Some((class, enter(1, Q))))
    }

    /// e^a.
    fn exponential(&mut self, a: Element) -> Element {
        let exponent = self.mul(a, self.log2_of_e);
        self.power(exponent)
    }

    /// Sine or cosine: the parts of 2^(k a), where k is random.
    fn angle(&mut self, a: Element, cosine: bool) -> Element {
        if self.class(a).is_some() {
            return self.hash(&[name::ANGLE, u64::from(cosine), a.p]);
        }
        self.exponents += 1;
        self.exponent_degree = self.exponent_degree.max(a.degree.value());
        let exponent = leave_q(mul_q(a.q, self.random(&[name::ANGLE]).q));
        let turn = self.powers.of(exponent);
        let back = self.powers.of(if exponent == 0 { 0 } else { Q - exponent });
        let half = self.fraction(1, 2).p;
        let p = if cosine {
            mul_p(add(turn, back, P), half)
        } else {
            let by_i = inverse_p(imaginary_unit()).unwrap_or_default();
            mul_p(mul_p(sub(turn, back, P), half), by_i)
        };
        let q = self.random(&[name::ATOM_OF_POWER, p]).q;
        Element { p, q, degree: Degree::ONE }
    }

    /// The square root: that of a fraction without its square factors.
    pub(super) fn square_root(&mut self, a: Element) -> Element {
        match self.as_fraction(a) {
            Some((numerator, denominator)) if numerator >= 0 => {
                self.root_of_fraction(numerator, denominator)
            }
            _ => self.hash(&[name::SQUARE_ROOT, a.p]),
        }
    }

    /// The small fraction that an element is in both rings.
    fn as_fraction(&self, a: Element) -> Option<(i128, i128)> {
        let (numerator, denominator) = small_fraction(a.p, 1 << 24)?;
        let again = self.fraction(numerator, denominator);
        (again.p == a.p && again.q == a.q).then_some((numerator, denominator))
    }

    pub(super) fn root_of_fraction(&mut self, numerator: i128, denominator: i128) -> Element {
        let (mut rest, mut outside, mut factor) = (numerator * denominator, 1_i128, 2_i128);
        if rest == 0 {
            return Element::default();
        }
        while factor * factor <= rest && factor < 1 << 12 {
            while rest % (factor * factor) == 0 {
                rest /= factor * factor;
                outside *= factor;
            }
            factor += 1;
        }
        let rational = self.fraction(outside, denominator);
        if rest == 1 {
            return rational;
        }
        let root = self.hash(&[name::SQUARE_ROOT, self.integer(rest).p]);
        self.mul(rational, root)
    }

    /// The larger element.
    fn larger(&mut self, a: Element, b: Element) -> Element {
        super::maxima::larger(self, a, b)
    }

    fn smaller(&mut self, a: Element, b: Element) -> Element {
        let (a, b) = (self.neg(a), self.neg(b));
        let larger = self.larger(a, b);
        self.neg(larger)
    }

    /// The element of a constant.
    pub(super) fn constant(&mut self, format: Format, bits: u64) -> Option<Element> {
        let value = number(format, bits);
        if !value.is_finite() {
            return None;
        }
        if value == 0.0 {
            return Some(Element::default());
        }
        if let Some(&known) = self.constants.get(&(format, bits)) {
            return Some(known);
        }
        let is_single = matches!(format, Format::F32 | Format::Tf32);
        let constant = if is_single { read(value as f32) } else { Constant::Exact };
        let element = self.of_constant(value, &constant);
        if constant != Constant::Exact {
            let number = constant.to_string();
            let number = if value < 0.0 { format!("-{number}") } else { number };
            let reading = Reading { bits: bits as u32, number };
            self.readings.insert(bits as u32, reading);
        }
        self.constants.insert((format, bits), element);
        Some(element)
    }

    fn of_constant(&mut self, value: f64, constant: &Constant) -> Element {
        let pi = self.random(&[name::PI]);
        let log = self.log2_of_e;
        let magnitude = match *constant {
            Constant::Exact => return self.exactly(value),
            Constant::Zero => return Element::default(),
            Constant::Fraction(n, d) => self.fraction(n, d),
            Constant::Root(n, d) => self.root_of_fraction(n, d),
            Constant::RootLog2(n, d) => {
                let root = self.root_of_fraction(n, d);
                self.mul(root, log)
            }
            Constant::Ln2(n, d) => {
                let ln2 = self.inverse(log);
                let factor = self.fraction(n, d);
                self.mul(factor, ln2)
            }
            Constant::Pi(n, d) => {
                let factor = self.fraction(n, d);
                self.mul(factor, pi)
            }
            Constant::RootTwoOverPi(n, d, with_log) => {
                let over = self.inverse(pi);
                let two = self.integer(2);
                let squared = self.mul(two, over);
                let root = self.square_root(squared);
                let factor = self.fraction(n, d);
                let product = self.mul(factor, root);
                if with_log { self.mul(product, log) } else { product }
            }
        };
        if value < 0.0 { self.neg(magnitude) } else { magnitude }
    }

    /// The fraction that a double is.
    fn exactly(&mut self, value: f64) -> Element {
        let bits = value.to_bits();
        let exponent = (bits >> 52 & 0x7ff) as i32;
        let mantissa = (bits & ((1 << 52) - 1)) as i128 + if exponent > 0 { 1 << 52 } else { 0 };
        let shift = exponent.max(1) - 1075;
        let base = if shift >= 0 { self.integer(2) } else { self.fraction(1, 2) };
        let signed = if value < 0.0 { -mantissa } else { mantissa };
        let mut result = self.integer(signed);
        for _ in 0..shift.abs() {
            result = self.mul(result, base);
        }
        Element { degree: Degree::default(), ..result }
    }

    /// Whether an element is the same as another, in one of the rings.
    pub(super) fn same(&self, a: Element, b: Element) -> bool {
        let (one, other) = (self.class(a), self.class(b));
        let known = |class: Option<Class>| class.is_none_or(|class| class.0 != UNKNOWN);
        a.p == b.p || a.q == b.q && one == other && known(one)
    }

    /// The largest probability that a run takes different elements for the same one.
    pub(super) fn bound(&self, words: u64) -> f64 {
        let degree = f64::from(self.degree.max(1));
        let in_p = degree / P as f64;
        let in_q = degree * degree / Q as f64;
        let hashes = (self.hashes as f64).powi(2) * degree / P as f64;
        let exponents =
            (self.exponents as f64).powi(2) * f64::from(self.exponent_degree).powi(2) / Q as f64;
        (words as f64 * (in_p + in_q) + hashes + exponents).min(1.0)
    }

    /// Notes the degree of an element that is compared.
    pub(super) fn note_degree(&mut self, a: Element) {
        self.degree = self.degree.max(a.degree.value());
    }

    // Operations on terms

    fn element(&mut self, format: Format, term: Term) -> Option<Element> {
        match term {
            Term::Element(element) => Some(element),
            Term::Number(bits) => self.constant(format, bits),
        }
    }

    /// As [`super::Algebra::apply`].
    pub(super) fn apply(
        &mut self,
        (op, format, mode): (Real, Format, Mode),
        operands: &[Term],
    ) -> Option<Term> {
        let infinite = |term: &Term| match *term {
            Term::Number(bits) => !number(format, bits).is_finite(),
            Term::Element(_) => false,
        };
        if operands.iter().any(infinite) {
            return self.with_infinity(op, format, operands);
        }
        let mut elements = [Element::default(); 3];
        for (element, &term) in elements.iter_mut().zip(operands) {
            *element = self.element(format, term)?;
        }
        let [a, b, c] = elements;
        if format == Format::F32
            && let Some(sum) = self.magic_sum((op, mode), operands, [a, b, c])
        {
            return Some(Term::Element(sum));
        }
        Some(Term::Element(self.function(op, [a, b, c])))
    }

    fn function(&mut self, op: Real, [a, b, c]: [Element; 3]) -> Element {
        let one = self.integer(1);
        match op {
            Real::Add => self.add(a, b),
            Real::Sub => self.sub(a, b),
            Real::Mul => self.mul(a, b),
            Real::Fma => {
                let product = self.mul(a, b);
                self.add(product, c)
            }
            Real::Div => {
                let inverse = self.inverse(b);
                self.mul(a, inverse)
            }
            Real::Neg => self.neg(a),
            Real::Abs => {
                let negative = self.neg(a);
                self.larger(a, negative)
            }
            Real::Max => self.larger(a, b),
            Real::Min => self.smaller(a, b),
            Real::Rcp => self.inverse(a),
            Real::Sqrt => self.square_root(a),
            Real::Rsqrt => {
                let root = self.square_root(a);
                self.inverse(root)
            }
            Real::Ex2 => self.power(a),
            Real::Lg2 => self.logarithm(a),
            Real::Sin => self.angle(a, false),
            Real::Cos => self.angle(a, true),
            Real::Tanh => {
                // 1 - 2 / (1 + e^2a)
                let two = self.integer(2);
                let doubled = self.mul(a, two);
                let power = self.exponential(doubled);
                let sum = self.add(one, power);
                let inverse = self.inverse(sum);
                let part = self.mul(two, inverse);
                self.sub(one, part)
            }
            Real::Same => a,
            Real::Sat => {
                let positive = self.larger(a, Element::default());
                self.smaller(positive, one)
            }
            Real::Relu => self.larger(a, Element::default()),
            Real::Copysign => {
                let (sign, magnitude) =
                    (self.hash(&[name::SIGN, a.p]), self.function(Real::Abs, [b; 3]));
                self.mul(sign, magnitude)
            }
            Real::Floor | Real::Ceil | Real::Trunc | Real::Nearest => {
                self.hash(&[name::ROUND, op as u64, a.p])
            }
        }
    }

    /// An operation with an infinite operand, as far as a number that is not known is just finite.
    fn with_infinity(&mut self, op: Real, format: Format, operands: &[Term]) -> Option<Term> {
        let infinity = |term: Term| match term {
            Term::Number(bits) => Some(number(format, bits)).filter(|value| !value.is_finite()),
            Term::Element(_) => None,
        };
        if operands.iter().any(|&term| infinity(term).is_some_and(f64::is_nan)) {
            return None;
        }
        let result = |value: f64| Some(Term::Number(rounded(format, value)));
        let known = |at: usize| infinity(operands[at]);
        let toward = |at: usize| known(at).map(f64::is_sign_positive);
        match op {
            Real::Same => Some(operands[0]),
            Real::Add | Real::Sub => {
                let other = known(1).map(|b| if op == Real::Sub { -b } else { b });
                match (known(0), other) {
                    (Some(a), Some(b)) if a != b => None,
                    (Some(value), _) | (None, Some(value)) => result(value),
                    (None, None) => None,
                }
            }
            Real::Max | Real::Min => {
                let upper = op == Real::Max;
                match (toward(0), toward(1)) {
                    (Some(positive), _) if positive != upper => Some(operands[1]),
                    (_, Some(positive)) if positive != upper => Some(operands[0]),
                    _ => result(if upper { f64::INFINITY } else { f64::NEG_INFINITY }),
                }
            }
            Real::Ex2 => result(if known(0)? > 0.0 { f64::INFINITY } else { 0.0 }),
            Real::Rcp => result(0.0),
            Real::Div if known(0).is_none() => result(0.0),
            Real::Neg => result(-known(0)?),
            Real::Abs => result(f64::INFINITY),
            Real::Relu => result(known(0)?.max(0.0)),
            Real::Sat => result(known(0)?.clamp(0.0, 1.0)),
            Real::Tanh => result(known(0)?.signum()),
            _ => None,
        }
    }

    /// The sum with 1.5 * 2^23 that puts an integer into the low bits. The integer is a hash of the number that is rounded.
    fn magic_sum(
        &mut self,
        (op, mode): (Real, Mode),
        operands: &[Term],
        [a, b, c]: [Element; 3],
    ) -> Option<Element> {
        let addend = |term: Term| match term {
            Term::Number(bits) => {
                let value = f64::from(f32::from_bits(bits as u32));
                let near = (value - MAGIC).abs() < MAGIC_SLACK && value.fract() == 0.0;
                near.then_some(value)
            }
            Term::Element(_) => None,
        };
        let (rounded, constant) = match op {
            Real::Add => match (addend(operands[0]), addend(operands[1])) {
                (None, Some(value)) => (a, value),
                (Some(value), None) => (b, value),
                _ => return None,
            },
            Real::Fma => (self.mul(a, b), addend(operands[2])?),
            _ => return None,
        };
        let _ = c;
        let way = mode.0 & (Mode::DOWN | Mode::UP | Mode::ZERO);
        let integer = self.hash(&[name::MAGIC, way.into(), rounded.p]);
        let constant = self.integer(constant as i128);
        let sum = self.add(integer, constant);
        self.magic.insert(sum.p, ());
        Some(sum)
    }

    /// As [`super::Algebra::power_of_magic`].
    pub(super) fn power_of_magic(&mut self, sum: Element) -> Option<Element> {
        self.magic.get(&sum.p)?;
        // The low nine bits of the sum become sign and exponent.
        let bias = self.integer(MAGIC as i128 + 127);
        let exponent = self.sub(sum, bias);
        Some(self.power(exponent))
    }

    /// As [`super::Algebra::convert`].
    pub(super) fn convert(
        &mut self,
        (from, to, _): (Format, Format, Mode),
        operand: Term,
    ) -> Option<Term> {
        match operand {
            Term::Number(bits) if !number(from, bits).is_finite() => {
                let value = number(from, bits);
                (!value.is_nan()).then(|| Term::Number(rounded(to, value)))
            }
            operand => self.element(from, operand).map(Term::Element),
        }
    }

    /// As [`super::Algebra::compare`].
    pub(super) fn compare(
        &mut self,
        (comparison, format, _): (Comparison, Format, Mode),
        operands: [Term; 2],
    ) -> Option<Truth> {
        let values = operands.map(|term| match term {
            Term::Number(bits) => Some(number(format, bits)),
            Term::Element(_) => None,
        });
        if values.iter().flatten().any(|value| value.is_nan()) {
            return None;
        }
        match comparison {
            Comparison::Num => return Some(Truth::Known(true)),
            Comparison::Nan => return Some(Truth::Known(false)),
            _ => {}
        }
        // A number that is not known is finite.
        let order = match values {
            [Some(a), _] if a.is_infinite() => Some(a.is_sign_positive()),
            [_, Some(b)] if b.is_infinite() => Some(b.is_sign_negative()),
            _ => None,
        };
        if let Some(greater) = order {
            return Some(Truth::Known(match comparison {
                Comparison::Eq => false,
                Comparison::Ne => true,
                Comparison::Lt | Comparison::Le => !greater,
                _ => greater,
            }));
        }
        let a = self.element(format, operands[0])?;
        let b = self.element(format, operands[1])?;
        Some(self.relation(comparison, a, b))
    }

    fn relation(&mut self, comparison: Comparison, a: Element, b: Element) -> Truth {
        if a.p == b.p {
            let holds = matches!(comparison, Comparison::Le | Comparison::Ge | Comparison::Eq);
            return Truth::Known(holds);
        }
        let (difference, negated) = match comparison {
            Comparison::Lt => (self.sub(b, a), false),
            Comparison::Gt => (self.sub(a, b), false),
            Comparison::Le => (self.sub(a, b), true),
            Comparison::Ge => (self.sub(b, a), true),
            Comparison::Eq | Comparison::Ne | Comparison::Num | Comparison::Nan => {
                let difference = self.sub(a, b);
                let opposite = self.neg(difference);
                let key = difference.p.min(opposite.p);
                let name = self.hash(&[name::ZERO, key]).p;
                return Truth::Open(Predicate { name, negated: comparison == Comparison::Ne });
            }
        };
        if let Some((numerator, _)) = self.as_fraction(difference) {
            return Truth::Known((numerator > 0) != negated);
        }
        let name = self.hash(&[name::POSITIVE, difference.p]).p;
        self.positive.insert(name, difference);
        Truth::Open(Predicate { name, negated })
    }

    /// As [`super::Algebra::choose`].
    pub(super) fn choose(
        &mut self,
        predicate: Predicate,
        format: Format,
        operands: [Term; 2],
    ) -> Option<Term> {
        if operands[0] == operands[1] {
            return Some(operands[0]);
        }
        let a = self.element(format, operands[0])?;
        let b = self.element(format, operands[1])?;
        Some(Term::Element(self.choice(predicate, a, b)))
    }

    fn choice(&mut self, predicate: Predicate, a: Element, b: Element) -> Element {
        let name = predicate.name;
        let [a, b] = if predicate.negated { [b, a] } else { [a, b] };
        // What a choice by the same predicate has chosen there is known.
        let inside = |reals: &Reals, value: Element, at: usize| match reals.choices.get(&value.p) {
            Some((other, operands)) if other.name == name => operands[at],
            _ => value,
        };
        let (a, b) = (inside(self, a, 0), inside(self, b, 1));
        if a.p == b.p {
            return a;
        }
        if let Some(&difference) = self.positive.get(&name)
            && let Some(grows) = self.small_ratio(a, b, difference)
        {
            return if grows { self.larger(a, b) } else { self.smaller(a, b) };
        }
        let result = self.hash(&[name::CHOICE, name, a.p, b.p]);
        self.choices.insert(result.p, (Predicate { name, negated: false }, [a, b]));
        result
    }

    /// Whether `a - b` is a small positive fraction of `difference`, or a negative one; none if it is neither in both rings.
    fn small_ratio(&mut self, a: Element, b: Element, difference: Element) -> Option<bool> {
        if self.class(a).or(self.class(b)).or(self.class(difference)).is_some() {
            return None;
        }
        let gap = self.sub(a, b);
        let p = mul_p(gap.p, inverse_p(difference.p)?);
        let (numerator, denominator) = small_fraction(p, 1 << 12)?;
        let ratio = self.fraction(numerator, denominator);
        let again = mul_q(ratio.q, difference.q) == gap.q;
        let grows = numerator > 0 || planted!(Bug::ChoiceIsMaximum);
        (again && numerator != 0).then_some(grows)
    }

    /// As [`super::Algebra::dot`].
    pub(super) fn dot(
        &mut self,
        (factor, sum): (Format, Format),
        addend: Term,
        pairs: &[[Term; 2]],
    ) -> Option<Term> {
        let mut result = self.element(sum, addend)?;
        for &[a, b] in pairs {
            let (a, b) = (self.element(factor, a)?, self.element(factor, b)?);
            let product = self.mul(a, b);
            result = self.add(result, product);
        }
        Some(Term::Element(result))
    }
}

/// The small integer that a residue modulo `Q` is.
fn small_integer(residue: u64) -> Option<i64> {
    const MOST: u64 = 1 << 16;
    match leave_q(residue) {
        value if value < MOST => Some(value as i64),
        value if value > Q - MOST => Some(-((Q - value) as i64)),
        _ => None,
    }
}
