//! Operations on real functions: numbers and elements, infinities, and constants.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use super::constants::{Constant, LOG2_OF_E, SHARE_OF_LOG2_E, TAIL_OF_LOG2_E, is_short, read};
use super::element::{Degree, Element, Predicate, Term};
use super::exact::{number, rounded};
use super::library::{Exponents, Library};
use super::maxima::Sets;
use super::meaning::{Format, Mode, Real};
use super::point::{Point, name};

/// A constant that was taken for a real number which rounds to it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reading {
    /// The bits of the constant, in single precision.
    pub bits: u32,
    /// The real number: `1/768`, `sqrt(1/80)*log2(e)`.
    pub number: String,
}

/// A function of two predicates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Junction {
    /// Both hold.
    Both,
    /// Exactly one holds.
    Differ,
}

/// The algebra of real functions.
#[derive(Debug)]
pub(crate) struct Reals {
    /// The random point.
    pub(super) point: Point,
    constants: FxHashMap<(Format, u64), Element>,
    /// The constants that were taken for other numbers, by their bits.
    pub readings: BTreeMap<u32, Reading>,
    sets: Sets,
    /// The difference that a predicate says is positive, by the predicate's name.
    pub(super) positive: FxHashMap<u64, Element>,
    /// The predicates that a predicate is a function of, by its name.
    pub(super) junctions: FxHashMap<u64, (Junction, [Predicate; 2])>,
    /// The predicate and the operands of a choice, by its value.
    pub(super) choices: FxHashMap<u64, (Predicate, [Element; 2])>,
    /// The numbers whose products with log2(e) were the first part of a sum, by the sum.
    scaled: FxHashMap<u64, u64>,
    /// The sums of x log2(e)/252 and a constant.
    shares: FxHashSet<u64>,
    /// Elements of functions of the library.
    pub(super) library: Library,
    /// Sums that hold an integer in their low bits.
    magic: FxHashMap<u64, ()>,
    /// Elements between 0 and 1.
    saturated: FxHashSet<u64>,
    /// Elements that are integers.
    integers: FxHashSet<u64>,
    /// The exponents of numbers, and logarithms made of them.
    pub(super) exponents: Exponents,
}

/// 1.5 * 2^23: the sum with a small number is that number's integer part in the low bits.
const MAGIC: f64 = 12_582_912.0;
/// The addends around it that are taken for it.
const MAGIC_SLACK: f64 = 1024.0;
/// 252: exponents of numbers in single precision, by which `expf` multiplies a number between 0 and 1.
const EXPONENTS: u32 = 0x437c_0000;

impl Reals {
    /// An algebra whose random point is given by a seed.
    pub(super) fn new(seed: u64) -> Reals {
        Reals {
            point: Point::new(seed),
            constants: FxHashMap::default(),
            readings: BTreeMap::new(),
            sets: Sets::default(),
            positive: FxHashMap::default(),
            choices: FxHashMap::default(),
            scaled: FxHashMap::default(),
            shares: FxHashSet::default(),
            library: Library::default(),
            magic: FxHashMap::default(),
            saturated: FxHashSet::default(),
            junctions: FxHashMap::default(),
            integers: FxHashSet::default(),
            exponents: Exponents::default(),
        }
    }

    /// The larger element.
    pub(super) fn larger(&mut self, a: Element, b: Element) -> Element {
        self.sets.larger(&mut self.point, a, b)
    }

    pub(super) fn smaller(&mut self, a: Element, b: Element) -> Element {
        let (a, b) = (self.point.neg(a), self.point.neg(b));
        let larger = self.larger(a, b);
        self.point.neg(larger)
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
        // Not the coefficients of polynomials.
        if constant != Constant::Exact || is_short(value) {
            let magnitude = if value < 0.0 { self.point.neg(element) } else { element };
            self.point.conditions.factor(magnitude);
            // x and c x differ by a multiple of x.
            let one = self.point.integer(1);
            let [larger, smaller] =
                if value.abs() > 1.0 { [magnitude, one] } else { [one, magnitude] };
            let rest = self.point.sub(larger, smaller);
            self.point.conditions.factor(rest);
        }
        self.constants.insert((format, bits), element);
        Some(element)
    }

    fn of_constant(&mut self, value: f64, constant: &Constant) -> Element {
        let pi = self.point.random(&[name::PI]);
        let log = self.point.log2_of_e;
        let magnitude = match *constant {
            Constant::Exact => return self.exactly(value),
            Constant::Fraction(n, d) => self.point.fraction(n, d),
            Constant::Root(n, d) => self.point.root_of_fraction(n, d),
            Constant::RootLog2(n, d) => {
                let root = self.point.root_of_fraction(n, d);
                self.point.mul(root, log)
            }
            Constant::Ln2(n, d) => {
                let ln2 = self.point.inverse(log);
                let factor = self.point.fraction(n, d);
                self.point.mul(factor, ln2)
            }
            Constant::Pi(n, d) => {
                let factor = self.point.fraction(n, d);
                self.point.mul(factor, pi)
            }
            Constant::RootTwoOverPi(n, d, with_log) => {
                let over = self.point.inverse(pi);
                let two = self.point.integer(2);
                let squared = self.point.mul(two, over);
                let root = self.point.square_root(squared);
                let factor = self.point.fraction(n, d);
                let product = self.point.mul(factor, root);
                if with_log { self.point.mul(product, log) } else { product }
            }
        };
        if value < 0.0 { self.point.neg(magnitude) } else { magnitude }
    }

    /// The fraction that a double is.
    fn exactly(&mut self, value: f64) -> Element {
        let bits = value.to_bits();
        let exponent = (bits >> 52 & 0x7ff) as i32;
        let mantissa = (bits & ((1 << 52) - 1)) as i128 + if exponent > 0 { 1 << 52 } else { 0 };
        let shift = exponent.max(1) - 1075;
        let base = if shift >= 0 { self.point.integer(2) } else { self.point.fraction(1, 2) };
        let signed = if value < 0.0 { -mantissa } else { mantissa };
        let mut result = self.point.integer(signed);
        for _ in 0..shift.abs() {
            result = self.point.mul(result, base);
        }
        Element { degree: Degree::default(), ..result }
    }

    // Operations on terms

    pub(super) fn element(&mut self, format: Format, term: Term) -> Option<Element> {
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
        // Sums and products of elements alone have no special case.
        if let [Term::Element(a), Term::Element(b), rest @ ..] = operands
            && !self.is_positive(format, operands[0])
        {
            match (op, rest) {
                (Real::Add, []) => return Some(Term::Element(self.point.add(*a, *b))),
                (Real::Mul, []) => return Some(Term::Element(self.point.mul(*a, *b))),
                (Real::Fma, [Term::Element(c)]) => {
                    let product = self.point.mul(*a, *b);
                    return Some(Term::Element(self.point.add(product, *c)));
                }
                _ => {}
            }
        }
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
            && let Some(result) = self
                .magic_sum((op, mode), operands, [a, b, c])
                .or_else(|| self.scaled_by_log2(op, operands, [a, b, c]))
                .or_else(|| self.of_exponents(op, operands, [a, b, c]))
        {
            return Some(Term::Element(result));
        }
        let result = self.function(op, [a, b, c]);
        let positive = |at: usize| self.is_positive(format, operands[at]);
        let zero = |element: Element| element.p == 0;
        let keeps = match op {
            Real::Ex2 => true,
            Real::Add => positive(0) && (positive(1) || zero(b)) || zero(a) && positive(1),
            Real::Mul | Real::Div => positive(0) && positive(1),
            Real::Sub => planted!(Bug::DifferencePositive) && positive(0) && positive(1),
            Real::Fma => positive(0) && positive(1) && (zero(c) || positive(2)),
            Real::Rcp => positive(0),
            _ => false,
        };
        if keeps {
            self.point.positives.insert(result.p);
            if op == Real::Mul {
                self.point.note_product(result, [a, b]);
            }
        }
        self.note_signs(op, format, operands, (result, [a, b, c]));
        Some(Term::Element(result))
    }

    /// Notes sums and products of a number and an element whose sign may be that of something simpler.
    fn note_signs(
        &mut self,
        op: Real,
        format: Format,
        operands: &[Term],
        (result, elements): (Element, [Element; 3]),
    ) {
        let known = |at: usize| match operands.get(at) {
            Some(&Term::Number(bits)) => Some(number(format, bits)).filter(|&value| value != 0.0),
            _ => None,
        };
        let addend = |at: usize, sign: f64| known(at).map(|value| (at, value * sign));
        let constant = match op {
            Real::Add => addend(0, 1.0).or(addend(1, 1.0)),
            Real::Sub => addend(0, 1.0).or(addend(1, -1.0)),
            Real::Fma => {
                let product = self.point.plain_mul(elements[0], elements[1]);
                self.point.note_product(product, [elements[0], elements[1]]);
                addend(2, 1.0)
            }
            Real::Mul => {
                if let Some((at, value)) = addend(0, 1.0).or(addend(1, 1.0)) {
                    self.point.note_multiple(result, elements[1 - at], value > 0.0);
                }
                None
            }
            _ => None,
        };
        if let Some((at, value)) = constant {
            let is_taken = op == Real::Sub && at == 1;
            let constant = elements[at];
            let constant = if is_taken { self.point.neg(constant) } else { constant };
            self.point.note_sign(result, constant, value > 0.0);
        }
    }

    /// Whether a number is known to be positive.
    fn is_positive(&self, format: Format, term: Term) -> bool {
        match term {
            Term::Number(bits) => number(format, bits) > 0.0,
            Term::Element(element) => {
                !self.point.positives.is_empty() && self.point.positives.contains(&element.p)
            }
        }
    }

    pub(super) fn function(&mut self, op: Real, [a, b, c]: [Element; 3]) -> Element {
        match op {
            Real::Add => self.point.add(a, b),
            Real::Sub => self.point.sub(a, b),
            Real::Mul => self.point.mul(a, b),
            Real::Fma => {
                let product = self.point.mul(a, b);
                self.point.add(product, c)
            }
            Real::Div => {
                let inverse = self.point.inverse(b);
                self.point.mul(a, inverse)
            }
            Real::Neg => self.point.neg(a),
            Real::Abs => self.magnitude(a),
            Real::Max => self.larger(a, b),
            Real::Min => self.smaller(a, b),
            Real::Rcp => self.point.inverse(a),
            Real::Sqrt => self.point.square_root(a),
            Real::Rsqrt => {
                let root = self.point.square_root(a);
                self.point.inverse(root)
            }
            Real::Ex2 => self.point.power(a),
            Real::Lg2 => self.point.logarithm(a),
            Real::Sin => self.point.angle(a, false),
            Real::Cos => self.point.angle(a, true),
            Real::Tanh => self.tangent(a),
            Real::Same => a,
            // A part of `expf`, where it cancels.
            Real::Sat if self.shares.contains(&a.p) => {
                let result = self.point.hash(&[name::SATURATED, a.p]);
                self.saturated.insert(result.p);
                result
            }
            Real::Sat => {
                let positive = self.larger(a, Element::default());
                let one = self.point.integer(1);
                let result = self.smaller(positive, one);
                self.saturated.insert(result.p);
                result
            }
            Real::Relu => self.larger(a, Element::default()),
            Real::Copysign => {
                let magnitude = self.magnitude(a);
                if self.library.is_tangent(b, magnitude) {
                    return self.tangent(a);
                }
                self.with_sign_of(a, b)
            }
            Real::Floor | Real::Ceil | Real::Trunc | Real::Nearest => {
                if self.integers.contains(&a.p) {
                    return a;
                }
                let round =
                    |point: &mut Point, a: Element| point.hash(&[name::ROUND, op as u64, a.p]);
                let integer = self.point.of_cells_or_zero(a, round);
                let integer = integer.unwrap_or_else(|| round(&mut self.point, a));
                self.integers.insert(integer.p);
                integer
            }
        }
    }

    /// The sums `x log2(e) + c` and, of that, the sum with x times the rest of log2(e), which is the same: log2(e) is
    /// exact already.
    fn scaled_by_log2(
        &mut self,
        op: Real,
        operands: &[Term],
        [a, b, c]: [Element; 3],
    ) -> Option<Element> {
        if op != Real::Fma {
            return None;
        }
        let bits = |term: Term| match term {
            Term::Number(bits) => bits as u32,
            Term::Element(_) => 0,
        };
        let (x, factor) = match (bits(operands[0]), bits(operands[1])) {
            (factor @ (LOG2_OF_E | TAIL_OF_LOG2_E | SHARE_OF_LOG2_E), 0) => (b, factor),
            (0, factor @ (LOG2_OF_E | TAIL_OF_LOG2_E | SHARE_OF_LOG2_E)) => (a, factor),
            _ => return None,
        };
        if factor == SHARE_OF_LOG2_E {
            let sum = self.function(Real::Fma, [a, b, c]);
            self.shares.insert(sum.p);
            return Some(sum);
        }
        if factor == LOG2_OF_E {
            let sum = self.function(Real::Fma, [a, b, c]);
            self.scaled.insert(sum.p, x.p);
            return Some(sum);
        }
        let is_rest = self.scaled.get(&c.p) == Some(&x.p);
        is_rest.then(|| {
            let number = "0 (the rest of log2(e), behind x * log2(e))".to_owned();
            self.readings.insert(factor, Reading { bits: factor, number });
            c
        })
    }

    /// The magnitude of a number with the sign of another one, which 0 has not.
    pub(super) fn with_sign_of(&mut self, sign: Element, a: Element) -> Element {
        let magnitude = self.magnitude(a);
        let (opposite, below) = (self.point.neg(magnitude), self.point.neg(sign));
        self.point.by_sign(below, opposite, magnitude)
    }

    pub(super) fn magnitude(&mut self, a: Element) -> Element {
        let negative = self.point.neg(a);
        let magnitude = self.larger(a, negative);
        self.library.magnitude(magnitude, a);
        magnitude
    }

    /// The hyperbolic tangent: 1 - 2 / (1 + e^2a).
    pub(super) fn tangent(&mut self, a: Element) -> Element {
        let (one, two) = (self.point.integer(1), self.point.integer(2));
        let doubled = self.point.mul(a, two);
        let power = self.point.exponential(doubled);
        let sum = self.point.add(one, power);
        let inverse = self.point.inverse(sum);
        let part = self.point.mul(two, inverse);
        self.point.sub(one, part)
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
            Real::Fma if known(0).is_none() && known(1).is_some() && known(2).is_some() => {
                let x = self.element(format, operands[0])?;
                Some(Term::Element(self.outside(x)))
            }
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
            Real::Fma => {
                let constant = addend(operands[2])?;
                if !self.fits_an_exponent([operands[0], operands[1]], [a, b], constant) {
                    return None;
                }
                (self.point.mul(a, b), constant)
            }
            _ => return None,
        };
        let _ = c;
        let way = mode.0 & (Mode::DOWN | Mode::UP | Mode::ZERO);
        let integer = self.point.hash(&[name::MAGIC, way.into(), rounded.p]);
        let constant = self.point.integer(constant as i128);
        let sum = self.point.add(integer, constant);
        self.magic.insert(sum.p, ());
        Some(sum)
    }

    /// Whether a product is an exponent that a number of single precision has, on ordinary inputs: `x log2(e)`, or 252
    /// times a number between 0 and 1, from -126 on. Bits that overflow into the sign are no power of 2.
    fn fits_an_exponent(&self, operands: [Term; 2], [a, b]: [Element; 2], constant: f64) -> bool {
        let is = |term: Term, bits: u32| term == Term::Number(bits.into());
        let (factor, other) = match operands {
            [Term::Number(_), Term::Element(_)] => (operands[0], b),
            [Term::Element(_), Term::Number(_)] => (operands[1], a),
            _ => return false,
        };
        is(factor, LOG2_OF_E)
            || is(factor, EXPONENTS) && constant == MAGIC + 1.0 && self.saturated.contains(&other.p)
    }

    /// As [`super::Algebra::power_of_magic`].
    pub(super) fn power_of_magic(&mut self, sum: Element) -> Option<Element> {
        self.magic.get(&sum.p)?;
        // The low nine bits of the sum become sign and exponent.
        let bias = self.point.integer(MAGIC as i128 + 127);
        let exponent = self.point.sub(sum, bias);
        let power = self.point.power(exponent);
        self.point.positives.insert(power.p);
        Some(power)
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

    /// As [`super::Algebra::product`].
    pub(super) fn product(
        &mut self,
        (factor, sum): (Format, Format),
        [a, b, c]: [&[Term]; 3],
        (columns, inner): (usize, usize),
    ) -> Option<Vec<Term>> {
        let mut elements = |format: Format, terms: &[Term]| {
            let elements = terms.iter().map(|&term| self.element(format, term));
            elements.collect::<Option<Vec<Element>>>()
        };
        let (a, b, c) = (elements(factor, a)?, elements(factor, b)?, elements(sum, c)?);
        let mut results = Vec::with_capacity(c.len());
        for (at, mut result) in c.into_iter().enumerate() {
            let (row, column) = (at / columns, at % columns);
            for k in 0..inner {
                let factors = [a[row * inner + k], b[k * columns + column]];
                result = self.point.multiply_add(factors, result);
            }
            results.push(Term::Element(result));
        }
        Some(results)
    }
}
