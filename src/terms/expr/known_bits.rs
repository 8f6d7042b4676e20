//! The consequences of an equality with a constant for the parts of a term: an `or` that is zero has two
//! operands that are zero, and a number whose upper bits are known lies in an interval.
//!
//! This is how compilers write a check of several indices at once: `((x | y | z) >> 8) == 0`.

use super::arena::Arena;
use super::bits::mask;
use super::node::{BinaryOp, Comparison, Node, TermId};
use super::order::{Literal, Side};

/// Of more parts than this the rest is left out.
const MAX_PARTS: u32 = 16;

/// Adds to `literals` up to `most` consequences for the terms below `term` if it has this value.
pub(super) fn split(
    arena: &Arena,
    (term, value): (TermId, u64),
    most: usize,
    literals: &mut Vec<Literal>,
) {
    // `term & known = value`: of the other bits nothing is known.
    let mut open = vec![(term, mask(arena.width(term)), value)];
    for _ in 0..MAX_PARTS {
        let Some((term, known, value)) = open.pop() else { return };
        arena.charge(2);
        let width = arena.width(term);
        match *arena.node(term) {
            Node::Binary(BinaryOp::Or, a, b) if value == 0 => {
                open.extend([(a, known, 0), (b, known, 0)]);
            }
            Node::Binary(BinaryOp::And, a, b) if value == known => {
                open.extend([(a, known, known), (b, known, known)]);
            }
            Node::Binary(op @ (BinaryOp::And | BinaryOp::ShiftRight), a, b)
                if let Some(by) = arena.constant_value(b) =>
            {
                open.extend(match op {
                    BinaryOp::And => Some((a, known & by, value)),
                    _ if by >= u64::from(width) || value > mask(width) >> by => None,
                    _ => Some((a, known << by & mask(width), value << by)),
                });
            }
            Node::ZeroExtend(a) => open.push((a, known & mask(arena.width(a)), value)),
            Node::Extract(a, low) => open.push((a, known << low, value << low)),
            Node::Concatenate(a, b) => {
                let (low, ones) = (arena.width(b), mask(arena.width(b)));
                open.extend([(a, known >> low, value >> low), (b, known & ones, value & ones)]);
            }
            // All bits above some bit.
            _ if known != 0 && known | (known - 1) == mask(width) => {
                between(arena, term, (value, value | !known & mask(width)), literals);
            }
            _ => {}
        }
        if literals.len() + 4 > most {
            return;
        }
    }
}

/// A term lies between two values, read as unsigned; also read as signed, if both have one sign.
fn between(arena: &Arena, term: TermId, (least, most): (u64, u64), literals: &mut Vec<Literal>) {
    let width = arena.width(term);
    let sign = 1 << (width - 1);
    let mut ops = vec![Comparison::UnsignedLessEqual];
    if least & sign == most & sign {
        ops.push(Comparison::SignedLessEqual);
    }
    for op in ops {
        let side = || Side::of(arena, term);
        let limit = |value| Side::constant(value, width);
        literals.push(Literal { op, a: limit(least), b: side(), holds: true });
        literals.push(Literal { op, a: side(), b: limit(most), holds: true });
    }
}

#[cfg(feature = "internals")]
mod tests {
    use super::super::refute::{are_contradictory, follows};
    use super::*;
    use crate::expr::{Range, SymbolId};

    crate::unit_tests!(
        a_check_of_several_indices_at_once_bounds_each,
        nothing_is_said_that_some_values_deny
    );

    fn a_check_of_several_indices_at_once_bounds_each() {
        let mut arena = Arena::new();
        let indices = [0, 1].map(|number| {
            let thread = arena.symbol_within(SymbolId(2 * number), 32, Range::unsigned(0, 63, 32));
            let start = arena.symbol(SymbolId(2 * number + 1), 32);
            arena.add(thread, start)
        });
        let upper = indices.map(|index| arena.extract(index, 8, 24));
        let both = arena.binary(BinaryOp::Or, upper[0], upper[1]);
        let none = arena.constant(0, 24);
        let inside = arena.equal(both, none);
        // The same as one number, with a mask.
        let both = arena.binary(BinaryOp::Or, indices[0], indices[1]);
        let (upper, none) = (arena.constant(0xffff_ff00, 32), arena.constant(0, 32));
        let masked = arena.binary(BinaryOp::And, both, upper);
        let masked = arena.equal(masked, none);
        let (zero, last) = (arena.constant(0, 32), arena.constant(255, 32));
        for index in indices {
            let before = arena.add_constant(index, u64::MAX);
            let at_edge = arena.compare(Comparison::SignedLess, index, zero);
            let clamped = arena.if_then_else(at_edge, last, index);
            for inside in [inside, masked] {
                assert!(follows(&arena, &[inside], (clamped, index)));
            }
            // One place earlier is not always inside.
            let at_edge = arena.compare(Comparison::SignedLess, before, zero);
            let clamped = arena.if_then_else(at_edge, last, before);
            for inside in [inside, masked] {
                assert!(!follows(&arena, &[inside], (clamped, before)));
            }
        }
    }

    /// Random equalities of few bits: nothing is contradicted that some values satisfy.
    fn nothing_is_said_that_some_values_deny() {
        let mut seed = 3u64;
        let mut next = move |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % below
        };
        let (mut refuted, mut held) = (0, 0);
        for _ in 0..4000 {
            let mut arena = Arena::new();
            let symbols = [0, 1].map(|number| arena.symbol(SymbolId(number), 4));
            let mut predicates = Vec::new();
            for _ in 0..3 {
                let [a, b] = symbols.map(|s| arena.add_constant(s, next(16)));
                let (x, y) = match next(4) {
                    0 => (arena.extract(a, 2, 2), arena.extract(b, 2, 2)),
                    1 => (arena.extract(a, 1, 3), arena.extract(b, 1, 3)),
                    2 => (arena.extract(a, 1, 2), arena.extract(b, 0, 2)),
                    _ => (a, b),
                };
                let most = mask(arena.width(x));
                let bits = arena.constant(
                    [most, most << 1 & most, next(16) & most][next(3) as usize],
                    arena.width(x),
                );
                let x = match next(4) {
                    0 => arena.binary(BinaryOp::And, x, bits),
                    1 => {
                        let one = arena.constant(1, arena.width(x));
                        arena.binary(BinaryOp::ShiftRight, x, one)
                    }
                    _ => x,
                };
                let term = match next(5) {
                    0 => arena.binary(BinaryOp::And, x, y),
                    1 => arena.concatenate(x, y),
                    2 => arena.zero_extend(x, 6),
                    _ => arena.binary(BinaryOp::Or, x, y),
                };
                let width = arena.width(term);
                let value = [0, 0, mask(width), next(16) & mask(width)][next(4) as usize];
                let value = arena.constant(value, width);
                let equal = arena.equal(term, value);
                predicates.push(if next(4) == 0 { arena.not(equal) } else { equal });
            }
            let satisfied = (0..256u64).any(|values| {
                let of = |symbol: SymbolId, _| values >> (4 * symbol.0) & 15;
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
