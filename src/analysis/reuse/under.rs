//! Terms simplified by the facts that hold where a load stands: choices that the path has made,
//! remainders and quotients of numbers that are smaller than the divisor there.

use crate::expr::{Arena, BinaryOp, Comparison, Facts, Node, Substitution, TermId};

/// The most passes over a term: choices within choices are followed so deep.
const MAX_PASSES: usize = 4;

/// A term that is equal to the given one wherever the facts hold.
pub(super) fn under(arena: &mut Arena, facts: &Facts, term: TermId) -> TermId {
    let mut simplified = term;
    for _ in 0..MAX_PASSES {
        let before = simplified;
        simplified = Substitution::new()
            .transform(arena, before, &mut |arena, term| known(arena, facts, term));
        if simplified == before {
            break;
        }
    }
    simplified
}

/// The value of a selection or a division if the facts decide it.
fn known(arena: &mut Arena, facts: &Facts, term: TermId) -> Option<TermId> {
    match *arena.node(term) {
        Node::IfThenElse(condition, a, b) => {
            let negated = arena.not(condition);
            match () {
                () if facts.contain(arena, condition) => Some(a),
                () if facts.contain(arena, negated) => Some(b),
                () => None,
            }
        }
        Node::Binary(op, a, b) => {
            let is_remainder = match op {
                BinaryOp::UnsignedRemainder | BinaryOp::SignedRemainder => true,
                BinaryOp::UnsignedDivide | BinaryOp::SignedDivide => false,
                _ => return None,
            };
            let zero = arena.constant(0, arena.width(a));
            let within = match op {
                BinaryOp::UnsignedRemainder | BinaryOp::UnsignedDivide => {
                    let below = arena.compare(Comparison::UnsignedLess, a, b);
                    facts.contain(arena, below)
                }
                _ => {
                    let positive = arena.compare(Comparison::SignedLessEqual, zero, a);
                    let below = arena.compare(Comparison::SignedLess, a, b);
                    facts.contain(arena, positive) && facts.contain(arena, below)
                }
            };
            within.then_some(if is_remainder { a } else { zero })
        }
        _ => None,
    }
}
