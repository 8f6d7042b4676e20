//! Path conditions: how the conditions of several edges into a block become one, and how a term is
//! simplified by a condition that holds.

use smallvec::SmallVec;

use crate::expr::{Arena, BinaryOp, Node, Substitution, TermId, UnaryOp};

pub(crate) type Literals = SmallVec<[TermId; 8]>;

/// The conjuncts of a condition, sorted; `!(a | b)` is `!a & !b`.
pub(crate) fn literals(arena: &mut Arena, condition: TermId) -> Literals {
    let (mut found, mut work) = (Literals::new(), vec![(condition, true)]);
    while let Some((term, holds)) = work.pop() {
        // The conjuncts of the parts are sorted as well.
        arena.charge(8);
        match *arena.node(term) {
            Node::Binary(BinaryOp::And, a, b) if holds => work.extend([(a, true), (b, true)]),
            Node::Binary(BinaryOp::Or, a, b) if !holds => work.extend([(a, false), (b, false)]),
            Node::Unary(UnaryOp::Not, inner) => work.push((inner, !holds)),
            Node::Constant(value) if (value == 1) == holds => {}
            _ if holds => found.push(term),
            _ => found.push(arena.not(term)),
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// The conjuncts of a condition, unchanged; of anything else the condition itself.
pub(crate) fn conjuncts(arena: &Arena, condition: TermId) -> Vec<TermId> {
    let (mut found, mut work) = (Vec::new(), vec![condition]);
    while let Some(term) = work.pop() {
        arena.charge(1);
        match *arena.node(term) {
            Node::Binary(BinaryOp::And, a, b) => work.extend([a, b]),
            _ => found.push(term),
        }
    }
    found
}

fn conjunction(arena: &mut Arena, literals: &[TermId]) -> TermId {
    let mut all = arena.boolean(true);
    for &literal in literals {
        all = arena.and(all, literal);
    }
    all
}

/// Splits conditions into those that are among `others` and those that are not; all are sorted.
fn split(arena: &Arena, all: &[TermId], others: &[TermId]) -> (Literals, Literals) {
    arena.charge(1 + (all.len() + others.len()) as u64 / 2);
    let mut others = others.iter().peekable();
    all.iter().copied().partition(|term| {
        while others.next_if(|&other| other < term).is_some() {}
        others.peek().is_some_and(|&other| other == term)
    })
}

/// Whether all of some conditions are known.
pub(crate) fn hold(arena: &Arena, conditions: &[TermId], known: &[TermId]) -> bool {
    conditions.iter().all(|condition| {
        arena.charge(1 + known.len() as u64 / 8);
        known.contains(condition)
    })
}

/// `a or b` of conjunctions, with `x & c | x & !c = x` and `x | x & c = x`.
fn either(arena: &mut Arena, a: &Literals, b: &Literals) -> Option<Literals> {
    let (common, rest_a) = split(arena, a, b);
    let (_, rest_b) = split(arena, b, &common);
    if rest_a.is_empty() || rest_b.is_empty() {
        return Some(common);
    }
    // `!x` on one side and more on the other: `x | !x & c = x | c`, which is simpler only if `c` is
    // empty.
    match (&rest_a[..], &rest_b[..]) {
        (&[x], &[y]) if arena.not(x) == y => Some(common),
        (rest, &[one]) | (&[one], rest) if is_negation(arena, one, rest, &common) => Some(common),
        _ => None,
    }
}

/// Whether a condition is, where `common` holds, the negation of a conjunction: `!(a & b & c)` and `a & b`.
fn is_negation(arena: &mut Arena, one: TermId, conjuncts: &[TermId], common: &[TermId]) -> bool {
    let negated = arena.not(one);
    let negated = literals(arena, negated);
    negated.len() > 1
        && conjuncts.iter().all(|literal| negated.contains(literal))
        && negated.iter().all(|literal| conjuncts.contains(literal) || common.contains(literal))
}

/// The condition of a join, and for each edge into it its condition given that
/// the place is reached.
pub(crate) fn join(arena: &mut Arena, paths: &[TermId]) -> (TermId, Vec<TermId>) {
    let all: Vec<Literals> = paths.iter().map(|&way| literals(arena, way)).collect();
    let mut terms = all.clone();
    'again: loop {
        for first in 0..terms.len() {
            for second in first + 1..terms.len() {
                if let Some(one) = either(arena, &terms[first], &terms[second]) {
                    terms[first] = one;
                    terms.remove(second);
                    continue 'again;
                }
            }
        }
        break;
    }
    let mut common = terms[0].clone();
    for other in &terms[1..] {
        common = split(arena, &common, other).0;
    }
    let mut rest: Option<TermId> = None;
    for term in &terms {
        let (_, own) = split(arena, term, &common);
        let own = conjunction(arena, &own);
        rest = Some(match rest {
            None => own,
            Some(rest) => arena.or(rest, own),
        });
    }
    let rest = rest.unwrap_or_else(|| arena.boolean(true));
    let shared = conjunction(arena, &common);
    let path = arena.and(shared, rest);
    let own: Vec<Literals> = all.iter().map(|way| split(arena, way, &common).1).collect();
    let local = (0..own.len()).map(|at| {
        // As it is where the paths diverge.
        if let [one, other] = &own[..]
            && let [negation] = (if at == 0 { other } else { one })[..]
            && is_negation(arena, negation, &own[at], &common)
        {
            return arena.not(negation);
        }
        conjunction(arena, &own[at])
    });
    (path, local.collect())
}

/// `term` simplified: if `condition` decides which side of a selection is taken, that side.
pub(crate) fn under(arena: &mut Arena, term: TermId, condition: TermId, holds: bool) -> TermId {
    if !is_selection(arena, term) {
        return term;
    }
    let known = if holds { condition } else { arena.not(condition) };
    let known = literals(arena, known);
    simplify(arena, term, &known)
}

/// How deep alternatives are followed.
const MAX_REFINEMENTS: usize = 8;

/// Of terms that are larger, written out as trees, only the outside is looked at: the functions that
/// look into terms are recursive.
const MAX_LOOKED_INTO: u32 = 4096;

pub(super) fn is_selection(arena: &Arena, term: TermId) -> bool {
    if matches!(arena.node(term), Node::IfThenElse(..)) {
        return true;
    }
    arena.charge(1);
    if arena.tree_size(term) > MAX_LOOKED_INTO {
        return false;
    }
    match *arena.node(term) {
        Node::IfThenElse(..) => true,
        Node::Concatenate(a, b) => is_selection(arena, a) || is_selection(arena, b),
        Node::Extract(a, _) | Node::ZeroExtend(a) | Node::SignExtend(a) => is_selection(arena, a),
        _ => false,
    }
}

/// A term simplified by conditions that are known to hold: its outermost selections, and those of the
/// parts that it is packed from, are decided.
pub(crate) fn simplify(arena: &mut Arena, term: TermId, known: &[TermId]) -> TermId {
    simplify_by(arena, term, &mut |arena, condition| decided(arena, condition, known))
}

/// The same with `decide`, which gives the truth value of a condition if it is known.
pub(crate) fn simplify_by(
    arena: &mut Arena,
    term: TermId,
    decide: &mut dyn FnMut(&mut Arena, TermId) -> Option<bool>,
) -> TermId {
    let mut term = term;
    while let Node::IfThenElse(condition, a, b) = *arena.node(term) {
        arena.charge(1);
        term = match decide(arena, condition) {
            Some(true) => a,
            Some(false) => b,
            None => return term,
        };
    }
    if arena.tree_size(term) > MAX_LOOKED_INTO {
        return term;
    }
    match *arena.node(term) {
        Node::Concatenate(a, b) => {
            let (x, y) = (simplify_by(arena, a, decide), simplify_by(arena, b, decide));
            if (x, y) == (a, b) { term } else { arena.concatenate(x, y) }
        }
        Node::Extract(a, low) => {
            let x = simplify_by(arena, a, decide);
            let width = arena.width(term);
            if x == a { term } else { arena.extract(x, low, width) }
        }
        Node::ZeroExtend(a) => {
            let x = simplify_by(arena, a, decide);
            let width = arena.width(term);
            if x == a { term } else { arena.zero_extend(x, width) }
        }
        Node::SignExtend(a) => {
            let x = simplify_by(arena, a, decide);
            let width = arena.width(term);
            if x == a { term } else { arena.sign_extend(x, width) }
        }
        _ => term,
    }
}

/// A term simplified by conditions that are known to hold, with all selections decided that it is computed from, other
/// than by an uninterpreted function.
pub(crate) fn simplify_within(arena: &mut Arena, term: TermId, known: &[TermId]) -> TermId {
    simplify_each_within(arena, &[term], known)[0]
}

/// The same of several terms.
pub(crate) fn simplify_each_within(
    arena: &mut Arena,
    terms: &[TermId],
    known: &[TermId],
) -> Vec<TermId> {
    let mut done = Substitution::new();
    let mut simplified = |&term: &TermId| {
        if arena.tree_size(term) > MAX_LOOKED_INTO {
            return term;
        }
        done.transform(arena, term, &mut |arena, next| {
            let (condition, a, b) = match *arena.node(next) {
                Node::IfThenElse(condition, a, b) => (condition, a, b),
                Node::Apply(..) => return Some(next),
                _ => return None,
            };
            let chosen = if decided(arena, condition, known)? { a } else { b };
            Some(simplify_within(arena, chosen, known))
        })
    };
    terms.iter().map(&mut simplified).collect()
}

/// Whether a condition holds, as far as logic alone decides it.
pub(crate) fn decided(arena: &mut Arena, condition: TermId, known: &[TermId]) -> Option<bool> {
    let needed = literals(arena, condition);
    if hold(arena, &needed, known) {
        return Some(true);
    }
    if arena.tree_size(condition) > MAX_LOOKED_INTO {
        return None;
    }
    let negated = arena.not(condition);
    let needed = literals(arena, negated);
    if hold(arena, &[negated], known) || hold(arena, &needed, known) {
        return Some(false);
    }
    match *arena.node(condition) {
        Node::Binary(BinaryOp::And, a, b) => {
            let refuted = [a, b].into_iter().any(|part| decided(arena, part, known) == Some(false));
            refuted.then_some(false)
        }
        Node::Binary(BinaryOp::Or, a, b) => {
            let shown = [a, b].into_iter().any(|part| decided(arena, part, known) == Some(true));
            shown.then_some(true)
        }
        Node::Unary(UnaryOp::Not, inner) => match *arena.node(inner) {
            Node::Binary(..) => decided(arena, inner, known).map(|holds| !holds),
            _ => None,
        },
        _ => None,
    }
}

/// Two alternatives, simplified once one is known to hold.
fn remaining(arena: &mut Arena, (a, b): (TermId, TermId), known: &[TermId]) -> Option<TermId> {
    match (decided(arena, a, known), decided(arena, b, known)) {
        (Some(false), Some(false)) => Some(arena.boolean(false)),
        (Some(false), None) => Some(b),
        (None, Some(false)) => Some(a),
        _ => None,
    }
}

/// `if condition then a else b`, which holds, simplified where the condition is decided or one side is
/// refuted.
fn chosen(
    arena: &mut Arena,
    condition: TermId,
    (a, b): (TermId, TermId),
    known: &[TermId],
) -> Option<TermId> {
    if let Some(holds) = decided(arena, condition, known) {
        return Some(if holds { a } else { b });
    }
    let negated = arena.not(condition);
    match (decided(arena, a, known), decided(arena, b, known)) {
        (Some(false), Some(false)) => Some(arena.boolean(false)),
        (Some(false), _) => Some(arena.and(negated, b)),
        (_, Some(false)) => Some(arena.and(condition, a)),
        _ => None,
    }
}

/// How deep negations of conjunctions are compared.
const MAX_NEGATIONS: u32 = 4;

/// Whether two conditions are the same conjuncts, or the negations of the same, in whatever order, where some are
/// known to hold.
pub(crate) fn are_same(arena: &mut Arena, (a, b): (TermId, TermId), known: &[TermId]) -> bool {
    let negated = (arena.not(a), arena.not(b));
    [(a, b), negated]
        .into_iter()
        .any(|claim| are_same_conjuncts(arena, claim, known, MAX_NEGATIONS))
}

fn are_same_conjuncts(
    arena: &mut Arena,
    (a, b): (TermId, TermId),
    known: &[TermId],
    depth: u32,
) -> bool {
    let left = |arena: &mut Arena, term: TermId| {
        let mut left = literals(arena, term);
        left.retain(|literal| !hold(arena, &[*literal], known));
        left
    };
    let (all, others) = (left(arena, a), left(arena, b));
    let (common, own) = split(arena, &all, &others);
    let (_, its) = split(arena, &others, &common);
    if own.is_empty() || its.is_empty() || depth == 0 {
        return own.is_empty() && its.is_empty();
    }
    // Each is a negation of a conjunction that the other side has as well, in another order.
    let mut has = |one: TermId, among: &[TermId]| {
        among.iter().any(|&other| {
            let negated = (arena.not(one), arena.not(other));
            let conjunctions = [negated.0, negated.1]
                .iter()
                .all(|term| matches!(arena.node(*term), Node::Binary(BinaryOp::And, ..)));
            conjunctions && are_same_conjuncts(arena, negated, known, depth - 1)
        })
    };
    own.iter().all(|&one| has(one, &its)) && its.iter().all(|&one| has(one, &own))
}

/// Adds the last alternative of each disjunction or selection whose other one is refuted; a false condition if all are.
pub(crate) fn add_remaining(arena: &mut Arena, known: &mut Vec<TermId>) {
    // Alternatives of alternatives take one more pass each.
    for _ in 0..MAX_REFINEMENTS {
        let before = known.len();
        for index in 0..before {
            arena.charge(1);
            let left = match *arena.node(known[index]) {
                Node::Binary(BinaryOp::Or, a, b) => remaining(arena, (a, b), known),
                Node::IfThenElse(condition, a, b) => chosen(arena, condition, (a, b), known),
                Node::Unary(UnaryOp::Not, inner) => match *arena.node(inner) {
                    Node::Binary(BinaryOp::And, a, b) => {
                        let negated = (arena.not(a), arena.not(b));
                        remaining(arena, negated, known)
                    }
                    Node::IfThenElse(condition, a, b) => {
                        let negated = (arena.not(a), arena.not(b));
                        chosen(arena, condition, negated, known)
                    }
                    _ => None,
                },
                _ => None,
            };
            let Some(left) = left else { continue };
            for literal in literals(arena, left) {
                if !known.contains(&literal) {
                    known.push(literal);
                }
            }
        }
        if known.len() == before {
            return;
        }
    }
}

/// Whether two of the conditions are each other's negation.
pub(crate) fn contradict(arena: &mut Arena, known: &[TermId]) -> bool {
    arena.charge(1 + (known.len() * known.len()) as u64 / 4);
    known.iter().any(|&literal| {
        let negated = arena.not(literal);
        known.contains(&negated) || arena.constant_value(literal) == Some(0)
    })
}
