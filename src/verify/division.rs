//! What is known of quotients and remainders by divisors that are no constants, where no solver looks
//! into them: what small dividends come to. An index that was checked against `n` is its own remainder
//! by `n`, and one that is a little larger is by `n` less, which is how periodic neighbours are found.

use rustc_hash::FxHashSet;

use crate::expr::{Arena, BinaryOp, Comparison, Node, TermId};

/// So many divisions of one claim are told of.
const MAX_DIVISIONS: usize = 8;

/// Nothing is told of claims that are larger than this many terms.
const MAX_TERMS: usize = 2048;

/// Facts about the divisions in some terms, which hold for all values. What stands inside of products
/// and functions is left out, since these are symbols where the facts are used.
pub(super) fn facts(arena: &mut Arena, roots: impl Iterator<Item = TermId>) -> Vec<TermId> {
    let mut facts = Vec::new();
    for division in divisions(arena, roots) {
        let Node::Binary(op, a, b) = *arena.node(division) else { continue };
        let (signed, remainder) = match op {
            BinaryOp::UnsignedDivide => (false, false),
            BinaryOp::UnsignedRemainder => (false, true),
            BinaryOp::SignedDivide => (true, false),
            BinaryOp::SignedRemainder => (true, true),
            _ => continue,
        };
        let less = if signed { Comparison::SignedLess } else { Comparison::UnsignedLess };
        let (zero, one) = (arena.constant(0, arena.width(a)), arena.constant(1, arena.width(a)));
        let rest = arena.sub(a, b);
        for (dividend, quotient) in [(a, zero), (rest, one)] {
            // `0 <= dividend < b`, and without wrapping around `b <= a`.
            let mut when = arena.compare(less, dividend, b);
            if signed {
                let not_negative = arena.compare(Comparison::SignedLessEqual, zero, dividend);
                when = arena.and(when, not_negative);
            }
            if dividend != a {
                let at_most = if signed {
                    Comparison::SignedLessEqual
                } else {
                    Comparison::UnsignedLessEqual
                };
                let reached = arena.compare(at_most, b, a);
                when = arena.and(when, reached);
            }
            let then = arena.equal(division, if remainder { dividend } else { quotient });
            let not = arena.not(when);
            facts.push(arena.or(not, then));
        }
    }
    facts
}

/// The first divisions by what is no constant, in the order in which they were made.
fn divisions(arena: &Arena, roots: impl Iterator<Item = TermId>) -> Vec<TermId> {
    let (mut found, mut seen) = (Vec::new(), FxHashSet::default());
    let mut work: Vec<TermId> = roots.collect();
    while let Some(term) = work.pop() {
        if !seen.insert(term) {
            continue;
        }
        arena.charge(1);
        if seen.len() > MAX_TERMS {
            return Vec::new();
        }
        match *arena.node(term) {
            Node::Apply(..) | Node::Product(_) => continue,
            Node::Binary(
                BinaryOp::UnsignedDivide
                | BinaryOp::UnsignedRemainder
                | BinaryOp::SignedDivide
                | BinaryOp::SignedRemainder,
                _,
                divisor,
            ) if arena.constant_value(divisor).is_none() => found.push(term),
            _ => {}
        }
        work.extend(arena.operands(term));
    }
    found.sort_unstable();
    found.truncate(MAX_DIVISIONS);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::{Evaluator, SymbolId};

    /// All values of a small width, the divisor zero included.
    #[test]
    fn every_fact_holds_for_all_values() {
        const WIDTH: u8 = 4;
        let mut arena = Arena::new();
        let [a, b] = [0, 1].map(|number| arena.symbol(SymbolId(number), WIDTH));
        let mut says_something = 0;
        for op in [
            BinaryOp::UnsignedDivide,
            BinaryOp::UnsignedRemainder,
            BinaryOp::SignedDivide,
            BinaryOp::SignedRemainder,
        ] {
            let division = arena.binary(op, a, b);
            let facts = facts(&mut arena, [division].into_iter());
            assert_eq!(facts.len(), 2);
            for fact in facts {
                for (x, y) in (0..16).flat_map(|x| (0..16).map(move |y| (x, y))) {
                    let value = |symbol: SymbolId, _| if symbol.0 == 0 { x } else { y };
                    assert_eq!(Evaluator::new(&arena, value).value(fact), 1, "{op:?} {x} {y}");
                }
                says_something += u32::from(arena.constant_value(fact).is_none());
            }
        }
        assert_eq!(says_something, 8);
    }
}
