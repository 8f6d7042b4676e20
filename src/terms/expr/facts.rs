//! Conjunctions of predicates known to hold, and their consequences by logic alone.

use super::arena::Arena;
use super::node::{BinaryOp, Comparison, Node, TermId, UnaryOp};
use super::range::Range;

/// Of more conjuncts than this the rest is left out: fewer facts decide less, and nothing wrongly.
const MAX_CONJUNCTS: usize = 1024;

/// How deep a predicate is searched for conjuncts that decide it.
const MAX_DEPTH: u32 = 32;

/// A conjunction of predicates known to be true.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    comparisons: Vec<(Comparison, TermId, TermId, bool)>,
    /// Every conjunct, with the value it has.
    conjuncts: Vec<(TermId, bool)>,
    predicates: Vec<TermId>,
}

impl Facts {
    /// Adds a predicate, split into comparisons.
    pub fn add(&mut self, arena: &Arena, predicate: TermId) {
        self.predicates.push(predicate);
        let mut work = vec![(predicate, true)];
        while let Some((term, holds)) = work.pop() {
            arena.charge(1);
            if self.conjuncts.len() >= MAX_CONJUNCTS {
                return;
            }
            self.conjuncts.push((term, holds));
            match *arena.node(term) {
                Node::Unary(UnaryOp::Not, inner) => work.push((inner, !holds)),
                Node::Binary(BinaryOp::And, a, b) if holds => {
                    work.extend([(a, true), (b, true)]);
                }
                Node::Binary(BinaryOp::Or, a, b) if !holds => {
                    work.extend([(a, false), (b, false)]);
                }
                Node::Compare(op, a, b) => self.comparisons.push((op, a, b, holds)),
                _ => {}
            }
        }
    }

    /// Whether a predicate is one of the facts, or follows from them by logic alone.
    pub fn contain(&self, arena: &Arena, predicate: TermId) -> bool {
        self.decide(arena, (predicate, true))
    }

    /// Whether it follows from the facts by logic alone that a predicate has a value.
    pub fn decide(&self, arena: &Arena, (predicate, holds): (TermId, bool)) -> bool {
        self.follows(arena, predicate, holds, MAX_DEPTH)
    }

    fn follows(&self, arena: &Arena, predicate: TermId, holds: bool, depth: u32) -> bool {
        arena.charge(1 + self.conjuncts.len() as u64 / 8);
        let Some(depth) = depth.checked_sub(1) else { return false };
        if self.conjuncts.contains(&(predicate, holds)) {
            return true;
        }
        match *arena.node(predicate) {
            Node::Constant(value) => (value != 0) == holds,
            Node::Unary(UnaryOp::Not, inner) => self.follows(arena, inner, !holds, depth),
            Node::Binary(BinaryOp::And, a, b) if holds => {
                self.follows(arena, a, true, depth) && self.follows(arena, b, true, depth)
            }
            Node::Binary(BinaryOp::Or, a, b) if holds => {
                self.follows(arena, a, true, depth) || self.follows(arena, b, true, depth)
            }
            Node::Binary(BinaryOp::And, a, b) => {
                self.follows(arena, a, false, depth) || self.follows(arena, b, false, depth)
            }
            Node::Binary(BinaryOp::Or, a, b) => {
                self.follows(arena, a, false, depth) && self.follows(arena, b, false, depth)
            }
            Node::Compare(op, a, b) => {
                self.comparisons.iter().any(|&(known, x, y, value)| {
                    // a < b is not (b <= a), so one may stand for the other.
                    let negated = match known {
                        Comparison::Equal => None,
                        Comparison::UnsignedLess => Some(Comparison::UnsignedLessEqual),
                        Comparison::UnsignedLessEqual => Some(Comparison::UnsignedLess),
                        Comparison::SignedLess => Some(Comparison::SignedLessEqual),
                        Comparison::SignedLessEqual => Some(Comparison::SignedLess),
                    };
                    Some(op) == negated && (a, b) == (y, x) && value != holds
                }) || self.decide_by_bounds(arena, op, a, b) == Some(holds)
            }
            _ => false,
        }
    }

    fn decide_by_bounds(
        &self,
        arena: &Arena,
        op: Comparison,
        a: TermId,
        b: TermId,
    ) -> Option<bool> {
        let (x, y) = (self.bounds(arena, a), self.bounds(arena, b));
        match op {
            Comparison::Equal => None,
            Comparison::SignedLess if x.smax < y.smin => Some(true),
            Comparison::SignedLess if x.smin >= y.smax => Some(false),
            Comparison::SignedLessEqual if x.smax <= y.smin => Some(true),
            Comparison::SignedLessEqual if x.smin > y.smax => Some(false),
            Comparison::UnsignedLess if x.umax < y.umin => Some(true),
            Comparison::UnsignedLess if x.umin >= y.umax => Some(false),
            Comparison::UnsignedLessEqual if x.umax <= y.umin => Some(true),
            Comparison::UnsignedLessEqual if x.umin > y.umax => Some(false),
            _ => None,
        }
    }

    /// A term's own bounds, narrowed by the comparisons in which it stands.
    fn bounds(&self, arena: &Arena, term: TermId) -> Range {
        let mut bounds = arena.range(term);
        for &(op, a, b, holds) in &self.comparisons {
            if (a == term) == (b == term) {
                continue;
            }
            // As `low <= high` or `low < high`, in one of the two readings.
            let (low, high) = if holds { (a, b) } else { (b, a) };
            let (signed, strict) = match op {
                Comparison::Equal => continue,
                Comparison::SignedLess => (true, holds),
                Comparison::SignedLessEqual => (true, !holds),
                Comparison::UnsignedLess => (false, holds),
                Comparison::UnsignedLessEqual => (false, !holds),
            };
            match (term == low, signed) {
                (true, true) => {
                    let top = arena.range(high).smax.saturating_sub(i64::from(strict));
                    bounds.smax = bounds.smax.min(top);
                }
                (false, true) => {
                    let bottom = arena.range(low).smin.saturating_add(i64::from(strict));
                    bounds.smin = bounds.smin.max(bottom);
                }
                (true, false) => {
                    let top = arena.range(high).umax.saturating_sub(u64::from(strict));
                    bounds.umax = bounds.umax.min(top);
                }
                (false, false) => {
                    let bottom = arena.range(low).umin.saturating_add(u64::from(strict));
                    bounds.umin = bounds.umin.max(bottom);
                }
            }
        }
        bounds
    }

    /// The predicates that cannot be split further, each with the value it has.
    pub fn literals<'a>(&'a self, arena: &'a Arena) -> impl Iterator<Item = (TermId, bool)> + 'a {
        self.conjuncts.iter().copied().filter(|&(term, holds)| match arena.node(term) {
            Node::Unary(UnaryOp::Not, _) => false,
            Node::Binary(BinaryOp::And, ..) => !holds,
            Node::Binary(BinaryOp::Or, ..) => holds,
            _ => true,
        })
    }

    /// All predicates as they were given.
    pub fn predicates(&self) -> &[TermId] {
        &self.predicates
    }

    /// The comparisons among the conjuncts, each with the value it has.
    pub fn comparisons(&self) -> &[(Comparison, TermId, TermId, bool)] {
        &self.comparisons
    }
}
