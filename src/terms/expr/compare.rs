//! Constructors of comparisons and of `if then else`.

use super::arena::Arena;
use super::bits::to_signed;
use super::node::{Comparison, Node, TermId, UnaryOp};

impl Comparison {
    /// The comparison of two `width`-bit values.
    pub fn holds(self, a: u64, b: u64, width: u8) -> bool {
        let (sa, sb) = (to_signed(a, width), to_signed(b, width));
        match self {
            Comparison::Equal => a == b,
            Comparison::UnsignedLess => a < b,
            Comparison::UnsignedLessEqual => a <= b,
            Comparison::SignedLess => sa < sb,
            Comparison::SignedLessEqual => sa <= sb,
        }
    }
}

impl Arena {
    /// `a = b`
    pub fn equal(&mut self, a: TermId, b: TermId) -> TermId {
        self.compare(Comparison::Equal, a, b)
    }

    /// A comparison of two operands of one width.
    pub fn compare(&mut self, op: Comparison, a: TermId, b: TermId) -> TermId {
        let width = self.width(a);
        debug_assert_eq!(width, self.width(b));
        if a == b {
            let reflexive = !matches!(op, Comparison::UnsignedLess | Comparison::SignedLess);
            return self.boolean(reflexive);
        }
        if let Some(known) = self.decided(op, a, b) {
            return self.boolean(known);
        }
        if let Some(folded) = self.compare_selection(op, a, b) {
            return folded;
        }
        if op == Comparison::Equal {
            return self.normal_equality(a, b);
        }
        self.intern(Node::Compare(op, a, b), 1)
    }

    /// The answer, if constants, bounds or the linear forms decide it.
    fn decided(&mut self, op: Comparison, a: TermId, b: TermId) -> Option<bool> {
        let width = self.width(a);
        if let (Some(x), Some(y)) = (self.constant_value(a), self.constant_value(b)) {
            return Some(op.holds(x, y, width));
        }
        let (x, y) = (self.range(a), self.range(b));
        match op {
            Comparison::Equal => {
                let apart =
                    x.umax < y.umin || y.umax < x.umin || x.smax < y.smin || y.smax < x.smin;
                let differ = apart || self.constant_difference(a, b).is_some_and(|d| d != 0);
                differ.then_some(false)
            }
            Comparison::UnsignedLess if x.umax < y.umin => Some(true),
            Comparison::UnsignedLess if x.umin >= y.umax => Some(false),
            Comparison::UnsignedLessEqual if x.umax <= y.umin => Some(true),
            Comparison::UnsignedLessEqual if x.umin > y.umax => Some(false),
            Comparison::SignedLess if x.smax < y.smin => Some(true),
            Comparison::SignedLess if x.smin >= y.smax => Some(false),
            Comparison::SignedLessEqual if x.smax <= y.smin => Some(true),
            Comparison::SignedLessEqual if x.smin > y.smax => Some(false),
            _ => None,
        }
    }

    /// A comparison of a constant with a choice between two constants, as the condition of the choice
    /// or its complement.
    fn compare_selection(&mut self, op: Comparison, a: TermId, b: TermId) -> Option<TermId> {
        let width = self.width(a);
        let fold = |selection: TermId, other: TermId, swapped: bool| {
            let other = self.constant_value(other)?;
            let Node::IfThenElse(condition, x, y) = *self.node(selection) else { return None };
            let (x, y) = (self.constant_value(x)?, self.constant_value(y)?);
            let holds = |value| {
                if swapped { op.holds(other, value, width) } else { op.holds(value, other, width) }
            };
            Some((condition, holds(x), holds(y)))
        };
        let (condition, x, y) = fold(a, b, false).or_else(|| fold(b, a, true))?;
        let (x, y) = (self.boolean(x), self.boolean(y));
        Some(self.if_then_else(condition, x, y))
    }

    fn normal_equality(&mut self, a: TermId, b: TermId) -> TermId {
        if self.width(a) == 1 {
            for (x, y) in [(a, b), (b, a)] {
                match self.constant_value(x) {
                    Some(1) => return y,
                    Some(_) => return self.not(y),
                    None => {}
                }
            }
        }
        let (a, b) = (a.min(b), a.max(b));
        self.intern(Node::Compare(Comparison::Equal, a, b), 1)
    }

    pub(super) fn negated_comparison(
        &mut self,
        term: TermId,
        op: Comparison,
        a: TermId,
        b: TermId,
    ) -> TermId {
        match op {
            Comparison::Equal => self.intern(Node::Unary(UnaryOp::Not, term), 1),
            Comparison::UnsignedLess => self.compare(Comparison::UnsignedLessEqual, b, a),
            Comparison::UnsignedLessEqual => self.compare(Comparison::UnsignedLess, b, a),
            Comparison::SignedLess => self.compare(Comparison::SignedLessEqual, b, a),
            Comparison::SignedLessEqual => self.compare(Comparison::SignedLess, b, a),
        }
    }

    /// `if condition then a else b`
    pub fn if_then_else(&mut self, condition: TermId, a: TermId, b: TermId) -> TermId {
        let width = self.width(a);
        debug_assert_eq!(width, self.width(b));
        debug_assert_eq!(self.width(condition), 1);
        if a == b {
            return a;
        }
        match *self.node(condition) {
            Node::Constant(0) => return b,
            Node::Constant(_) => return a,
            Node::Unary(UnaryOp::Not, inner) => return self.if_then_else(inner, b, a),
            _ => {}
        }
        if width == 1 {
            match (self.constant_value(a), self.constant_value(b)) {
                (Some(1), Some(_)) => return condition,
                (Some(_), Some(_)) => return self.not(condition),
                (Some(1), None) => return self.or(condition, b),
                (None, Some(0)) => return self.and(condition, a),
                (Some(_), None) => {
                    let negated = self.not(condition);
                    return self.and(negated, b);
                }
                (None, Some(_)) => {
                    let negated = self.not(condition);
                    return self.or(negated, a);
                }
                (None, None) => {}
            }
        }
        self.intern(Node::IfThenElse(condition, a, b), width)
    }
}
