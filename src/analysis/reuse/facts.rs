//! A small, fast prover for wrap-around: the bounds of a sum by the path condition.
//!
//! An obligation fails for a few values of the base only (as many as lanes or elements lie
//! between), so each of those is tried against every comparison on the path.

use super::distance::{Extension, Obligation};
use crate::expr::{Arena, Comparison, Facts, TermId, mask, to_signed};

/// Obligations over wider windows than this are left to run-time guards and the solver.
const MAX_WINDOW: i64 = 4096;

/// Whether the facts, or the bounds of the base, exclude every value for which the obligation fails.
pub(super) fn imply(facts: &Facts, arena: &mut Arena, obligation: &Obligation) -> bool {
    let width = arena.width(obligation.base);
    let window = obligation.high - obligation.low;
    if window > MAX_WINDOW || width < 16 {
        return false;
    }
    let end = match obligation.extension {
        Extension::Sign => 1u64 << (width - 1),
        Extension::Zero => 0,
    };
    (1..=window).all(|below| {
        let at = end.wrapping_sub(below as u64).wrapping_sub(obligation.low as u64);
        exclude(facts, arena, obligation.base, at & mask(width))
    })
}

/// Whether the facts exclude that `base` is `value`.
fn exclude(facts: &Facts, arena: &mut Arena, base: TermId, value: u64) -> bool {
    let width = arena.width(base);
    let range = arena.range(base);
    let signed = to_signed(value, width);
    if value < range.umin || value > range.umax || signed < range.smin || signed > range.smax {
        return true;
    }
    arena.charge(facts.comparisons().len() as u64);
    facts.comparisons().iter().any(|&(op, a, b, holds)| {
        if arena.width(a) != width {
            return false;
        }
        let left = arena.constant_difference(a, base);
        let right = arena.constant_difference(b, base);
        let at = |offset: i64| value.wrapping_add(offset as u64) & mask(width);
        match (left, right) {
            (Some(x), Some(y)) => op.holds(at(x), at(y), width) != holds,
            (Some(x), None) => !possible_left(arena, op, at(x), b, holds),
            (None, Some(y)) => !possible_right(arena, op, a, at(y), holds),
            (None, None) => false,
        }
    })
}

/// Whether `value op other` can come out as `holds` for some value of `other` within its bounds.
fn possible_left(arena: &Arena, op: Comparison, value: u64, other: TermId, holds: bool) -> bool {
    let width = arena.width(other);
    let range = arena.range(other);
    let signed = to_signed(value, width);
    match (op, holds) {
        (Comparison::Equal, true) => {
            (range.umin..=range.umax).contains(&value)
                && (range.smin..=range.smax).contains(&signed)
        }
        (Comparison::Equal, false) => !(range.umin == range.umax && range.umin == value),
        (Comparison::UnsignedLess, true) => value < range.umax,
        (Comparison::UnsignedLess, false) => value >= range.umin,
        (Comparison::UnsignedLessEqual, true) => value <= range.umax,
        (Comparison::UnsignedLessEqual, false) => value > range.umin,
        (Comparison::SignedLess, true) => signed < range.smax,
        (Comparison::SignedLess, false) => signed >= range.smin,
        (Comparison::SignedLessEqual, true) => signed <= range.smax,
        (Comparison::SignedLessEqual, false) => signed > range.smin,
    }
}

/// Whether `other op value` can come out as `holds`.
fn possible_right(arena: &Arena, op: Comparison, other: TermId, value: u64, holds: bool) -> bool {
    // a < b is not (b <= a).
    let (mirrored, holds) = match op {
        Comparison::Equal => (op, holds),
        Comparison::UnsignedLess => (Comparison::UnsignedLessEqual, !holds),
        Comparison::UnsignedLessEqual => (Comparison::UnsignedLess, !holds),
        Comparison::SignedLess => (Comparison::SignedLessEqual, !holds),
        Comparison::SignedLessEqual => (Comparison::SignedLess, !holds),
    };
    possible_left(arena, mirrored, value, other, holds)
}
