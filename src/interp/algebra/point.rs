//! Real functions at a random point, as pairs of residues.
//!
//! An element is the value of a function, modulo `P` and modulo `Q`. The residue modulo `Q` is needed where the function is an
//! exponent: 2 has the order `Q` modulo `P`, so `2^(x + y) = 2^x 2^y` holds for residues. A function without known laws yields a
//! hash of its operands. Nothing is claimed of functions where one of them divides by zero.
//!
//! Elements that contain logarithms are listed with their [`Class`]. A power of 2 of such an element, and the comparison of its
//! residue modulo `Q`, need both.

use rustc_hash::{FxHashMap, FxHashSet};

use super::class::Class;
use super::conditions::Conditions;
use super::element::{Degree, Element, mix};
use super::field::{
    P, Powers, Q, add, enter, fraction, imaginary_unit, inverse_p, inverse_q, leave_q, mul_p,
    mul_q, power, small_fraction, sub,
};

/// Names of functions that yield hashes.
pub(super) mod name {
    pub(in crate::algebra) const INPUT: u64 = 1;
    pub(in crate::algebra) const ATOM_OF_POWER: u64 = 2;
    pub(in crate::algebra) const ATOM_OF_LOGARITHM: u64 = 3;
    pub(in crate::algebra) const ATOM_OF_INVERSE: u64 = 4;
    pub(in crate::algebra) const UNKNOWN_POWER: u64 = 5;
    pub(in crate::algebra) const LOG2_OF_E: u64 = 6;
    pub(in crate::algebra) const PI: u64 = 7;
    pub(in crate::algebra) const ANGLE: u64 = 8;
    pub(in crate::algebra) const POSITIVE: u64 = 9;
    pub(in crate::algebra) const ZERO: u64 = 10;
    pub(in crate::algebra) const CHOICE: u64 = 11;
    pub(in crate::algebra) const MAGIC: u64 = 12;
    pub(in crate::algebra) const SQUARE_ROOT: u64 = 13;
    pub(in crate::algebra) const ROUND: u64 = 14;
    pub(in crate::algebra) const INTEGER: u64 = 16;
    pub(in crate::algebra) const EXPONENT: u64 = 17;
    pub(in crate::algebra) const OUTSIDE: u64 = 18;
    pub(in crate::algebra) const ERROR_FUNCTION: u64 = 20;
    pub(in crate::algebra) const CONDITION: u64 = 21;
    pub(in crate::algebra) const SATURATED: u64 = 22;
}

/// The random point, and the functions that were met there.
#[derive(Debug)]
pub(super) struct Point {
    seed: u64,
    powers: Powers,
    /// 1 modulo `Q`.
    one: u64,
    /// The exponent that stands for 1/2: no laws of it are known but those of all exponents.
    root: u64,
    /// Classes of elements that contain logarithms, by the residue modulo `P`.
    pub(super) classes: FxHashMap<u64, Class>,
    /// The conditions that were met, and the elements that depend on them.
    pub conditions: Conditions,
    /// Elements that are positive: powers of 2, and sums, products and quotients of these.
    pub positives: FxHashSet<u64>,
    /// Something without a value that was met.
    pub trouble: Option<&'static str>,
    /// The logarithm of e to the base 2.
    pub log2_of_e: Element,
    /// The residue modulo `Q` of each exponent, by that modulo `P`: those of one function may differ.
    met: FxHashMap<u64, u64>,
    hashes: u64,
    exponents: u64,
    exponent_degree: u32,
    /// The largest degree of an element.
    pub(super) degree: u32,
}

impl Point {
    /// The point of a seed.
    pub(super) fn new(seed: u64) -> Point {
        let mut point = Point {
            seed: mix(seed, 0x7265_616c),
            powers: Powers::new(),
            one: enter(1, Q),
            root: mix(seed, 0x726f_6f74) | 1,
            classes: FxHashMap::default(),
            conditions: Conditions::new(),
            positives: FxHashSet::default(),
            trouble: None,
            log2_of_e: Element::default(),
            met: FxHashMap::default(),
            hashes: 0,
            exponents: 0,
            exponent_degree: 1,
            degree: 1,
        };
        point.log2_of_e = point.random(&[name::LOG2_OF_E]);
        point
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
    pub(super) fn hash(&mut self, words: &[u64]) -> Element {
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
        let residue = |modulus: u64| enter(value.rem_euclid(i128::from(modulus)) as u128, modulus);
        Element { p: residue(P), q: residue(Q), degree: Degree::default() }
    }

    /// The element of a fraction, whose denominator is small and not 0.
    pub(super) fn fraction(&self, numerator: i128, denominator: i128) -> Element {
        let (p, q) = fraction(numerator, denominator).unwrap_or_default();
        Element { p, q, degree: Degree::default() }
    }

    // Classes of logarithms

    pub(super) fn class(&self, a: Element) -> Option<Class> {
        if self.classes.is_empty() { None } else { self.classes.get(&a.p).copied() }
    }

    fn classed(&mut self, a: Element, class: Option<Class>) -> Element {
        if let Some(class) = class
            && a.p != 0
        {
            self.classes.insert(a.p, class);
        }
        a
    }

    fn class_of_product(&self, a: Element, b: Element) -> Option<Class> {
        match (self.class(a), self.class(b)) {
            (None, None) => None,
            (Some(class), None) => class.product(b.q),
            (None, Some(class)) => class.product(a.q),
            _ => Some(Class::Unknown),
        }
    }

    // The operations of a field, plain ones and those that are applied cell by cell

    /// A sum.
    #[inline]
    pub(super) fn add(&mut self, a: Element, b: Element) -> Element {
        let sum = self.plain_add(a, b);
        let mut each = |point: &mut Point, [a, b]: [Element; 2]| Some(point.add(a, b));
        self.by_cells([a, b], Some((sum, 2)), &mut each).unwrap_or(sum)
    }

    /// A sum, not cell by cell.
    #[inline]
    pub(super) fn plain_add(&mut self, a: Element, b: Element) -> Element {
        let sum = sum(a, b);
        if self.classes.is_empty() {
            return sum;
        }
        let class = Class::sum(self.class(a), self.class(b), self.one);
        self.classed(sum, class)
    }

    /// The negative.
    #[inline]
    pub(super) fn neg(&mut self, a: Element) -> Element {
        let negative = self.plain_neg(a);
        let mut each = |point: &mut Point, [a]: [Element; 1]| Some(point.neg(a));
        self.by_cells([a], Some((negative, 1)), &mut each).unwrap_or(negative)
    }

    #[inline]
    fn plain_neg(&mut self, a: Element) -> Element {
        let negative = Element { p: sub(0, a.p, P), q: sub(0, a.q, Q), degree: a.degree };
        match self.class(a) {
            None => negative,
            Some(class) => self.classed(negative, class.product(sub(0, self.one, Q))),
        }
    }

    /// A difference.
    #[inline]
    pub(super) fn sub(&mut self, a: Element, b: Element) -> Element {
        let negative = self.neg(b);
        self.add(a, negative)
    }

    /// A difference, not cell by cell.
    #[inline]
    pub(super) fn plain_sub(&mut self, a: Element, b: Element) -> Element {
        let negative = self.plain_neg(b);
        self.plain_add(a, negative)
    }

    /// A product.
    #[inline]
    pub(super) fn mul(&mut self, a: Element, b: Element) -> Element {
        let product = self.plain_mul(a, b);
        let mut each = |point: &mut Point, [a, b]: [Element; 2]| Some(point.mul(a, b));
        self.by_cells([a, b], Some((product, 1)), &mut each).unwrap_or(product)
    }

    /// A product, not cell by cell.
    #[inline]
    pub(super) fn plain_mul(&mut self, a: Element, b: Element) -> Element {
        let product = product(a, b);
        self.degree = self.degree.max(product.degree.value());
        if self.classes.is_empty() {
            return product;
        }
        let class = self.class_of_product(a, b);
        self.classed(product, class)
    }

    /// The inverse.
    pub(super) fn inverse(&mut self, a: Element) -> Element {
        if let Some(inverse) = self.of_cells(a, |point, a| point.inverse(a)) {
            return inverse;
        }
        let Some(p) = inverse_p(a.p) else {
            self.trouble = Some("a division by zero");
            return Element::default();
        };
        let q = inverse_q(a.q).unwrap_or_else(|| self.random(&[name::ATOM_OF_INVERSE, a.p]).q);
        let inverse = Element { p, q, degree: a.degree.inverse() };
        let class = self.class(a).map(|_| Class::Unknown);
        self.classed(inverse, class)
    }

    // Functions

    /// 2^a. The result is an atom as an exponent.
    pub(super) fn power(&mut self, a: Element) -> Element {
        if let Some(power) = self.of_cells_or_zero(a, |point, a| point.power(a)) {
            return power;
        }
        self.exponents += 1;
        self.exponent_degree = self.exponent_degree.max(a.degree.value());
        let q = if self.class(a).is_some() { a.q } else { self.exponent(a) };
        let mut p = self.powers.of(leave_q(q));
        if let Some(class) = self.class(a) {
            let Class::One(class, factor) = class else {
                return self.hash(&[name::UNKNOWN_POWER, a.p]);
            };
            let Some(times) = small_integer(factor) else {
                return self.hash(&[name::UNKNOWN_POWER, a.p]);
            };
            let turns = (i64::from(class) * times).rem_euclid(8);
            for _ in 0..turns {
                p = mul_p(p, self.powers.eighth);
            }
        }
        let q = self.random(&[name::ATOM_OF_POWER, p]).q;
        let power = Element { p, q, degree: Degree::ONE };
        self.conditions.exponent(power, a);
        power
    }

    /// The residue modulo `Q` of an exponent: the one that was met first of all that are the same function, or its negative.
    fn exponent(&mut self, a: Element) -> u64 {
        let negative = sub(0, a.p, P);
        if a.p <= negative {
            return *self.met.entry(a.p).or_insert(a.q);
        }
        sub(0, *self.met.entry(negative).or_insert(sub(0, a.q, Q)), Q)
    }

    /// The logarithm to the base 2.
    pub(super) fn logarithm(&mut self, a: Element) -> Element {
        if let Some(logarithm) = self.of_cells(a, |point, a| point.logarithm(a)) {
            return logarithm;
        }
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
        self.classed(result, Class::of(class, self.one))
    }

    /// e^a.
    pub(super) fn exponential(&mut self, a: Element) -> Element {
        let exponent = self.mul(a, self.log2_of_e);
        self.power(exponent)
    }

    /// Sine or cosine: the parts of 2^(k a), where k is random.
    pub(super) fn angle(&mut self, a: Element, cosine: bool) -> Element {
        if let Some(angle) = self.of_cells_or_zero(a, |point, a| point.angle(a, cosine)) {
            return angle;
        }
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
        if let Some(root) = self.of_cells_or_zero(a, |point, a| point.square_root(a)) {
            return root;
        }
        match self.as_fraction(a) {
            Some((numerator, denominator)) if numerator >= 0 => {
                self.root_of_fraction(numerator, denominator)
            }
            _ => self.multiplicative_root(a),
        }
    }

    /// A power modulo `P` with a fixed odd exponent, so that the root of a product is the product of roots.
    fn multiplicative_root(&mut self, a: Element) -> Element {
        self.hashes += 1;
        let p = power(a.p, self.root);
        let q = self.random(&[name::SQUARE_ROOT, p]).q;
        Element { p, q, degree: Degree::ONE }
    }

    /// The small fraction that an element is in both rings.
    pub(super) fn as_fraction(&self, a: Element) -> Option<(i128, i128)> {
        let (numerator, denominator) = small_fraction(a.p, 1 << 24)?;
        let again = self.fraction(numerator, denominator);
        (again.p == a.p && again.q == a.q).then_some((numerator, denominator))
    }

    pub(super) fn root_of_fraction(&mut self, numerator: i128, denominator: i128) -> Element {
        if numerator == 0 {
            return Element::default();
        }
        let [(above, over), (below, under)] = [numerator, denominator].map(without_squares);
        let rational = self.fraction(above, below);
        if (over, under) == (1, 1) {
            return rational;
        }
        // The root of the inverse is the inverse modulo `Q`, too.
        let [larger, smaller] = [over.max(under), over.min(under)];
        let mut root = self.multiplicative_root(self.fraction(larger, smaller));
        if over < under {
            root = self.inverse(root);
        }
        self.mul(rational, root)
    }

    /// Whether an element is the same as another, in one of the rings.
    pub(super) fn same(&self, a: Element, b: Element) -> bool {
        let (one, other) = (self.class(a), self.class(b));
        let known = |class: Option<Class>| class != Some(Class::Unknown);
        a.p == b.p || a.q == b.q && one == other && known(one) || self.same_by_cells(a, b)
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
}

/// The sum of elements without logarithms and conditions.
#[inline(always)]
pub(super) fn sum(a: Element, b: Element) -> Element {
    Element { p: add(a.p, b.p, P), q: add(a.q, b.q, Q), degree: a.degree.sum(b.degree) }
}

/// The product of such elements.
#[inline(always)]
pub(super) fn product(a: Element, b: Element) -> Element {
    Element { p: mul_p(a.p, b.p), q: mul_q(a.q, b.q), degree: a.degree.product(b.degree) }
}

/// The root of the largest square that divides a positive number, and the rest of the number.
fn without_squares(number: i128) -> (i128, i128) {
    let (mut rest, mut root, mut factor) = (number, 1, 2_i128);
    while factor * factor <= rest && factor < 1 << 12 {
        while rest % (factor * factor) == 0 {
            rest /= factor * factor;
            root *= factor;
        }
        factor += 1;
    }
    (root, rest)
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
