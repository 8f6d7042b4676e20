//! Trees of operations as hashes of 128 bits: two results with one hash have the same bits for all inputs.
//!
//! Of the laws of real numbers only those are kept that hold for each rounded operation: the operands of sums, products and
//! extrema may be exchanged, a difference is the sum with the negative, and the sign of a product is the product of the signs
//! where rounding is symmetric. The lowest bit of [`Element::p`] says that the value is negated. NaNs have one pattern.

use super::element::{Degree, Element, Predicate, Term, Truth, mix};
use super::meaning::{Comparison, Format, Mode, Real};

/// The algebra of trees.
#[derive(Debug)]
pub(crate) struct Bits {
    seed: u64,
    hashes: std::cell::Cell<u64>,
}

/// Names of the kinds of trees.
mod name {
    pub(super) const INPUT: u64 = 1;
    pub(super) const CONSTANT: u64 = 2;
    pub(super) const OPERATION: u64 = 3;
    pub(super) const CONVERSION: u64 = 4;
    pub(super) const RELATION: u64 = 5;
    pub(super) const CHOICE: u64 = 6;
    pub(super) const DOT: u64 = 7;
    pub(super) const OPAQUE: u64 = 8;
}

impl Bits {
    /// An algebra whose hashes are given by a seed.
    pub(super) fn new(seed: u64) -> Bits {
        Bits { seed, hashes: std::cell::Cell::new(0) }
    }

    fn hash(&self, words: &[u64]) -> Element {
        self.hashes.set(self.hashes.get() + 1);
        let start = (mix(self.seed, 0x6269), mix(self.seed, 0x7473));
        let (p, q) = words
            .iter()
            .fold(start, |(p, q), &word| (mix(p, word), mix(q ^ 0xb5, word.rotate_left(17))));
        Element { p: p & !1, q, degree: Degree::default() }
    }

    /// An input.
    pub(super) fn input(&self, buffer: u64, index: u64) -> Element {
        self.hash(&[name::INPUT, buffer, index])
    }

    /// A constant: its magnitude, and its sign apart.
    pub(super) fn constant(&self, format: Format, bits: u64) -> Option<Element> {
        let sign = match format {
            // A negative integer is not the bits of its magnitude with a sign.
            Format::S32 => return Some(self.hash(&[name::CONSTANT, format as u64, bits])),
            Format::F32 | Format::Tf32 => 31,
            Format::F64 => 63,
            Format::F16 | Format::Bf16 => 15,
        };
        let element = self.hash(&[name::CONSTANT, format as u64, bits & !(1 << sign)]);
        Some(Element { p: element.p | bits >> sign & 1, ..element })
    }

    fn element(&self, format: Format, term: Term) -> Option<Element> {
        match term {
            Term::Element(element) => Some(element),
            Term::Number(bits) => self.constant(format, bits),
        }
    }

    fn negated(a: Element) -> Element {
        Element { p: a.p ^ 1, ..a }
    }

    /// As [`super::Algebra::apply`].
    pub(super) fn apply(
        &mut self,
        (op, format, mode): (Real, Format, Mode),
        operands: &[Term],
    ) -> Option<Term> {
        let mut all = [Element::default(); 3];
        for (element, &term) in all.iter_mut().zip(operands) {
            *element = self.element(format, term)?;
        }
        let [a, b, c] = all;
        let key = |op: Real| [name::OPERATION, op as u64, format as u64, mode.0.into()];
        let tree = |op: Real, operands: &[Element]| {
            let words = operands.iter().flat_map(|element| [element.p, element.q]);
            self.hash(&key(op).into_iter().chain(words).collect::<Vec<u64>>())
        };
        let order = |a: Element, b: Element| {
            if (a.p, a.q) <= (b.p, b.q) { [a, b] } else { [b, a] }
        };
        let is_symmetric = mode.0 & (Mode::DOWN | Mode::UP) == 0;
        // The factors of a product without their signs, and the sign of the product.
        let factors = |a: Element, b: Element| {
            let sign = if is_symmetric { (a.p ^ b.p) & 1 } else { 0 };
            let keep = if is_symmetric { !1 } else { !0 };
            (order(Element { p: a.p & keep, ..a }, Element { p: b.p & keep, ..b }), sign)
        };
        let flushes = mode.0 & Mode::FTZ != 0;
        Some(Term::Element(match op {
            Real::Neg if !flushes => Bits::negated(a),
            Real::Same if mode == Mode::EVEN => a,
            // The lowest bit says that the value is negated, not that it is negative.
            Real::Abs if planted!(Bug::MagnitudeOfTree) => Element { p: a.p & !1, ..a },
            Real::Abs => tree(op, &[Element { p: a.p & !1, ..a }]),
            Real::Sub => tree(Real::Add, &order(a, Bits::negated(b))),
            Real::Add | Real::Max | Real::Min => tree(op, &order(a, b)),
            Real::Mul => {
                let (factors, sign) = factors(a, b);
                let product = tree(op, &factors);
                Element { p: product.p ^ sign, ..product }
            }
            Real::Fma => {
                let ([a, b], sign) = factors(a, b);
                tree(op, &[Element { p: a.p ^ sign, ..a }, b, c])
            }
            _ => tree(op, &all[..op.operands()]),
        }))
    }

    /// As [`super::Algebra::convert`].
    pub(super) fn convert(
        &mut self,
        (from, to, mode): (Format, Format, Mode),
        operand: Term,
    ) -> Option<Term> {
        let a = self.element(from, operand)?;
        let key = [name::CONVERSION, from as u64, to as u64, mode.0.into(), a.p, a.q];
        Some(Term::Element(self.hash(&key)))
    }

    /// As [`super::Algebra::compare`].
    pub(super) fn compare(
        &mut self,
        (comparison, format, mode): (Comparison, Format, Mode),
        operands: [Term; 2],
    ) -> Option<Truth> {
        let [a, b] = [self.element(format, operands[0])?, self.element(format, operands[1])?];
        let (comparison, a, b) = match comparison {
            Comparison::Gt => (Comparison::Lt, b, a),
            Comparison::Ge => (Comparison::Le, b, a),
            Comparison::Eq | Comparison::Ne if (b.p, b.q) < (a.p, a.q) => (comparison, b, a),
            other => (other, a, b),
        };
        let key = [comparison as u64, format as u64, mode.0.into(), a.p, a.q, b.p, b.q];
        let element = self.hash(&[&[name::RELATION], &key[..]].concat());
        Some(Truth::Open(Predicate { name: element.p ^ element.q, negated: false }))
    }

    /// As [`super::Algebra::choose`].
    pub(super) fn choose(
        &mut self,
        predicate: Predicate,
        format: Format,
        operands: [Term; 2],
    ) -> Option<Term> {
        let [a, b] = [self.element(format, operands[0])?, self.element(format, operands[1])?];
        let [a, b] = if predicate.negated { [b, a] } else { [a, b] };
        if (a.p, a.q) == (b.p, b.q) {
            return Some(operands[0]);
        }
        let key = [name::CHOICE, predicate.name, a.p, a.q, b.p, b.q];
        Some(Term::Element(self.hash(&key)))
    }

    /// As [`super::Algebra::product`]: each element is a function of all its operands in order.
    pub(super) fn product(
        &mut self,
        (factor, sum): (Format, Format),
        [a, b, c]: [&[Term]; 3],
        (columns, inner): (usize, usize),
    ) -> Option<Vec<Term>> {
        let mut results = Vec::with_capacity(c.len());
        for (at, &addend) in c.iter().enumerate() {
            let (row, column) = (at / columns, at % columns);
            let addend = self.element(sum, addend)?;
            let mut words = vec![name::DOT, factor as u64, sum as u64, addend.p, addend.q];
            for k in 0..inner {
                let a = self.element(factor, a[row * inner + k])?;
                let b = self.element(factor, b[k * columns + column])?;
                words.extend([a.p, a.q, b.p, b.q]);
            }
            results.push(Term::Element(self.hash(&words)));
        }
        Some(results)
    }

    /// As [`super::Algebra::opaque`].
    pub(super) fn opaque(&self, name: u64, operands: &[u64]) -> Element {
        self.hash(&[&[name::OPAQUE, name], operands].concat())
    }

    /// As [`super::Algebra::same`].
    pub(super) fn same(&self, a: Element, b: Element) -> bool {
        (a.p, a.q) == (b.p, b.q)
    }

    /// As [`super::Algebra::bound`].
    pub(super) fn bound(&self, _words: u64) -> f64 {
        (self.hashes.get() as f64).powi(2) / 2_f64.powi(63)
    }
}
