//! Parts of two terms that, by structure alone, have to be equal, or suffice to be equal, for the terms to be equal.

use super::wrap;
use crate::expr::{Arena, BinaryOp, Node, TermId, UnaryOp};

/// Whether the facts `known` contradict each other by an uninterpreted function that is known to be
/// true for some operands and false for operands that are equal to these. Then no lane is in the
/// case that is being looked at, and every claim holds in it. (For example: a generic address is
/// known to be global, and the same address, computed by other instructions, is known not to be.)
pub(crate) fn contradictory(arena: &mut Arena, known: &[TermId]) -> bool {
    let function = |arena: &Arena, term: TermId| match arena.node(term) {
        Node::Apply(function, operands) => Some((*function, operands.clone())),
        _ => None,
    };
    for &fact in known {
        let Node::Unary(UnaryOp::Not, inner) = *arena.node(fact) else { continue };
        let Some((refuted, own)) = function(arena, inner) else { continue };
        for &other in known {
            let Some((shown, its)) = function(arena, other) else { continue };
            if shown == refuted
                && own.len() == its.len()
                && own.iter().zip(&its).all(|(&x, &y)| {
                    arena.width(x) == arena.width(y) && wrap::equal(arena, (x, y), known)
                })
            {
                return true;
            }
        }
    }
    false
}

/// The one operand in which two sums or exclusive ors differ; they are equal only if the operand's two
/// forms are.
pub(crate) fn only_difference(arena: &Arena, a: TermId, b: TermId) -> Option<(TermId, TermId)> {
    match (arena.node(a), arena.node(b)) {
        (&Node::Binary(BinaryOp::Xor, x, y), &Node::Binary(BinaryOp::Xor, z, w)) => match () {
            () if x == z => Some((y, w)),
            () if x == w => Some((y, z)),
            () if y == z => Some((x, w)),
            () if y == w => Some((x, z)),
            () => None,
        },
        (Node::Sum { constant: c, addends: x }, Node::Sum { constant: d, addends: y })
            if c == d =>
        {
            let only = |these: &[(TermId, u64)], those: &[(TermId, u64)]| {
                let mut own = these.iter().filter(|one| !those.contains(one));
                match (own.next(), own.next()) {
                    (Some(one), None) => Some(*one),
                    _ => None,
                }
            };
            let ((x, factor), (y, other)) = (only(x, y)?, only(y, x)?);
            (factor == other && factor % 2 == 1).then_some((x, y))
        }
        _ => None,
    }
}

/// The parts to compare if one of two terms is put together from two.
pub(crate) fn halves(arena: &mut Arena, a: TermId, b: TermId) -> Option<[(TermId, TermId); 2]> {
    let width = arena.width(a);
    let low = [a, b].into_iter().find_map(|term| match *arena.node(term) {
        Node::Concatenate(_, low) => Some(arena.width(low)),
        _ => None,
    })?;
    let mut part = |from, width| (arena.extract(a, from, width), arena.extract(b, from, width));
    Some([part(low, width - low), part(0, low)])
}

/// The operands to compare if two terms are the same function of different operands, and only equal
/// operands make the two equal.
pub(crate) fn same_shape(arena: &Arena, a: TermId, b: TermId) -> Option<Vec<(TermId, TermId)>> {
    if arena.width(a) != arena.width(b) {
        return None;
    }
    let pairs = || {
        let (x, y) = (arena.operands(a), arena.operands(b));
        let differ = x.into_iter().zip(y).filter(|(x, y)| x != y);
        Some(differ.collect())
    };
    match (arena.node(a), arena.node(b)) {
        (Node::Apply(f, x), Node::Apply(g, y))
            if f == g
                && x.len() == y.len()
                && x.iter().zip(y).all(|(x, y)| arena.width(*x) == arena.width(*y)) =>
        {
            pairs()
        }
        (Node::ZeroExtend(x), Node::ZeroExtend(y)) | (Node::SignExtend(x), Node::SignExtend(y))
            if arena.width(*x) == arena.width(*y) =>
        {
            pairs()
        }
        _ => None,
    }
}
