//! The facts at a place in the form that the solver gets: the conditions of the place and the
//! guarantees of the hardware, for this lane and for other lanes that are known to be at the place
//! too; and simpler forms of a claim with these facts.

use rustc_hash::FxHashSet;

use super::question::{Claim, Question};
use crate::expr::{Arena, BinaryOp, Node, Substitution, TermId};
use crate::isa::Special;
use crate::terms::{Kind, Terms, conditions, division, hardware};

/// All facts that hold at a place where `known` holds, those about *other* lanes included: if a whole
/// warp is known to have reconverged, lane `L + n` is there too, so the conditions of the place and the
/// guarantees of the hardware hold for it as well (the terms are shifted by `n`).
pub(super) fn facts_of_other_lanes(at: &mut Question<'_, '_, '_>) -> Vec<TermId> {
    let Question { terms, lanes, place, known } = at;
    let axioms = hardware::axioms(terms, lanes.required_shape());
    let mut found = axioms.clone();
    for reach in &place.reaches {
        let needed = conditions::literals(&mut terms.arena, reach.condition);
        let certain = conditions::hold(&terms.arena, &needed, known);
        if certain {
            for &literal in place.path.iter().chain(&axioms) {
                found.push(lanes.shift(terms, literal, reach.n, place.around));
            }
        }
    }
    found.extend(*known);
    found.sort_unstable();
    found.dedup();
    found
}

/// All facts that hold at a place, as predicates.
pub(crate) fn assumptions(at: &mut Question<'_, '_, '_>) -> Vec<TermId> {
    let Question { terms, lanes, place, known } = at;
    let mut all = known.to_vec();
    let axioms = hardware::axioms(terms, lanes.required_shape());
    let implies = |terms: &mut Terms, condition: TermId, then: TermId| {
        let not = terms.arena.not(condition);
        terms.arena.or(not, then)
    };
    let mut seen = FxHashSet::default();
    for reach in &place.reaches {
        if !seen.insert((reach.condition, reach.n)) {
            continue;
        }
        for &literal in place.path.iter().chain(&axioms) {
            let there = lanes.shift(terms, literal, reach.n, place.around);
            if there != literal {
                let fact = implies(terms, reach.condition, there);
                all.push(fact);
            }
        }
        for vote in &place.votes {
            let there = lanes.shift(terms, vote.predicate, reach.n, place.around);
            let when = terms.arena.and(vote.whole, vote.result);
            let when = terms.arena.and(when, reach.condition);
            let fact = implies(terms, when, there);
            all.push(fact);
        }
    }
    all.extend(axioms);
    all.sort_unstable();
    all.dedup();
    all
}

/// The facts `known`, and further facts about the divisions in them or in the claim.
pub(super) fn with_divisions(terms: &mut Terms, claim: Claim, known: &[TermId]) -> Vec<TermId> {
    let roots = known.iter().copied().chain([claim.0, claim.1]);
    let facts = division::facts(terms, roots);
    known.iter().copied().chain(facts).collect()
}

/// A claim and its facts, with every product of terms and every uninterpreted function replaced by a
/// symbol of its own. If this claim holds, the original one does.
pub(super) fn abstracted(
    terms: &mut Terms,
    (a, b): Claim,
    known: &[TermId],
) -> (Claim, Vec<TermId>) {
    let mut substitution = std::mem::take(&mut terms.abstraction);
    let Terms { arena, symbols, .. } = terms;
    let mut go = |arena: &mut Arena, term: TermId| {
        substitution.transform(arena, term, &mut |arena, next| {
            let opaque = match arena.node(next) {
                Node::Product(_) | Node::Apply(..) => true,
                Node::Binary(op, _, divisor) => match op {
                    BinaryOp::UnsignedMultiplyHigh | BinaryOp::SignedMultiplyHigh => true,
                    BinaryOp::UnsignedDivide
                    | BinaryOp::UnsignedRemainder
                    | BinaryOp::SignedDivide
                    | BinaryOp::SignedRemainder => arena.constant_value(*divisor).is_none(),
                    _ => false,
                },
                _ => false,
            };
            let width = arena.width(next);
            let range = arena.range(next);
            opaque.then(|| symbols.term(arena, Kind::Abstract(next), width, None, range))
        })
    };
    let claim = (go(arena, a), go(arena, b));
    let facts = known.iter().map(|&fact| go(arena, fact)).collect();
    terms.abstraction = substitution;
    (claim, facts)
}

/// Block shapes in which counterexamples are looked for: with numbers in place of extents the solver's
/// query is linear. Whole and incomplete warps, rows longer and shorter than a warp.
pub(crate) const SHAPES: [[u64; 3]; 7] =
    [[32, 2, 2], [16, 4, 1], [64, 1, 1], [31, 1, 1], [33, 1, 1], [48, 3, 1], [1, 1, 1]];

/// A claim and its facts, in the first block of a grid, with blocks of a shape.
pub(crate) fn in_shape(
    terms: &mut Terms,
    claim: Claim,
    known: &[TermId],
    shape: [u64; 3],
) -> (Claim, Vec<TermId>) {
    let mut substitution = Substitution::new();
    let Terms { arena, symbols, .. } = terms;
    let mut fix = |term: TermId| {
        substitution.apply(arena, term, &mut |arena, symbol, own| {
            let value = match symbols.info(symbol).kind {
                Kind::Uniform(Special::Ntid(axis)) => shape[axis.index()],
                Kind::Uniform(Special::Ctaid(_)) => 0,
                Kind::Uniform(Special::Nctaid(_)) => 1,
                _ => return own,
            };
            arena.constant(value, arena.width(own))
        })
    };
    let claim = (fix(claim.0), fix(claim.1));
    (claim, known.iter().map(|&fact| fix(fact)).collect())
}
