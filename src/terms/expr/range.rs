//! Bounds of terms: unsigned and signed intervals and bits known to be zero, computed once when a
//! term is made.

use super::bits::{mask, to_signed};
use super::node::{BinaryOp, Node, TermId, UnaryOp};

/// Bounds of a term that hold whatever the symbols are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Range {
    /// Smallest value read as unsigned.
    pub umin: u64,
    /// Largest value read as unsigned.
    pub umax: u64,
    /// Smallest value read as signed.
    pub smin: i64,
    /// Largest value read as signed.
    pub smax: i64,
    /// Bits that are zero in every value.
    pub zeros: u64,
    /// Bits that are one in every value.
    pub ones: u64,
}

/// The terms that nodes refer to.
pub(super) trait Terms {
    /// A term's bounds.
    fn range(&self, term: TermId) -> Range;
    /// A term's width in bits.
    fn width(&self, term: TermId) -> u8;
}

impl Range {
    /// All values of a width.
    pub fn full(width: u8) -> Range {
        let smax = (mask(width) >> 1) as i64;
        Range { umin: 0, umax: mask(width), smin: -smax - 1, smax, zeros: !mask(width), ones: 0 }
    }

    /// The unsigned interval `umin..=umax` of a width.
    pub fn unsigned(umin: u64, umax: u64, width: u8) -> Range {
        Range { umin, umax, ..Range::full(width) }.close(width)
    }

    /// The signed interval `smin..=smax` of a width.
    pub fn signed(smin: i64, smax: i64, width: u8) -> Range {
        Range { smin, smax, ..Range::full(width) }.close(width)
    }

    /// The bounds of a node, from those of its operands.
    pub(super) fn of(node: &Node, width: u8, terms: &impl Terms) -> Range {
        let full = Range::full(width);
        match node {
            Node::Constant(value) => {
                let signed = to_signed(*value, width);
                let (umin, umax) = (*value, *value);
                Range { umin, umax, smin: signed, smax: signed, zeros: !value, ones: *value }
            }
            Node::Symbol(_) | Node::Apply(..) | Node::Compare(..) => full,
            Node::Sum { constant, addends } => sum_range(terms, width, *constant, addends),
            Node::Product(factors) => {
                // (Without wrapping around, a product rises with each factor.)
                let product = |of: fn(Range) -> u64| {
                    factors.iter().try_fold(1u128, |product, &(factor, exponent)| {
                        let value = u128::from(of(terms.range(factor)));
                        product.checked_mul(match value {
                            0 | 1 => value,
                            _ => value.checked_pow(u32::try_from(exponent).ok()?)?,
                        })
                    })
                };
                match (product(|range| range.umin), product(|range| range.umax)) {
                    (Some(least), Some(top)) if top <= u128::from(mask(width)) => {
                        Range::unsigned(least as u64, top as u64, width)
                    }
                    _ => full,
                }
            }
            Node::Unary(UnaryOp::PopulationCount | UnaryOp::LeadingZeros, a) => {
                Range::unsigned(0, u64::from(terms.width(*a)), width)
            }
            Node::Unary(..) => full,
            Node::Binary(op, a, b) => binary_range(terms, *op, *a, *b, width),
            Node::IfThenElse(_, a, b) => terms.range(*a).join(terms.range(*b)),
            Node::ZeroExtend(a) => {
                let Range { umin, umax, zeros, ones, .. } = terms.range(*a);
                Range { umin, umax, zeros, ones, ..full }.close(width)
            }
            Node::SignExtend(a) => {
                let Range { smin, smax, zeros, ones, .. } = terms.range(*a);
                let narrow = mask(terms.width(*a));
                let (zeros, ones) = (full.zeros | zeros & narrow, ones & narrow);
                Range { smin, smax, zeros, ones, ..full }.close(width)
            }
            Node::Extract(a, low) => {
                let Range { zeros, ones, .. } = terms.range(*a);
                let zeros = (zeros >> low) | !mask(width);
                Range { zeros, ones: (ones >> low) & mask(width), ..full }.close(width)
            }
            Node::Concatenate(a, b) => {
                let (high, low) = (terms.range(*a), terms.range(*b));
                let by = terms.width(*b);
                let zeros = (high.zeros << by) | (low.zeros & mask(by));
                let ones = (high.ones << by) | low.ones;
                Range { zeros, ones, ..full }.close(width)
            }
        }
    }

    /// Narrows the unsigned bounds, the signed bounds and the known bits by each other.
    fn close(mut self, width: u8) -> Range {
        let half = mask(width) >> 1;
        self.umax = self.umax.min(!self.zeros);
        self.umin = self.umin.max(self.ones);
        if self.smin >= 0 {
            self.umin = self.umin.max(self.smin as u64);
            self.umax = self.umax.min(self.smax as u64);
        }
        if self.smax < 0 {
            self.umin = self.umin.max(self.smin as u64 & mask(width));
            self.umax = self.umax.min(self.smax as u64 & mask(width));
        }
        if self.umax <= half {
            self.smin = self.smin.max(self.umin as i64);
            self.smax = self.smax.min(self.umax as i64);
        }
        if self.umin > half {
            self.smin = self.smin.max(to_signed(self.umin, width));
            self.smax = self.smax.min(to_signed(self.umax, width));
        }
        self.zeros |= match self.umax {
            0 => u64::MAX,
            top => !(u64::MAX >> top.leading_zeros()),
        };
        self
    }

    fn join(self, other: Range) -> Range {
        Range {
            umin: self.umin.min(other.umin),
            umax: self.umax.max(other.umax),
            smin: self.smin.min(other.smin),
            smax: self.smax.max(other.smax),
            zeros: self.zeros & other.zeros,
            ones: self.ones & other.ones,
        }
    }
}

/// How the bits of a term are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reading {
    Unsigned,
    Signed,
}

/// The exact interval of `constant + sum of coefficient * term` over the integers, when terms
/// are read as given and constant and coefficients as signed.
pub(super) fn exact_sum(
    terms: &impl Terms,
    width: u8,
    constant: u64,
    addends: &[(TermId, u64)],
    reading: Reading,
) -> Option<(i128, i128)> {
    let mut low = i128::from(to_signed(constant, width));
    let mut high = low;
    for &(term, coefficient) in addends {
        let coefficient = i128::from(to_signed(coefficient, width));
        let range = terms.range(term);
        let (a, b) = match reading {
            Reading::Unsigned => (i128::from(range.umin), i128::from(range.umax)),
            Reading::Signed => (i128::from(range.smin), i128::from(range.smax)),
        };
        let (a, b) = (coefficient.checked_mul(a)?, coefficient.checked_mul(b)?);
        low = low.checked_add(a.min(b))?;
        high = high.checked_add(a.max(b))?;
    }
    Some((low, high))
}

fn sum_range(terms: &impl Terms, width: u8, constant: u64, addends: &[(TermId, u64)]) -> Range {
    let full = Range::full(width);
    let mut range = full;
    if let Some((low, high)) = exact_sum(terms, width, constant, addends, Reading::Signed)
        && low >= i128::from(full.smin)
        && high <= i128::from(full.smax)
    {
        (range.smin, range.smax) = (low as i64, high as i64);
    }
    if let Some((low, high)) = exact_sum(terms, width, constant, addends, Reading::Unsigned)
        && low >= 0
        && high <= i128::from(full.umax)
    {
        (range.umin, range.umax) = (low as u64, high as u64);
    }
    // Low bits that are known of every summand are known of the sum.
    let (mut known, mut low) = (u32::from(width), constant);
    for &(term, coefficient) in addends {
        let Range { zeros, ones, .. } = terms.range(term);
        let bits = (zeros | ones).trailing_ones();
        known = known.min(bits + coefficient.trailing_zeros());
        low = low.wrapping_add(coefficient.wrapping_mul(ones & low_mask(bits)));
    }
    range.zeros |= !low & low_mask(known);
    range.ones |= low & low_mask(known);
    range.close(width)
}

/// A mask of the `bits` lowest bits.
fn low_mask(bits: u32) -> u64 {
    1u64.checked_shl(bits).map_or(u64::MAX, |bit| bit - 1)
}

fn binary_range(terms: &impl Terms, op: BinaryOp, a: TermId, b: TermId, width: u8) -> Range {
    let (a, b) = (terms.range(a), terms.range(b));
    let full = Range::full(width);
    match op {
        BinaryOp::And => {
            let zeros = a.zeros | b.zeros;
            let ones = a.ones & b.ones;
            Range { umax: a.umax.min(b.umax), zeros, ones, ..full }.close(width)
        }
        BinaryOp::Or => {
            let (zeros, ones) = (a.zeros & b.zeros, a.ones | b.ones);
            Range { zeros, ones, ..full }.close(width)
        }
        BinaryOp::Xor => Range { zeros: a.zeros & b.zeros, ..full }.close(width),
        BinaryOp::UnsignedDivide if b.umin > 0 => {
            Range::unsigned(a.umin / b.umax, a.umax / b.umin, width)
        }
        BinaryOp::UnsignedRemainder if b.umin > 0 => {
            Range::unsigned(0, a.umax.min(b.umax - 1), width)
        }
        BinaryOp::ShiftRight => Range::unsigned(0, a.umax, width),
        BinaryOp::SignedDivide if a.smin >= 0 && b.smin > 0 => {
            Range::signed(0, a.smax / b.smin, width)
        }
        BinaryOp::SignedRemainder if a.smin >= 0 && b.smin > 0 => {
            Range::signed(0, a.smax.min(b.smax - 1), width)
        }
        _ => full,
    }
}
