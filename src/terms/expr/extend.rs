//! Constructors that change widths: extension, extraction, concatenation.

use smallvec::SmallVec;

use super::arena::Arena;
use super::bits::{mask, sign_extend};
use super::node::{Node, TermId};
use super::range::{Range, Reading, exact_sum};

impl Arena {
    /// `a` with zeros in front, `width` bits in all; `a` itself where it is that wide already.
    pub fn zero_extend(&mut self, a: TermId, width: u8) -> TermId {
        let from = self.width(a);
        debug_assert!(width >= from);
        if width == from {
            return a;
        }
        match *self.node(a) {
            Node::Constant(value) => self.constant(value, width),
            Node::ZeroExtend(inner) => self.zero_extend(inner, width),
            _ if !self.may_be_rebuilt(a) => self.intern(Node::ZeroExtend(a), width),
            _ => match self.extended_sum(a, width, Reading::Unsigned) {
                Some(sum) => sum,
                None => self.intern(Node::ZeroExtend(a), width),
            },
        }
    }

    /// `a` with copies of its sign bit in front, `width` bits in all.
    pub fn sign_extend(&mut self, a: TermId, width: u8) -> TermId {
        let from = self.width(a);
        debug_assert!(width >= from);
        if width == from {
            return a;
        }
        match *self.node(a) {
            Node::Constant(value) => self.constant(sign_extend(value, from), width),
            Node::SignExtend(inner) => self.sign_extend(inner, width),
            _ if self.range(a).smin >= 0 => self.zero_extend(a, width),
            _ if !self.may_be_rebuilt(a) => self.intern(Node::SignExtend(a), width),
            _ => match self.extended_sum(a, width, Reading::Signed) {
                Some(sum) => sum,
                None => self.intern(Node::SignExtend(a), width),
            },
        }
    }

    /// The extension of a sum is the sum of the extensions where the sum cannot wrap around.
    fn extended_sum(&mut self, a: TermId, width: u8, reading: Reading) -> Option<TermId> {
        let from = self.width(a);
        let Node::Sum { constant, addends } = self.node(a) else { return None };
        let (low, high) = exact_sum(self, from, *constant, addends, reading)?;
        let full = Range::full(from);
        let fits = match reading {
            Reading::Unsigned => low >= 0 && high <= i128::from(full.umax),
            Reading::Signed => low >= i128::from(full.smin) && high <= i128::from(full.smax),
        };
        if !fits || from == 1 {
            return None;
        }
        let (constant, addends) = self.linear_parts(a);
        let mut total = sign_extend(constant, from);
        let mut wide: SmallVec<[(TermId, u64); 8]> = SmallVec::new();
        for (term, coefficient) in addends {
            let term = match reading {
                Reading::Unsigned => self.zero_extend(term, width),
                Reading::Signed => self.sign_extend(term, width),
            };
            let factor = sign_extend(coefficient, from);
            let (inner_constant, inner) = self.linear_parts(term);
            total = total.wrapping_add(inner_constant.wrapping_mul(factor));
            wide.extend(inner.into_iter().map(|(t, c)| (t, c.wrapping_mul(factor))));
        }
        Some(self.sum(width, total, wide))
    }

    /// The bits of `a` from `low` on, `width` of them.
    pub fn extract(&mut self, a: TermId, low: u8, width: u8) -> TermId {
        let from = self.width(a);
        debug_assert!(low + width <= from);
        if width == from {
            return a;
        }
        match *self.node(a) {
            Node::Constant(value) => self.constant(value >> low, width),
            Node::Extract(inner, offset) => self.extract(inner, offset + low, width),
            _ if self.range(a).zeros >> low & mask(width) == mask(width) => self.constant(0, width),
            _ if !self.may_be_rebuilt(a) => self.large_extract(a, low, width),
            Node::ZeroExtend(inner) | Node::SignExtend(inner)
                if low + width <= self.width(inner) =>
            {
                self.extract(inner, low, width)
            }
            Node::ZeroExtend(inner) if low >= self.width(inner) => self.constant(0, width),
            Node::ZeroExtend(inner) if low == 0 => self.zero_extend(inner, width),
            Node::SignExtend(inner) if low == 0 => self.sign_extend(inner, width),
            Node::ZeroExtend(inner) => {
                let rest = self.width(inner) - low;
                let high = self.extract(inner, low, rest);
                self.zero_extend(high, width)
            }
            // (Each bit above is the sign. The upper word of a number of 32 bits stays unchanged: conditions that
            // compare it with zero are about the whole number.)
            Node::SignExtend(inner) if low < 32 || width < 32 || self.width(inner) < 32 => {
                let own = self.width(inner);
                let low = low.min(own - 1);
                let high = self.extract(inner, low, own - low);
                self.sign_extend(high, width)
            }
            Node::Concatenate(high, bottom) => {
                let split = self.width(bottom);
                if low >= split {
                    self.extract(high, low - split, width)
                } else if low + width <= split {
                    self.extract(bottom, low, width)
                } else {
                    let lower = self.extract(bottom, low, split - low);
                    let upper = self.extract(high, 0, low + width - split);
                    self.concatenate(upper, lower)
                }
            }
            Node::IfThenElse(c, x, y)
                if self.constant_value(x).is_some() || self.constant_value(y).is_some() =>
            {
                let (x, y) = (self.extract(x, low, width), self.extract(y, low, width));
                self.if_then_else(c, x, y)
            }
            // Truncation is a ring homomorphism: it distributes over sums and products.
            Node::Sum { .. } if low == 0 && width > 1 => self.truncated_sum(a, width),
            // An index that was shifted up and is shifted down again. (The constant's low bits carry nothing.)
            Node::Sum { ref addends, .. }
                if low > 0 && addends.iter().all(|&(_, by)| by & mask(low) == 0) =>
            {
                let (constant, addends) = self.linear_parts(a);
                let down = addends.into_iter().map(|(term, by)| (term, by >> low)).collect();
                let shifted = self.sum(from, constant >> low, down);
                self.extract(shifted, 0, width)
            }
            Node::Product(ref factors) if low == 0 && width > 1 => {
                let factors = factors.clone();
                let one = self.constant(1, width);
                factors.iter().fold(one, |product, &(factor, exponent)| {
                    let factor = self.extract(factor, 0, width);
                    let power = self.power(factor, exponent);
                    self.mul(product, power)
                })
            }
            _ => self.intern(Node::Extract(a, low), width),
        }
    }

    /// The low bits of a sum, as the sum of the low bits of its parts.
    fn truncated_sum(&mut self, a: TermId, width: u8) -> TermId {
        let (mut total, addends) = self.linear_parts(a);
        let mut all: SmallVec<[(TermId, u64); 8]> = SmallVec::new();
        for (term, coefficient) in addends {
            let narrow = self.extract(term, 0, width);
            let (constant, inner) = self.linear_parts(narrow);
            total = total.wrapping_add(constant.wrapping_mul(coefficient));
            all.extend(inner.into_iter().map(|(t, c)| (t, c.wrapping_mul(coefficient))));
        }
        self.sum(width, total, all)
    }

    /// Whether all parts of a sum are multiples of 2^`bits`.
    pub(super) fn is_multiple(&self, a: TermId, bits: u8) -> bool {
        let (constant, addends) = self.linear_parts(a);
        let whole = |part: u64| part & mask(bits) == 0;
        whole(constant) && addends.iter().all(|&(_, by)| whole(by))
    }

    /// The bits of a large term, simplified only as far as one step goes.
    fn large_extract(&mut self, a: TermId, low: u8, width: u8) -> TermId {
        match *self.node(a) {
            Node::ZeroExtend(inner) | Node::SignExtend(inner)
                if low == 0 && width == self.width(inner) =>
            {
                inner
            }
            Node::Concatenate(high, bottom) => match self.width(bottom) {
                split if low == split && width == self.width(high) => high,
                split if low == 0 && width == split => bottom,
                _ => self.intern(Node::Extract(a, low), width),
            },
            _ => self.intern(Node::Extract(a, low), width),
        }
    }

    /// `a` truncated or zero-extended to `width` bits.
    pub fn resize(&mut self, a: TermId, width: u8) -> TermId {
        if width <= self.width(a) { self.extract(a, 0, width) } else { self.zero_extend(a, width) }
    }

    /// `high` above `low`; at most 64 bits in all.
    pub fn concatenate(&mut self, high: TermId, low: TermId) -> TermId {
        let (high_width, low_width) = (self.width(high), self.width(low));
        let width = high_width + low_width;
        debug_assert!(width <= 64);
        match (self.node(high).clone(), self.node(low).clone()) {
            (Node::Constant(0), _) => self.zero_extend(low, width),
            (Node::Constant(h), Node::Constant(l)) => self.constant(h << low_width | l, width),
            (Node::Extract(a, from_a), Node::Extract(b, from_b))
                if a == b && from_a == from_b + low_width =>
            {
                self.extract(a, from_b, width)
            }
            // The low part of a term is often simplified so far that it is not an extraction any more.
            (Node::Extract(a, from), _)
                if from == low_width
                    && self.width(a) == width
                    && self.extract(a, 0, low_width) == low =>
            {
                a
            }
            _ => self.intern(Node::Concatenate(high, low), width),
        }
    }
}
