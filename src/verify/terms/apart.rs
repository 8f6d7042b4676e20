//! Accesses that have no byte in common, by the intervals that facts leave their distance, without a solver.
//!
//! A distance is a sum modulo 2^w. What widens a narrower number is read as that number, in every case of sums in it that
//! may wrap around; facts exclude values of the whole sum or of the numbers that its addends widen.

use super::wrap::{Interval, Pair, paired, possible_by, stays_in_range, widened};
use crate::expr::{Arena, Comparison, Node, TermId, mask, to_signed};

/// Whether two accesses have no byte in common, by the intervals that facts leave their distance: the
/// first is `first` bytes long, and `ahead` bytes ahead of the second. False means nothing.
pub(crate) fn disjoint(
    arena: &mut Arena,
    ahead: TermId,
    (first, second): (u32, u32),
    known: &[TermId],
) -> bool {
    let width = arena.width(ahead);
    // The distances at which they overlap, counted modulo 2^w.
    let overlap = |first: u32, second: u32| {
        let (first, second) = (u64::from(first), u64::from(second));
        Interval { first: 1u64.wrapping_sub(first) & mask(width), more: first + second - 2 }
    };
    let ahead_of = overlap(first, second);
    if let Some(ahead) = arena.constant_value(ahead) {
        return Interval::through(ahead, ahead, width).avoids(ahead_of, width);
    }
    // The test may be about the distance the other way round.
    let avoids = |arena: &mut Arena, ahead: TermId| {
        let behind = arena.neg(ahead);
        [(ahead, ahead_of), (behind, overlap(second, first))].into_iter().any(
            |(distance, overlap)| {
                let mut facts = known.iter().map(|&fact| possible_by(arena, fact, distance));
                facts.any(|possible| possible.is_some_and(|it| it.avoids(overlap, width)))
            },
        )
    };
    if avoids(arena, ahead) {
        return true;
    }
    let shorter = shortened(arena, ahead, known);
    if shorter != ahead && avoids(arena, shorter) {
        return true;
    }
    sums_of_cases(arena, shorter, known).into_iter().all(|sum| {
        avoids(arena, sum)
            || hull(arena, sum, known).is_some_and(|hull| hull.avoids(ahead_of, width))
    })
}

/// A sum less differences that facts say are 0, where fewer addends are left so.
fn shortened(arena: &mut Arena, mut sum: TermId, known: &[TermId]) -> TermId {
    for &fact in known {
        let Node::Compare(Comparison::Equal, x, y) = *arena.node(fact) else { continue };
        if arena.width(x) != arena.width(sum) {
            continue;
        }
        for (x, y) in [(x, y), (y, x)] {
            let nothing = arena.sub(x, y);
            let other = arena.add(sum, nothing);
            if arena.linear_parts(other).1.len() < arena.linear_parts(sum).1.len() {
                sum = other;
            }
        }
    }
    sum
}

/// The most pairs that are looked at in both cases, wrapped around or not: each doubles the cases.
const MAX_WRAPPING: usize = 2;

/// A sum in each case: `ext(x + k) - ext(x)` is `k`, or else less by 2^w (more, if `k` is negative) since
/// `x + k` wraps around.
fn sums_of_cases(arena: &mut Arena, sum: TermId, known: &[TermId]) -> Vec<TermId> {
    let width = arena.width(sum);
    let (constant, addends) = arena.linear_parts(sum);
    let (pairs, mut rest) = paired(arena, &addends);
    let mut constants = vec![constant];
    for Pair { terms: [one, other], factor, base, ahead, signed } in pairs {
        let stays = stays_in_range(arena, base, ahead, signed, known);
        if !stays && constants.len() >> MAX_WRAPPING > 0 {
            rest.extend([(one, factor), (other, factor.wrapping_neg() & mask(width))]);
            continue;
        }
        let round = (mask(arena.width(base)) as i64).wrapping_add(1).wrapping_mul(ahead.signum());
        let steps = [Some(ahead), (!stays).then(|| ahead.wrapping_sub(round))];
        constants = (constants.into_iter())
            .flat_map(|sum| {
                let by = move |step: i64| sum.wrapping_add(factor.wrapping_mul(step as u64));
                steps.into_iter().flatten().map(by)
            })
            .collect();
    }
    let mut with =
        |constant| arena.sum(width, constant & mask(width), rest.iter().copied().collect());
    constants.into_iter().map(&mut with).collect()
}

/// The values that a sum may have by the ranges of its addends and by facts about the numbers that they widen; none if
/// that may be any value.
fn hull(arena: &mut Arena, sum: TermId, known: &[TermId]) -> Option<Interval> {
    let width = arena.width(sum);
    let (constant, addends) = arena.linear_parts(sum);
    let mut low = i128::from(to_signed(constant, width));
    let mut high = low;
    for (term, factor) in addends {
        let (first, last) = bounds(arena, term, known);
        let factor = i128::from(to_signed(factor, width));
        let ends = [factor * first, factor * last];
        low += ends[0].min(ends[1]);
        high += ends[0].max(ends[1]);
        if high - low > i128::from(mask(width)) {
            return None;
        }
    }
    Some(Interval::through(low as u64, high as u64, width))
}

/// The least and the greatest number that an addend stands for: the number that it widens, read as it is widened, in
/// the interval that each fact leaves it.
fn bounds(arena: &mut Arena, term: TermId, known: &[TermId]) -> (i128, i128) {
    let (base, signed) = widened(arena, term).unwrap_or((term, false));
    let width = arena.width(base);
    let number = |value: u64| match signed {
        true => i128::from(to_signed(value & mask(width), width)),
        false => i128::from(value & mask(width)),
    };
    let range = arena.range(base);
    let (mut first, mut last) = match signed {
        true => (i128::from(range.smin), i128::from(range.smax)),
        false => (i128::from(range.umin), i128::from(range.umax)),
    };
    for &fact in known {
        let Some(possible) = possible_by(arena, fact, base) else { continue };
        let (from, to) =
            (number(possible.first), number(possible.first.wrapping_add(possible.more)));
        // An interval that passes the end of the numbers begins above where it ends.
        if from <= to {
            (first, last) = (first.max(from), last.min(to));
        }
    }
    (first, last)
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;
    use crate::expr::{Evaluator, SymbolId};

    crate::unit_tests!(
        no_two_accesses_are_wrongly_apart,
        no_two_accesses_at_widened_distances_are_wrongly_apart
    );

    /// Two accesses of a few bytes in a memory of sixteen, under all facts of a form.
    fn no_two_accesses_are_wrongly_apart() {
        const WIDTH: u8 = 4;
        let mut arena = Arena::new();
        let x = arena.symbol(SymbolId(0), WIDTH);
        let behind = arena.neg(x);
        let mut proved = 0;
        let cases = (0..16u64).flat_map(|offset| (0..16u64).map(move |bound| (offset, bound)));
        for (distance, (offset, bound)) in cases.flat_map(|case| [(x, case), (behind, case)]) {
            let moved = arena.add_constant(distance, offset);
            let constant = arena.constant(bound, WIDTH);
            for (low, high) in [(constant, moved), (moved, constant)] {
                let fact = arena.compare(Comparison::UnsignedLessEqual, low, high);
                for (first, second) in [(1, 1), (1, 3), (2, 1), (4, 2), (3, 4)] {
                    if !disjoint(&mut arena, x, (first, second), &[fact]) {
                        continue;
                    }
                    proved += 1;
                    for ahead in 0..16 {
                        let holds = Evaluator::new(&arena, |_, _| ahead).value(fact) == 1;
                        let bytes = |from: u64, size: u32| {
                            (0..u64::from(size)).map(move |byte| (from + byte) % 16)
                        };
                        let shared = bytes(ahead, first)
                            .any(|byte| bytes(0, second).any(|other| other == byte));
                        assert!(!holds || !shared, "{first} bytes {ahead} ahead of {second}");
                    }
                }
            }
        }
        assert!(proved > 800, "only {proved} are proved");
    }

    /// Two accesses whose distance is a sum of widened numbers, for all values of these.
    fn no_two_accesses_at_widened_distances_are_wrongly_apart() {
        const WIDTH: u8 = 6;
        let mut arena = Arena::new();
        let (x, y) = (arena.symbol(SymbolId(0), 3), arena.symbol(SymbolId(1), 3));
        let mut proved = [0; 3];
        for (step, factor, constant) in (-4i64..4)
            .flat_map(|step| (1..5u64).flat_map(move |f| (0..8u64).map(move |c| (step, f, c * 7))))
        {
            for signed in [false, true] {
                let widen = |arena: &mut Arena, term| match signed {
                    true => arena.sign_extend(term, WIDTH),
                    false => arena.zero_extend(term, WIDTH),
                };
                let next = arena.add_constant(x, step as u64 & 7);
                let [next, now, other] = [next, x, y].map(|term| widen(&mut arena, term));
                let ahead = arena.sub(next, now);
                let other = arena.scale(other, factor);
                let ahead = arena.add(ahead, other);
                let ahead = arena.add_constant(ahead, constant);
                let (one, two) = (arena.constant(1, 3), arena.constant(2, 3));
                let facts = [
                    arena.compare(Comparison::SignedLess, one, y),
                    arena.compare(Comparison::UnsignedLessEqual, y, two),
                    {
                        let moved = arena.add_constant(now, step as u64 & mask(WIDTH));
                        arena.equal(next, moved)
                    },
                ];
                for (which, fact) in facts.into_iter().enumerate() {
                    for (first, second) in [(1u32, 1u32), (2, 1), (1, 4), (4, 4)] {
                        if !disjoint(&mut arena, ahead, (first, second), &[fact]) {
                            continue;
                        }
                        proved[which] += 1;
                        for values in 0..64 {
                            let value = |symbol: SymbolId, _: u8| values >> (3 * symbol.0) & 7;
                            let mut evaluator = Evaluator::new(&arena, value);
                            let (holds, ahead) =
                                (evaluator.value(fact) == 1, evaluator.value(ahead));
                            let meet = (ahead + u64::from(first) - 1) & mask(WIDTH)
                                < u64::from(first + second - 1);
                            assert!(!holds || !meet, "{first} bytes {ahead} ahead of {second}");
                        }
                    }
                }
            }
        }
        assert!(proved.into_iter().all(|proved| proved > 100), "{proved:?}");
    }
}
