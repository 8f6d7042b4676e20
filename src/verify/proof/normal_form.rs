//! Normal forms of sums, lattice operators, exclusive ors and ballots.
//!
//! In: operands that are in normal form. Out: a term that is the same whatever the order in which the operands were
//! combined.

use smallvec::SmallVec;

use crate::expr::{BinaryOp, Comparison, Node, TermId};
use crate::isa::{Opcode, Qualifier};
use crate::ptx::ScalarType;
use crate::terms::{Function, Lattice, Terms};

/// The bits of a half of a word of 64 bits.
const HALF: u8 = 32;

/// The least or greatest of numbers of single precision, by its modifiers.
pub(super) fn extremum(words: &[Qualifier]) -> Option<Lattice> {
    let known = [Qualifier::Min, Qualifier::Max, Qualifier::PropagateNan, Qualifier::Ftz];
    let greatest = words.contains(&Qualifier::Max);
    (words.iter().all(|word| known.contains(word)) && greatest != words.contains(&Qualifier::Min))
        .then(|| Lattice::Extremum {
            greatest,
            propagates_nan: words.contains(&Qualifier::PropagateNan),
            flushes: words.contains(&Qualifier::Ftz),
        })
}

/// The lattice operator of a node, and its operands: `min` and `max` are selections by a comparison.
pub(super) fn lattice_of(terms: &Terms, term: TermId) -> Option<(Lattice, [TermId; 2])> {
    match *terms.arena.node(term) {
        Node::Binary(BinaryOp::And, a, b) => Some((Lattice::And, [a, b])),
        Node::Binary(BinaryOp::Or, a, b) => Some((Lattice::Or, [a, b])),
        Node::IfThenElse(condition, a, b) => {
            let Node::Compare(comparison, x, y) = *terms.arena.node(condition) else { return None };
            let signed = match comparison {
                Comparison::Equal => return None,
                Comparison::SignedLess | Comparison::SignedLessEqual => true,
                Comparison::UnsignedLess | Comparison::UnsignedLessEqual => false,
            };
            match ((x, y) == (a, b), (x, y) == (b, a)) {
                (true, _) => Some((Lattice::Min { signed }, [a, b])),
                (_, true) => Some((Lattice::Max { signed }, [a, b])),
                _ => None,
            }
        }
        Node::Apply(..) => {
            let (Function::Opcode(operation, _), &[a, b]) = terms.applied(term)? else {
                return None;
            };
            let form = &operation.form;
            let is_single = form.types()[..] == [ScalarType::F32] && operation.spelling.is_empty();
            let word = match form.opcode {
                Opcode::Min if is_single => Qualifier::Min,
                Opcode::Max if is_single => Qualifier::Max,
                _ => return None,
            };
            let words: Vec<Qualifier> = form.qualifiers().chain([word]).collect();
            Some((extremum(&words)?, [a, b]))
        }
        _ => None,
    }
}

/// Operands of a lattice operator in normal form: sorted, each once, those of the same operator inside joined.
pub(super) fn combined(terms: &mut Terms, lattice: Lattice, operands: &[TermId]) -> TermId {
    let Some(&first) = operands.first() else { return terms.arena.boolean(false) };
    let width = terms.arena.width(first);
    if let Some(bits) = operands.iter().map(|one| as_bit(terms, *one)).collect::<Option<Vec<_>>>()
        && width > 1
        && matches!(lattice, Lattice::And | Lattice::Or)
    {
        let bit = combined(terms, lattice, &bits);
        return bit_of(terms, bit, width);
    }
    if let (Lattice::And, [a, b]) = (lattice, operands)
        && let Some(masked) = masked(terms, (*a, *b)).or_else(|| masked(terms, (*b, *a)))
    {
        return masked;
    }
    let mut parts: Vec<TermId> = Vec::new();
    let mut constant: Option<TermId> = None;
    for &operand in operands {
        match terms.applied(operand) {
            Some((Function::Lattice(inner), inside)) if *inner == lattice => parts.extend(inside),
            _ => parts.push(operand),
        }
    }
    if !matches!(lattice, Lattice::Extremum { .. }) {
        let (constants, others) =
            parts.iter().partition(|part| terms.arena.constant_value(**part).is_some());
        let constants: Vec<TermId> = constants;
        constant = constants.into_iter().reduce(|a, b| plain(terms, lattice, a, b));
        parts = others;
        let neutral = match lattice {
            Lattice::Or => Some(terms.arena.constant(0, width)),
            Lattice::And => Some(terms.arena.constant(u64::MAX >> (64 - width), width)),
            _ => None,
        };
        constant = constant.filter(|one| parts.is_empty() || Some(*one) != neutral);
    }
    parts.extend(constant);
    parts.sort_unstable();
    parts.dedup();
    match (lattice, &parts[..]) {
        // A number by itself may be a NaN, or be flushed: its extremum is not the number.
        (Lattice::Extremum { .. }, _) => terms.apply(Function::Lattice(lattice), &parts, width),
        (_, [only]) => *only,
        // Where the simplifying constructors know better, as for a mask.
        (Lattice::And | Lattice::Or, [a, b]) if constant.is_some() => plain(terms, lattice, *a, *b),
        _ => terms.apply(Function::Lattice(lattice), &parts, width),
    }
}

/// A sum in normal form, made at once: one of many addends depends on the order in which it is made.
pub(super) fn sum(
    terms: &mut Terms,
    mut constant: u64,
    width: u8,
    addends: Vec<(TermId, u64)>,
) -> TermId {
    let (mut work, mut parts) = (addends, SmallVec::new());
    while let Some((next, factor)) = work.pop() {
        terms.arena.charge(1);
        if let Some(value) = terms.arena.constant_value(next) {
            constant = constant.wrapping_add(value.wrapping_mul(factor));
            continue;
        }
        match terms.arena.node(next) {
            Node::Binary(BinaryOp::Add, a, b) => work.extend([(*a, factor), (*b, factor)]),
            Node::Sum { constant: inner, addends } => {
                constant = constant.wrapping_add(inner.wrapping_mul(factor));
                work.extend(addends.iter().map(|&(one, by)| (one, by.wrapping_mul(factor))));
            }
            _ => parts.push((next, factor)),
        }
    }
    terms.arena.sum(width, constant, parts)
}

/// Two operands combined by the constructors of terms.
pub(super) fn plain(terms: &mut Terms, lattice: Lattice, a: TermId, b: TermId) -> TermId {
    let arena = &mut terms.arena;
    let mut least = |comparison, a, b| {
        let less = arena.compare(comparison, a, b);
        arena.if_then_else(less, a, b)
    };
    match lattice {
        Lattice::Min { signed: true } => least(Comparison::SignedLess, a, b),
        Lattice::Min { signed: false } => least(Comparison::UnsignedLess, a, b),
        Lattice::Max { signed } => {
            let comparison = if signed { Comparison::SignedLess } else { Comparison::UnsignedLess };
            let less = arena.compare(comparison, a, b);
            arena.if_then_else(less, b, a)
        }
        Lattice::And => arena.and(a, b),
        Lattice::Or => arena.or(a, b),
        Lattice::Extremum { .. } => a,
    }
}

/// The bits of two words of 64 bits combined by their halves, as lanes exchange them.
pub(super) fn by_halves(
    terms: &mut Terms,
    operands: [TermId; 2],
    combine: &dyn Fn(&mut Terms, &[TermId]) -> TermId,
) -> TermId {
    let [low, high] = [0, HALF].map(|from| {
        let halves = operands.map(|one| terms.arena.extract(one, from, HALF));
        combine(terms, &halves)
    });
    terms.arena.concatenate(high, low)
}

/// Operands of an exclusive or in normal form: sorted, pairs left out.
pub(super) fn exclusive(terms: &mut Terms, operands: &[TermId]) -> TermId {
    let Some(&first) = operands.first() else { return terms.arena.boolean(false) };
    let width = terms.arena.width(first);
    let mut parts: Vec<TermId> = Vec::new();
    for &operand in operands {
        match terms.applied(operand) {
            Some((Function::Exclusive, inside)) => parts.extend(inside),
            _ => parts.push(operand),
        }
    }
    parts.sort_unstable();
    let mut odd: Vec<TermId> = Vec::new();
    for part in parts {
        match odd.last() == Some(&part) {
            true => _ = odd.pop(),
            false => odd.push(part),
        }
    }
    match odd[..] {
        [] => terms.arena.constant(0, width),
        [only] => only,
        _ => terms.apply(Function::Exclusive, &odd, width),
    }
}

/// The predicate of a term that is 1 where it holds and 0 elsewhere.
pub(super) fn as_bit(terms: &mut Terms, term: TermId) -> Option<TermId> {
    match *terms.arena.node(term) {
        Node::ZeroExtend(inner) if terms.arena.width(inner) == 1 => Some(inner),
        Node::IfThenElse(condition, a, b) => {
            match (terms.arena.constant_value(a), terms.arena.constant_value(b)) {
                (Some(1), Some(0)) => Some(condition),
                (Some(0), Some(1)) => Some(terms.arena.not(condition)),
                _ => None,
            }
        }
        _ => None,
    }
}

/// 1 where a predicate holds, and 0 elsewhere; the same for a predicate and the negation of its negation.
pub(super) fn bit_of(terms: &mut Terms, predicate: TermId, width: u8) -> TermId {
    let (one, zero) = (terms.arena.constant(1, width), terms.arena.constant(0, width));
    let negated = terms.arena.not(predicate);
    match negated < predicate {
        true => terms.arena.if_then_else(negated, zero, one),
        false => terms.arena.if_then_else(predicate, one, zero),
    }
}

/// The predicates of a ballot, the lowest lane's first.
pub(super) fn ballot(terms: &Terms, term: TermId) -> Option<Vec<TermId>> {
    match terms.applied(term) {
        Some((Function::Ballot, predicates)) => Some(predicates.to_vec()),
        _ => None,
    }
}

/// A ballot under a constant mask of lanes.
pub(super) fn masked(terms: &mut Terms, (a, b): (TermId, TermId)) -> Option<TermId> {
    let (predicates, mask) = (ballot(terms, a)?, terms.arena.constant_value(b)?);
    let never = terms.arena.boolean(false);
    let lanes = predicates.into_iter().enumerate();
    let left: Vec<TermId> =
        lanes.map(|(lane, one)| if mask >> lane & 1 == 1 { one } else { never }).collect();
    Some(terms.apply(Function::Ballot, &left, 32))
}

/// The operand of `popc`.
pub(super) fn counted(terms: &Terms, term: TermId) -> Option<TermId> {
    match terms.applied(term)? {
        (Function::Opcode(operation, _), &[operand])
            if operation.form.opcode == Opcode::Popc && operation.spelling.is_empty() =>
        {
            Some(operand)
        }
        _ => None,
    }
}

/// How many predicates hold.
pub(super) fn count(terms: &mut Terms, predicates: &[TermId]) -> TermId {
    let zero = terms.arena.constant(0, 32);
    predicates.iter().fold(zero, |sum, predicate| {
        let bit = bit_of(terms, *predicate, 32);
        terms.arena.add(sum, bit)
    })
}
