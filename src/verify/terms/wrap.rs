//! The claim of almost every shuffle, without a solver: `c * ext(x + k)` against `c * ext(x) + c * k`, where `ext`
//! widens by sign or zeros. They are equal unless `x + k` wraps around, which happens for an interval of values of `x`;
//! the known facts about `x` exclude intervals.
//!
//! Intervals are circular: `first` to `last` counted upwards modulo 2^w.

use super::conditions::{is_selection, simplify};
use rustc_hash::FxHashSet;

use crate::expr::{Arena, Comparison, Node, Substitution, TermId, UnaryOp, mask, to_signed};

/// Values `first, first + 1, ..., first + more` modulo 2^w.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Interval {
    pub(super) first: u64,
    pub(super) more: u64,
}

impl Interval {
    /// From `first` up to `last`, both included; never empty.
    pub(super) fn through(first: u64, last: u64, width: u8) -> Interval {
        let first = first & mask(width);
        Interval { first, more: last.wrapping_sub(first) & mask(width) }
    }

    /// Whether two intervals have no value in common.
    pub(super) fn avoids(self, other: Interval, width: u8) -> bool {
        // Both fit behind one another into the circle, beginning with this one.
        let gap = other.first.wrapping_sub(self.first) & mask(width);
        gap > self.more && other.more <= mask(width) - gap
    }
}

/// Whether two terms are equal because no sum that was widened wraps around, given some predicates
/// that hold. False means nothing.
pub(crate) fn equal(arena: &mut Arena, claim: (TermId, TermId), known: &[TermId]) -> bool {
    equal_if(arena, claim, |arena, base, ahead, signed| {
        stays_in_range(arena, base, ahead, signed, known)
    })
}

/// Whether two terms are equal because two others are known to be that are as far apart, where nothing
/// that was widened wraps around.
pub(crate) fn equal_as_known(
    arena: &mut Arena,
    (a, b): (TermId, TermId),
    known: &[TermId],
) -> bool {
    let as_far_apart = known.iter().any(|&fact| match *arena.node(fact) {
        Node::Compare(Comparison::Equal, x, y) if arena.width(x) == arena.width(a) => {
            [(x, y), (y, x)].into_iter().any(|(x, y)| {
                let (left, right) = (arena.add(a, y), arena.add(b, x));
                left == right || equal(arena, (left, right), known)
            })
        }
        _ => false,
    });
    as_far_apart || equal_by_parts(arena, (a, b), known)
}

/// Facts of the form `x = y` that are put into one claim at most.
const MAX_PARTS: usize = 8;

/// The size, as a tree, of the largest terms in which something is replaced: addresses are small, and numbers of double
/// precision that many iterations have made are not.
const MAX_LOOKED_INTO: u32 = 1024;

/// Whether two terms are equal after replacing parts by others that known facts say are equal.
fn equal_by_parts(arena: &mut Arena, (a, b): (TermId, TermId), known: &[TermId]) -> bool {
    if [a, b].into_iter().any(|term| arena.tree_size(term) > MAX_LOOKED_INTO) {
        return false;
    }
    let mut solved: Vec<(TermId, TermId)> = Vec::new();
    let occurring = below(arena, [a, b]);
    for &fact in known {
        arena.charge(1);
        if let Node::Compare(Comparison::Equal, x, y) = *arena.node(fact)
            && solved.len() < MAX_PARTS
        {
            let Some((part, other)) = solution(arena, x, y) else { continue };
            // (A lane receives a choice by facts that are known, too.)
            let chosen = match is_selection(arena, part) {
                true => simplify(arena, part, known),
                false => part,
            };
            let found = match chosen == part {
                true => Some((part, other)),
                false => solution(arena, chosen, other),
            };
            solved.extend(found);
        }
    }
    if !solved.iter().any(|(part, _)| occurring.contains(part)) {
        return false;
    }
    let mut put_in = Substitution::new();
    let mut replaced = |arena: &mut Arena, term| {
        put_in.transform(arena, term, &mut |_, term| {
            solved.iter().find(|(part, _)| *part == term).map(|(_, other)| *other)
        })
    };
    let (x, y) = (replaced(arena, a), replaced(arena, b));
    if (x, y) == (a, b) {
        return false;
    }
    if x == y || !may_be_equal(arena, (x, y)) {
        return x == y;
    }
    let facts: Vec<TermId> = known.iter().map(|&fact| replaced(arena, fact)).collect();
    equal(arena, (x, y), &facts)
}

/// All terms that some terms are made of, themselves included.
fn below(arena: &Arena, roots: [TermId; 2]) -> FxHashSet<TermId> {
    let (mut found, mut work) = (FxHashSet::default(), roots.to_vec());
    while let Some(next) = work.pop() {
        if found.insert(next) {
            arena.charge(1);
            work.extend(arena.operands(next));
        }
    }
    found
}

/// `x = y`, solved for the part that was made last: the part, and its equal.
fn solution(arena: &mut Arena, x: TermId, y: TermId) -> Option<(TermId, TermId)> {
    let width = arena.width(x);
    let difference = arena.sub(x, y);
    let (_, addends) = arena.linear_parts(difference);
    let is_unit = |factor: u64| factor == 1 || factor == mask(width);
    let by_last = |(term, factor): &(TermId, u64)| is_unit(*factor).then_some((*term, *factor));
    let (part, factor) = addends.iter().filter_map(by_last).max()?;
    // `part * factor + rest = 0`
    let whole = arena.scale(part, factor);
    let rest = arena.sub(difference, whole);
    let other = if factor == 1 { arena.neg(rest) } else { rest };
    Some((part, other))
}

/// Whether two terms are equal where nothing that was widened wraps around.
pub(crate) fn may_be_equal(arena: &mut Arena, claim: (TermId, TermId)) -> bool {
    equal_if(arena, claim, |_, _, _, _| true)
}

/// By how much one term is larger than another, if that is a constant where nothing that was widened wraps around.
pub(crate) fn distance(arena: &mut Arena, a: TermId, b: TermId) -> Option<i64> {
    let width = arena.width(a);
    let ahead = distance_if(arena, (a, b), |_, _, _, _| true)?;
    Some(to_signed(ahead & mask(width), width))
}

/// The same, if `stays` says so of each sum that was widened; it is asked with the base, the constant
/// that is added, and whether the sum was widened by its sign.
fn equal_if(
    arena: &mut Arena,
    claim: (TermId, TermId),
    stays: impl Fn(&mut Arena, TermId, i64, bool) -> bool,
) -> bool {
    let width = arena.width(claim.0);
    distance_if(arena, claim, stays).is_some_and(|ahead| ahead & mask(width) == 0)
}

/// By how much the first term is larger modulo 2^w, if that is a constant where each sum that was widened stays in
/// range: see [`equal_if`].
fn distance_if(
    arena: &mut Arena,
    (a, b): (TermId, TermId),
    stays: impl Fn(&mut Arena, TermId, i64, bool) -> bool,
) -> Option<u64> {
    let difference = arena.sub(a, b);
    let (constant, addends) = arena.linear_parts(difference);
    let (pairs, rest) = paired(arena, &addends);
    if !rest.is_empty() {
        return None;
    }
    pairs.into_iter().try_fold(constant, |sum, Pair { factor, base, ahead, signed, .. }| {
        stays(arena, base, ahead, signed)
            .then(|| sum.wrapping_add(factor.wrapping_mul(ahead as u64)))
    })
}

/// Two addends `factor * ext(base + ahead) - factor * ext(base)`.
pub(super) struct Pair {
    pub(super) terms: [TermId; 2],
    pub(super) factor: u64,
    pub(super) base: TermId,
    pub(super) ahead: i64,
    pub(super) signed: bool,
}

/// The pairs among the addends of a sum, and those that have no partner.
pub(super) fn paired(
    arena: &mut Arena,
    addends: &[(TermId, u64)],
) -> (Vec<Pair>, Vec<(TermId, u64)>) {
    let (mut open, mut pairs, mut rest) = (addends.to_vec(), Vec::new(), Vec::new());
    while let Some((term, factor)) = open.pop() {
        let opposite = factor.wrapping_neg() & mask(arena.width(term));
        let partner = widened(arena, term).and_then(|(inner, signed)| {
            (0..open.len()).find_map(|index| {
                let (other, its) = open[index];
                let (base, its_sign) = widened(arena, other)?;
                if its != opposite || its_sign != signed || arena.width(base) != arena.width(inner)
                {
                    return None;
                }
                let ahead = arena.constant_difference(inner, base)?;
                Some((index, Pair { terms: [term, other], factor, base, ahead, signed }))
            })
        });
        match partner {
            Some((index, pair)) => {
                open.remove(index);
                pairs.push(pair);
            }
            None => rest.push((term, factor)),
        }
    }
    (pairs, rest)
}

/// The term that another one widens, and whether it does by the sign.
pub(super) fn widened(arena: &Arena, term: TermId) -> Option<(TermId, bool)> {
    match *arena.node(term) {
        Node::SignExtend(inner) => Some((inner, true)),
        Node::ZeroExtend(inner) => Some((inner, false)),
        _ => None,
    }
}

/// Whether `base + ahead`, read as signed or not, is not beyond the ends of its width.
pub(super) fn stays_in_range(
    arena: &mut Arena,
    base: TermId,
    ahead: i64,
    signed: bool,
    known: &[TermId],
) -> bool {
    let width = arena.width(base);
    if ahead == 0 {
        return true;
    }
    let distance = ahead.unsigned_abs();
    if distance > mask(width) >> 1 {
        return false;
    }
    if stays_in_low_bits(arena, base, ahead) {
        return true;
    }
    // Upwards the last values wrap around, downwards the first ones.
    let start = if signed { 1u64 << (width - 1) } else { 0 };
    let first = if ahead > 0 { start.wrapping_sub(distance) } else { start };
    let wrapping = Interval { first: first & mask(width), more: distance - 1 };
    let range = arena.range(base);
    let possible = [
        Interval::through(range.umin, range.umax, width),
        Interval::through(range.smin as u64, range.smax as u64, width),
    ];
    possible.iter().any(|possible| possible.avoids(wrapping, width))
        || known
            .iter()
            .any(|&fact| possible_by(arena, fact, base).is_some_and(|p| p.avoids(wrapping, width)))
}

/// Whether adding a number changes only low bits of a term that are known: of `32 * x + 3` the five lowest, so that
/// adding -3 to 28 carries nothing into the others. Then neither the greatest number nor, read as signed, the
/// greatest positive one is passed, since both end in ones.
fn stays_in_low_bits(arena: &Arena, base: TermId, ahead: i64) -> bool {
    let width = arena.width(base);
    let (constant, addends) = arena.linear_parts(base);
    let zeros = |(term, factor): &(TermId, u64)| {
        factor.trailing_zeros() + arena.range(*term).zeros.trailing_ones()
    };
    let known = addends.iter().map(zeros).min().unwrap_or(0).min(u32::from(width) - 1).min(32);
    let low = (constant & ((1 << known) - 1)) as i64;
    low.checked_add(ahead).is_some_and(|sum| (0..1 << known).contains(&sum))
}

/// The values of a term that agree with a fact.
pub(super) fn possible_by(arena: &mut Arena, fact: TermId, base: TermId) -> Option<Interval> {
    let width = arena.width(base);
    // `x` is `base + offset`.
    let offset = |arena: &mut Arena, x: TermId| {
        (arena.width(x) == width && arena.constant_value(x).is_none())
            .then(|| arena.constant_difference(x, base))?
    };
    if let Node::Unary(UnaryOp::Not, inner) = *arena.node(fact) {
        let Node::Compare(Comparison::Equal, x, y) = *arena.node(inner) else { return None };
        let (x, value) = match (arena.constant_value(x), arena.constant_value(y)) {
            (None, Some(value)) => (x, value),
            (Some(value), None) => (y, value),
            _ => return None,
        };
        let excluded = value.wrapping_sub(offset(arena, x)? as u64);
        return Some(Interval::through(excluded.wrapping_add(1), excluded.wrapping_sub(1), width));
    }
    let Node::Compare(op, x, y) = *arena.node(fact) else { return None };
    let strict = matches!(op, Comparison::SignedLess | Comparison::UnsignedLess);
    let step = u64::from(strict);
    let by_sign = matches!(op, Comparison::SignedLess | Comparison::SignedLessEqual);
    let least = if by_sign { 1u64 << (width - 1) } else { 0 };
    let (low, high) = (arena.range(x), arena.range(y));
    let (moved, interval) = match (op, offset(arena, x), offset(arena, y)) {
        (Comparison::Equal, ..) => return None,
        // `base + offset` is below the other side's greatest value.
        (_, Some(moved), None) => {
            let top = if by_sign { high.smax as u64 } else { high.umax };
            let bottom = if by_sign { to_signed(least, width) as u64 } else { 0 };
            // No value is below the least one: the fact cannot hold.
            if strict && top & mask(width) == bottom & mask(width) {
                return None;
            }
            (moved, Interval::through(least, top.wrapping_sub(step), width))
        }
        (_, None, Some(moved)) => {
            let bottom = if by_sign { low.smin as u64 } else { low.umin };
            let greatest = least.wrapping_sub(1);
            if strict && bottom & mask(width) == greatest & mask(width) {
                return None;
            }
            (moved, Interval::through(bottom.wrapping_add(step), greatest, width))
        }
        _ => return None,
    };
    let first = interval.first.wrapping_sub(moved as u64) & mask(width);
    Some(Interval { first, ..interval })
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;
    use crate::expr::{Evaluator, SymbolId};

    crate::unit_tests!(no_claim_is_wrong, low_bits_that_stay_carry_nothing);

    /// All claims of a small width under all facts of a form, against all values.
    fn no_claim_is_wrong() {
        const WIDTH: u8 = 4;
        let mut arena = Arena::new();
        let x = arena.symbol(SymbolId(0), WIDTH);
        let ops = [
            Comparison::SignedLess,
            Comparison::SignedLessEqual,
            Comparison::UnsignedLess,
            Comparison::UnsignedLessEqual,
            Comparison::Equal,
        ];
        let (mut proved, mut tried) = (0, 0);
        for offset in 0..16 {
            for bound in 0..16 {
                for (op, swapped) in ops.iter().flat_map(|&op| [(op, false), (op, true)]) {
                    let moved = arena.add_constant(x, offset);
                    let constant = arena.constant(bound, WIDTH);
                    let (low, high) = if swapped { (constant, moved) } else { (moved, constant) };
                    let mut fact = arena.compare(op, low, high);
                    if op == Comparison::Equal {
                        fact = arena.not(fact);
                    }
                    for ahead in -5i64..=5 {
                        for signed in [false, true] {
                            let there = arena.add_constant(x, ahead as u64);
                            let widen = |arena: &mut Arena, term| match signed {
                                true => arena.sign_extend(term, 8),
                                false => arena.zero_extend(term, 8),
                            };
                            let (a, b) = (widen(&mut arena, there), widen(&mut arena, x));
                            let (a, b) = (arena.scale(a, 3), arena.scale(b, 3));
                            let b = arena.add_constant(b, (3 * ahead) as u64);
                            tried += 1;
                            if !equal(&mut arena, (a, b), &[fact]) {
                                continue;
                            }
                            proved += 1;
                            for value in 0..16 {
                                let mut evaluator = Evaluator::new(&arena, |_, _| value);
                                let holds = evaluator.value(fact) == 1;
                                assert!(
                                    !holds || evaluator.value(a) == evaluator.value(b),
                                    "x = {value}, {ahead} ahead, fact {op:?} of x + {offset} and \
                                     {bound}, swapped {swapped}, signed {signed}"
                                );
                            }
                        }
                    }
                }
            }
        }
        assert!(proved > tried / 10, "only {proved} of {tried} claims are proved");
    }

    /// Sums whose low bits are known, against all values.
    fn low_bits_that_stay_carry_nothing() {
        const WIDTH: u8 = 4;
        let mut arena = Arena::new();
        let x = arena.symbol(SymbolId(0), WIDTH);
        let mut proved = 0;
        for (factor, offset, ahead) in [2, 4, 8]
            .into_iter()
            .flat_map(|f| (0..16).flat_map(move |o| (-9i64..=9).map(move |a| (f, o, a))))
        {
            let scaled = arena.scale(x, factor);
            let base = arena.add_constant(scaled, offset);
            let there = arena.add_constant(base, ahead as u64);
            for signed in [false, true] {
                let widen = |arena: &mut Arena, term| match signed {
                    true => arena.sign_extend(term, 8),
                    false => arena.zero_extend(term, 8),
                };
                let (a, b) = (widen(&mut arena, there), widen(&mut arena, base));
                let b = arena.add_constant(b, ahead as u64);
                if !equal(&mut arena, (a, b), &[]) {
                    continue;
                }
                proved += 1;
                for value in 0..16 {
                    let mut evaluator = Evaluator::new(&arena, |_, _| value);
                    assert_eq!(
                        evaluator.value(a),
                        evaluator.value(b),
                        "{factor} * {value} + {offset} + {ahead}"
                    );
                }
            }
        }
        assert!(proved > 200, "{proved}");
    }
}
