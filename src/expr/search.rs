//! Looks for values of the symbols under which some predicates hold and two terms differ.
//!
//! A solver that shows a counterexample to a wrong claim costs a thousand times more than trying
//! some: samples of all magnitudes, repaired where a predicate does not hold, and then moved to the
//! corners of the claim: where a comparison or a choice in it turns over, where a remainder or a
//! quotient steps, where a narrow value wraps around. What is found is a counterexample by
//! evaluation. That none is found says nothing.

use super::arena::{Arena, BinaryOp, Node, TermId};
use super::bits::mask;
use super::walk::Walk;

/// What a search has found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Search {
    /// Values under which the predicates hold and the terms differ.
    Counterexample,
    /// Only values under which the predicates hold; the terms agreed in all of them.
    Agreement,
    /// No values under which the predicates hold.
    Nothing,
}

/// Starting points.
const ROUNDS: u64 = 48;

/// Changes of each of them.
const CHANGES: u64 = 12;

/// Terms evaluated in one search.
const MAX_EVALUATED: u64 = 150_000;

/// Corners of one claim.
const MAX_CORNERS: usize = 96;

/// Looks for values under which the predicates hold and `a` and `b` differ. The bounds of the
/// symbols hold always. Deterministic.
pub fn search(arena: &Arena, predicates: &[TermId], (a, b): (TermId, TermId)) -> Search {
    let mut walk = Walk::new(arena, predicates.iter().copied().chain([a, b]));
    let corners = corners(arena, a, b);
    let mut turn = 0;
    let mut found = Search::Nothing;
    for round in 0..ROUNDS {
        walk.restart(round);
        for _ in 0..CHANGES {
            let broken = broken(&mut walk, predicates);
            let moved = match broken {
                Some(predicate) => walk.force(predicate, 1),
                None if walk.value(a) != walk.value(b) => return Search::Counterexample,
                None => {
                    found = Search::Agreement;
                    turn += 1;
                    !corners.is_empty() && corners[turn % corners.len()].visit(&mut walk)
                }
            };
            if walk.evaluated > MAX_EVALUATED {
                return found;
            }
            // A corner that cannot be reached from here is left to the next turn.
            if moved {
                walk.evaluate();
            } else if broken.is_some() || corners.is_empty() {
                break;
            }
        }
    }
    found
}

/// One of the predicates that do not hold.
fn broken(walk: &mut Walk<'_>, predicates: &[TermId]) -> Option<TermId> {
    let fails = |walk: &Walk<'_>, p: TermId| walk.value(p) == 0;
    let count = predicates.iter().filter(|&&p| fails(walk, p)).count();
    if count == 0 {
        return None;
    }
    let chosen = walk.next() as usize % count;
    predicates.iter().copied().filter(|&p| fails(walk, p)).nth(chosen)
}

/// Where a claim may break.
#[derive(Clone, Copy, Debug)]
enum Corner {
    /// A predicate turns over.
    Turn(TermId),
    /// A term has this value.
    Value(TermId, u64),
    /// A term is this much above another one.
    Above(TermId, TermId, u64),
    /// Some low bits of a term are all ones (or zeros).
    LowBits(TermId, u8, bool),
}

impl Corner {
    /// Goes there from where the walk is; false if it cannot.
    fn visit(self, walk: &mut Walk<'_>) -> bool {
        match self {
            Corner::Turn(term) => walk.force(term, walk.value(term) ^ 1),
            Corner::Value(term, value) => walk.force(term, value),
            Corner::Above(a, b, by) => {
                let mask = mask(walk.arena.width(a));
                let (x, y) = (walk.value(a), walk.value(b));
                if walk.next() & 1 == 0 {
                    walk.force(b, x.wrapping_sub(by) & mask) || walk.force(a, y.wrapping_add(by) & mask)
                } else {
                    walk.force(a, y.wrapping_add(by) & mask) || walk.force(b, x.wrapping_sub(by) & mask)
                }
            }
            Corner::LowBits(term, bits, ones) => {
                let low = mask(bits);
                let value = walk.value(term);
                walk.force(term, if ones { value | low } else { value & !low })
            }
        }
    }
}

/// The corners of the claim that two terms are equal, the outermost first.
fn corners(arena: &Arena, a: TermId, b: TermId) -> Vec<Corner> {
    let claim = Walk::new(arena, [a, b].into_iter());
    let mut corners: Vec<Corner> =
        [a, b].into_iter().filter(|&t| arena.width(t) == 1).map(Corner::Turn).collect();
    for &term in claim.cone.iter().rev() {
        if corners.len() > MAX_CORNERS {
            break;
        }
        match *arena.node(term) {
            Node::Compare(_, x, y) => {
                corners.extend([0, 1, u64::MAX].map(|by| Corner::Above(x, y, by)));
            }
            Node::IfThenElse(condition, ..) => corners.push(Corner::Turn(condition)),
            Node::Binary(
                BinaryOp::UnsignedRemainder
                | BinaryOp::SignedRemainder
                | BinaryOp::UnsignedDivide
                | BinaryOp::SignedDivide,
                x,
                y,
            ) => corners.extend([u64::MAX, 0].map(|by| Corner::Above(x, y, by))),
            Node::SignExtend(x) => {
                let half = mask(arena.width(x)) >> 1;
                corners.extend([half, half + 1].map(|value| Corner::Value(x, value)));
            }
            Node::ZeroExtend(x) => {
                corners.extend([mask(arena.width(x)), 0].map(|value| Corner::Value(x, value)));
            }
            Node::Extract(x, low) => {
                let bits = if low > 0 { low } else { arena.width(term) };
                corners.extend([true, false].map(|ones| Corner::LowBits(x, bits, ones)));
            }
            _ => {}
        }
    }
    corners
}
