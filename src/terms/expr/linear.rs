//! Sums and products: the ring normal form `constant + sum of coefficient * product of powers`.
//!
//! Sums and products are bounded by count, so that a chain of operations costs as much as it is long:
//! beyond the bound an addition or a multiplication is kept as an operation on two terms, and from
//! then on counts as one summand or factor.

use smallvec::SmallVec;

use super::arena::Arena;
use super::bits::mask;
use super::node::{BinaryOp, Node, TermId};

/// The parts of a sum; a term that is not a sum is the sum of itself.
type Addends = SmallVec<[(TermId, u64); 8]>;

/// The maximum number of summands of a sum, without the constant.
pub const MAX_SUMMANDS: usize = 64;

/// The maximum number of different factors of a product.
pub const MAX_FACTORS: usize = 16;

/// A product of two sums is multiplied out only while the result has at most this many summands.
const MAX_EXPANDED_SUMMANDS: usize = 32;

/// The largest near difference, in bytes.
const MAX_NEAR: u64 = 1 << 40;

impl Arena {
    /// A constant, taken modulo 2^width.
    pub fn constant(&mut self, value: u64, width: u8) -> TermId {
        self.intern(Node::Constant(value & mask(width)), width)
    }

    /// Constant part and addends of any term.
    pub fn linear_parts(&self, term: TermId) -> (u64, Addends) {
        match self.node(term) {
            Node::Constant(value) => (*value, Addends::new()),
            Node::Sum { constant, addends } => (*constant, addends.iter().copied().collect()),
            _ => (0, Addends::from_slice(&[(term, 1)])),
        }
    }

    /// The constant part of a term.
    pub fn constant_part(&self, term: TermId) -> u64 {
        match self.node(term) {
            Node::Constant(value) => *value,
            Node::Sum { constant, .. } => *constant,
            _ => 0,
        }
    }

    /// Builds `constant + sum of coefficient * term` for terms of one width that are no sums or
    /// constants themselves; repeated terms are added up.
    pub fn sum(&mut self, width: u8, constant: u64, mut addends: Addends) -> TermId {
        let mask = mask(width);
        self.charge(addends.len() as u64);
        addends.sort_unstable_by_key(|&(term, _)| term);
        let mut merged = Addends::new();
        for (term, coefficient) in addends {
            match merged.last_mut() {
                Some((last, total)) if *last == term => *total = total.wrapping_add(coefficient),
                _ => merged.push((term, coefficient)),
            }
        }
        merged.retain(|(_, coefficient)| {
            *coefficient &= mask;
            *coefficient != 0
        });
        let constant = constant & mask;
        match merged[..] {
            [] => self.constant(constant, width),
            [(term, 1)] if constant == 0 => term,
            _ if merged.len() > MAX_SUMMANDS => {
                let (front, back) = merged.split_at(merged.len() / 2);
                let (front, back) = (Addends::from_slice(front), Addends::from_slice(back));
                let (a, b) = (self.sum(width, 0, front), self.sum(width, 0, back));
                let (a, b) = (a.min(b), a.max(b));
                let all = self.intern(Node::Binary(BinaryOp::Add, a, b), width);
                self.add_constant(all, constant)
            }
            _ => {
                let addends = merged.into_vec().into_boxed_slice();
                self.intern(Node::Sum { constant, addends }, width)
            }
        }
    }

    /// `a + b`
    pub fn add(&mut self, a: TermId, b: TermId) -> TermId {
        self.combine(a, 1, b, 1)
    }

    /// `a - b`
    pub fn sub(&mut self, a: TermId, b: TermId) -> TermId {
        self.combine(a, 1, b, u64::MAX)
    }

    /// `-a`
    pub fn neg(&mut self, a: TermId) -> TermId {
        self.scale(a, u64::MAX)
    }

    /// `a + value`
    pub fn add_constant(&mut self, a: TermId, value: u64) -> TermId {
        let width = self.width(a);
        let (constant, addends) = self.linear_parts(a);
        self.sum(width, constant.wrapping_add(value), addends)
    }

    /// `factor * a`
    pub fn scale(&mut self, a: TermId, factor: u64) -> TermId {
        let width = self.width(a);
        let (constant, mut addends) = self.linear_parts(a);
        addends.iter_mut().for_each(|(_, c)| *c = c.wrapping_mul(factor));
        self.sum(width, constant.wrapping_mul(factor), addends)
    }

    fn combine(&mut self, a: TermId, by_a: u64, b: TermId, by_b: u64) -> TermId {
        let width = self.width(a);
        debug_assert_eq!(width, self.width(b));
        let (constant_a, addends_a) = self.linear_parts(a);
        let (constant_b, addends_b) = self.linear_parts(b);
        let scaled = |by: u64| move |(term, c): (TermId, u64)| (term, c.wrapping_mul(by));
        let addends =
            addends_a.into_iter().map(scaled(by_a)).chain(addends_b.into_iter().map(scaled(by_b)));
        let constant = constant_a.wrapping_mul(by_a).wrapping_add(constant_b.wrapping_mul(by_b));
        self.sum(width, constant, addends.collect())
    }

    /// `a * b`, multiplied out where that stays small, so that `(j - 1) * n` and `j * n - n` are
    /// one term.
    pub fn mul(&mut self, a: TermId, b: TermId) -> TermId {
        let width = self.width(a);
        debug_assert_eq!(width, self.width(b));
        let (constant_a, addends_a) = self.linear_parts(a);
        let (constant_b, addends_b) = self.linear_parts(b);
        if addends_a.is_empty() {
            return self.scale(b, constant_a);
        }
        if addends_b.is_empty() {
            return self.scale(a, constant_b);
        }
        let count = |constant: u64, addends: &Addends| addends.len() + usize::from(constant != 0);
        let (count_a, count_b) = (count(constant_a, &addends_a), count(constant_b, &addends_b));
        if count_a * count_b > MAX_EXPANDED_SUMMANDS {
            return self.product(a, b, width);
        }
        let mut addends = Addends::new();
        for &(x, cx) in &addends_a {
            for &(y, cy) in &addends_b {
                addends.push((self.product(x, y, width), cx.wrapping_mul(cy)));
            }
            addends.push((x, cx.wrapping_mul(constant_b)));
        }
        addends.extend(addends_b.iter().map(|&(y, cy)| (y, cy.wrapping_mul(constant_a))));
        self.sum(width, constant_a.wrapping_mul(constant_b), addends)
    }

    /// The product of two terms that are no constants, not multiplied out.
    fn product(&mut self, a: TermId, b: TermId, width: u8) -> TermId {
        let mut factors: SmallVec<[(TermId, u64); 8]> = SmallVec::new();
        for term in [a, b] {
            match self.node(term) {
                Node::Product(inner) => factors.extend(inner.iter().copied()),
                _ => factors.push((term, 1)),
            }
        }
        factors.sort_unstable_by_key(|&(term, _)| term);
        let mut merged: SmallVec<[(TermId, u64); 8]> = SmallVec::new();
        let mut exact = true;
        for (term, exponent) in factors {
            match merged.last_mut() {
                Some((last, total)) if *last == term => match total.checked_add(exponent) {
                    Some(sum) => *total = sum,
                    None => exact = false,
                },
                _ => merged.push((term, exponent)),
            }
        }
        if !exact || merged.len() > MAX_FACTORS {
            let (a, b) = (a.min(b), a.max(b));
            return self.intern(Node::Binary(BinaryOp::Multiply, a, b), width);
        }
        self.intern(Node::Product(merged.into_vec().into_boxed_slice()), width)
    }

    /// `a` to the power of `exponent`, modulo 2^width; 1 for 0.
    pub fn power(&mut self, a: TermId, mut exponent: u64) -> TermId {
        let width = self.width(a);
        let mut result = self.constant(1, width);
        let mut square = a;
        while exponent > 0 {
            if exponent & 1 == 1 {
                result = self.mul(result, square);
            }
            exponent >>= 1;
            if exponent > 0 {
                square = self.mul(square, square);
            }
        }
        result
    }

    /// `a - b` if that is a constant (sign-extended from the terms' width).
    pub fn constant_difference(&mut self, a: TermId, b: TermId) -> Option<i64> {
        if a == b {
            return Some(0);
        }
        self.charge(1);
        let (own_a, own_b) = ([(a, 1)], [(b, 1)]);
        let (constant_a, addends_a) = self.borrowed_parts(a, &own_a);
        let (constant_b, addends_b) = self.borrowed_parts(b, &own_b);
        (addends_a == addends_b)
            .then(|| super::bits::to_signed(constant_a.wrapping_sub(constant_b), self.width(a)))
    }

    /// The difference of [`Arena::constant_difference`], if it is so small that sums with lengths and offsets within accesses
    /// cannot wrap around.
    pub fn near_difference(&mut self, a: TermId, b: TermId) -> Option<i64> {
        self.constant_difference(a, b).filter(|bytes| bytes.unsigned_abs() <= MAX_NEAR)
    }

    /// The parts that [`Arena::linear_parts`] gives, without copying them; `own` is the term with
    /// the coefficient 1.
    fn borrowed_parts<'a>(
        &'a self,
        term: TermId,
        own: &'a [(TermId, u64); 1],
    ) -> (u64, &'a [(TermId, u64)]) {
        match self.node(term) {
            Node::Constant(value) => (*value, &[]),
            Node::Sum { constant, addends } => (*constant, addends),
            _ => (0, own),
        }
    }
}
