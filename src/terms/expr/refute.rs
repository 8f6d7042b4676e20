//! Whether predicates contradict each other, found by going through cases: which side of an `or`
//! holds, which value a choice takes, and in each case by order ([`super::order`]).
//!
//! Predicates that contradict each other hold for no values of the symbols at all. If no contradiction
//! is found, nothing is known.

use super::arena::Arena;
use super::known_bits;
use super::node::{BinaryOp, Comparison, Node, TermId, UnaryOp};
use super::order::{Literal, Side, contradict};

/// The maximum number of cases.
const MAX_CASES: u32 = 24;

/// The maximum number of comparisons that are looked at in a case.
const MAX_LITERALS: usize = 48;

/// Whether no values satisfy the predicates.
pub fn are_contradictory(arena: &Arena, predicates: &[TermId]) -> bool {
    let open = predicates.iter().map(|&predicate| (predicate, true)).collect();
    Cases { arena, left: MAX_CASES }.refute(Vec::new(), 0, open)
}

/// Whether two terms are equal for all values that satisfy the predicates.
pub fn follows(arena: &Arena, predicates: &[TermId], (a, b): (TermId, TermId)) -> bool {
    if arena.width(a) != arena.width(b) {
        return false;
    }
    // The claim to be refuted goes first: only predicates connected with it are considered.
    let mut cases = Cases { arena, left: MAX_CASES };
    let known = |open: &mut Vec<(TermId, bool)>| {
        open.extend(predicates.iter().map(|&predicate| (predicate, true)));
    };
    let value = |term| arena.constant_value(term).map(|value| value != 0);
    match (arena.width(a), value(a), value(b)) {
        (1, _, Some(value)) => cases.refute_goal(a, !value, known),
        (1, Some(value), _) => cases.refute_goal(b, !value, known),
        (1, ..) => false,
        _ => {
            let differ = Literal {
                op: Comparison::Equal,
                a: Side::of(arena, a),
                b: Side::of(arena, b),
                holds: false,
            };
            let mut open = Vec::new();
            known(&mut open);
            open.reverse();
            cases.refute(vec![differ], 1, open)
        }
    }
}

/// Cases that are left to be looked at.
struct Cases<'a> {
    arena: &'a Arena,
    left: u32,
}

impl Cases<'_> {
    /// Whether `goal` cannot have the value `holds` where the other predicates hold.
    fn refute_goal(
        &mut self,
        goal: TermId,
        holds: bool,
        known: impl Fn(&mut Vec<(TermId, bool)>) + Copy,
    ) -> bool {
        let arena = self.arena;
        match *arena.node(goal) {
            Node::Unary(UnaryOp::Not, inner) => self.refute_goal(inner, !holds, known),
            // One of the two must have that value, so a contradiction is needed for each.
            Node::Binary(BinaryOp::And, a, b) if !holds => {
                self.refute_goal(a, false, known) && self.refute_goal(b, false, known)
            }
            Node::Binary(BinaryOp::Or, a, b) if holds => {
                self.refute_goal(a, true, known) && self.refute_goal(b, true, known)
            }
            Node::Compare(op, a, b) => {
                let (a, b) = (Side::of(arena, a), Side::of(arena, b));
                let mut open = Vec::new();
                known(&mut open);
                open.reverse();
                self.refute(vec![Literal { op, a, b, holds }], 1, open)
            }
            _ => {
                let mut open = Vec::new();
                known(&mut open);
                open.push((goal, holds));
                self.refute(Vec::new(), 0, open)
            }
        }
    }

    /// Whether the literals, and the open predicates with their values, cannot all hold. The first
    /// `goals` literals come from the claim to be refuted.
    fn refute(
        &mut self,
        mut literals: Vec<Literal>,
        goals: usize,
        mut open: Vec<(TermId, bool)>,
    ) -> bool {
        let arena = self.arena;
        // Alternatives wait until all else is known: many are decided by then.
        let mut alternatives: Vec<(TermId, bool)> = Vec::new();
        while let Some((term, holds)) = open.pop() {
            arena.charge(2);
            match *arena.node(term) {
                Node::Constant(value) if (value != 0) != holds => return true,
                Node::Unary(UnaryOp::Not, inner) => open.push((inner, !holds)),
                Node::Binary(BinaryOp::And, a, b) if holds => open.extend([(a, true), (b, true)]),
                Node::Binary(BinaryOp::Or, a, b) if !holds => open.extend([(a, false), (b, false)]),
                Node::Binary(BinaryOp::And | BinaryOp::Or, ..) => alternatives.push((term, holds)),
                Node::Compare(op, a, b) if literals.len() < MAX_LITERALS => {
                    if op == Comparison::Equal && holds {
                        for (x, y) in [(a, b), (b, a)] {
                            if let Some(value) = arena.constant_value(y) {
                                known_bits::split(arena, (x, value), MAX_LITERALS, &mut literals);
                            }
                        }
                    }
                    let (a, b) = (Side::of(arena, a), Side::of(arena, b));
                    literals.push(Literal { op, a, b, holds });
                }
                _ => {}
            }
        }
        if self.left == 0 {
            return false;
        }
        self.left -= 1;
        if contradict(arena, &literals, goals) {
            return true;
        }
        if let Some(choice) = choice(arena, &literals) {
            return [true, false].into_iter().all(|taken| {
                let mut case = literals.clone();
                case.iter_mut().for_each(|literal| choose(arena, literal, choice, taken));
                let mut open = alternatives.clone();
                open.push((choice, taken));
                self.refute(case, goals, open)
            });
        }
        if let Some((term, holds)) = alternatives.pop()
            && let Node::Binary(_, a, b) = *arena.node(term)
        {
            return [a, b].into_iter().all(|one| {
                let mut open = alternatives.clone();
                open.push((one, holds));
                self.refute(literals.clone(), goals, open)
            });
        }
        false
    }
}

/// The condition of a choice that is one of the summands of a comparison.
fn choice(arena: &Arena, literals: &[Literal]) -> Option<TermId> {
    literals.iter().flat_map(|literal| [&literal.a, &literal.b]).find_map(|side| {
        side.addends.iter().find_map(|&(term, _)| match *arena.node(term) {
            Node::IfThenElse(condition, ..) => Some(condition),
            _ => None,
        })
    })
}

/// Puts the chosen value in the place of a choice.
fn choose(arena: &Arena, literal: &mut Literal, condition: TermId, taken: bool) {
    for side in [&mut literal.a, &mut literal.b] {
        // The value may be such a choice again: as deep as choices are nested.
        for _ in 0..8 {
            let found =
                side.addends.iter().enumerate().find_map(|(index, &(term, _))| {
                    match *arena.node(term) {
                        Node::IfThenElse(c, a, b) if c == condition => {
                            Some((index, if taken { a } else { b }))
                        }
                        _ => None,
                    }
                });
            let Some((index, chosen)) = found else { break };
            *side = side.with(arena, index, chosen);
        }
    }
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;
    use crate::expr::{Range, SymbolId};

    crate::unit_tests!(
        inside_of_a_bound_a_periodic_neighbour_is_the_next_one,
        a_clamp_does_nothing_inside,
        what_wraps_around_is_not_ordered,
        the_opposite_of_what_is_not_negative_is_not_above_it,
        nothing_is_contradicted_that_some_values_satisfy
    );

    /// `i`, `n` and a place to start from that is a sum of two symbols.
    fn terms(width: u8) -> (Arena, TermId, TermId) {
        let mut arena = Arena::new();
        let lane = arena.symbol_within(SymbolId(0), width, Range::unsigned(0, 1023, width));
        let row = arena.symbol(SymbolId(1), width);
        let n = arena.symbol(SymbolId(2), width);
        let i = arena.add(lane, row);
        (arena, i, n)
    }

    fn inside_of_a_bound_a_periodic_neighbour_is_the_next_one() {
        for width in [32, 64] {
            for op in [Comparison::SignedLess, Comparison::UnsignedLess] {
                let (mut arena, i, n) = terms(width);
                let (next, last) = (arena.add_constant(i, 1), arena.add_constant(n, u64::MAX));
                let zero = arena.constant(0, width);
                let at_end = arena.equal(next, n);
                let wrapped = arena.if_then_else(at_end, zero, next);
                let inside = arena.compare(op, i, last);
                assert!(follows(&arena, &[inside], (wrapped, next)), "{width} {op:?}");
                // `i < n` does not exclude the end.
                let before = arena.compare(op, i, n);
                assert!(!follows(&arena, &[before], (wrapped, next)), "{width} {op:?}");
            }
        }
    }

    fn a_clamp_does_nothing_inside() {
        let (mut arena, i, n) = terms(32);
        let zero = arena.constant(0, 32);
        let (next, last) = (arena.add_constant(i, 1), arena.add_constant(n, u64::MAX));
        let below = arena.compare(Comparison::SignedLess, i, last);
        let clamped = arena.if_then_else(below, next, last);
        let positive = arena.compare(Comparison::SignedLessEqual, zero, i);
        let inside = arena.compare(Comparison::SignedLess, next, n);
        let before = arena.compare(Comparison::SignedLess, i, n);
        assert!(follows(&arena, &[positive, inside, before], (clamped, next)));
        // The largest number has no next one.
        assert!(!follows(&arena, &[positive, inside], (clamped, next)));
        assert!(!follows(&arena, &[positive], (clamped, next)));
    }

    fn what_wraps_around_is_not_ordered() {
        let (mut arena, i, n) = terms(32);
        let next = arena.add_constant(i, 1);
        let less = arena.compare(Comparison::SignedLess, next, i);
        // At the largest value the next one is the smallest.
        assert!(!are_contradictory(&arena, &[less]));
        let below = arena.compare(Comparison::SignedLess, i, n);
        assert!(are_contradictory(&arena, &[less, below]));
        let unsigned = arena.compare(Comparison::UnsignedLess, i, n);
        assert!(!are_contradictory(&arena, &[less, unsigned]));
    }

    fn the_opposite_of_what_is_not_negative_is_not_above_it() {
        let mut arena = Arena::new();
        let (p, c) = (arena.symbol(SymbolId(0), 32), arena.symbol(SymbolId(1), 1));
        let zero = arena.constant(0, 32);
        let minus = arena.neg(p);
        let either = arena.if_then_else(c, zero, minus);
        let above = arena.compare(Comparison::SignedLess, p, either);
        let never = arena.boolean(false);
        let positive = arena.compare(Comparison::SignedLessEqual, zero, p);
        assert!(follows(&arena, &[positive], (above, never)));
        assert!(!follows(&arena, &[], (above, never)));
    }

    fn nothing_is_contradicted_that_some_values_satisfy() {
        // Few bits, so that all values can be tried: random predicates over sums of three symbols.
        let mut seed = 1u64;
        let mut next = move |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % below
        };
        let (mut refuted, mut held) = (0, 0);
        for _ in 0..4000 {
            let mut arena = Arena::new();
            let width = 3;
            let symbols: Vec<TermId> = (0..3).map(|s| arena.symbol(SymbolId(s), width)).collect();
            let mut side = |arena: &mut Arena| {
                let mut sum = arena.constant(next(8), width);
                for &symbol in &symbols {
                    let factor = [0, 0, 1, 7][next(4) as usize];
                    let part = arena.scale(symbol, factor);
                    sum = arena.add(sum, part);
                }
                sum
            };
            let sides: Vec<TermId> = (0..10).map(|_| side(&mut arena)).collect();
            let ops = [
                Comparison::Equal,
                Comparison::SignedLess,
                Comparison::SignedLessEqual,
                Comparison::UnsignedLess,
                Comparison::UnsignedLessEqual,
            ];
            let mut predicates: Vec<TermId> = (0..5)
                .map(|at| {
                    let op = ops[(usize::from(sides[at]) + at * 7) % 5];
                    let compared = arena.compare(op, sides[2 * at], sides[2 * at + 1]);
                    if usize::from(sides[at]).is_multiple_of(3) {
                        arena.not(compared)
                    } else {
                        compared
                    }
                })
                .collect();
            let choice = arena.if_then_else(predicates[4], sides[0], sides[3]);
            predicates[4] = arena.compare(Comparison::SignedLess, choice, sides[5]);
            let either = arena.or(predicates[2], predicates[3]);
            predicates.truncate(2);
            predicates.push(either);
            let last = arena.compare(Comparison::UnsignedLess, choice, sides[7]);
            predicates.push(last);
            let satisfied = (0..512u64).any(|values| {
                let of = |symbol: SymbolId, _| values >> (3 * symbol.0) & 7;
                let mut evaluator = crate::expr::Evaluator::new(&arena, of);
                predicates.iter().all(|&predicate| evaluator.value(predicate) == 1)
            });
            let contradictory = are_contradictory(&arena, &predicates);
            assert!(!(contradictory && satisfied));
            refuted += u32::from(contradictory);
            held += u32::from(satisfied);
        }
        assert!(refuted > 100 && held > 100, "{refuted} refuted, {held} satisfied");
    }
}
