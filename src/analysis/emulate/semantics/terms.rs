//! Terms that several families of instructions are made of.

use crate::expr::{Arena, Comparison, TermId, mask};

/// Extends by sign or zeros, as a type says.
pub(super) fn extend(arena: &mut Arena, term: TermId, width: u8, signed: bool) -> TermId {
    if signed { arena.sign_extend(term, width) } else { arena.zero_extend(term, width) }
}

pub(super) fn less(signed: bool) -> Comparison {
    if signed { Comparison::SignedLess } else { Comparison::UnsignedLess }
}

pub(super) fn less_equal(signed: bool) -> Comparison {
    if signed { Comparison::SignedLessEqual } else { Comparison::UnsignedLessEqual }
}

/// The absolute value of a signed number; the least number stays unchanged.
pub(super) fn absolute(arena: &mut Arena, a: TermId) -> TermId {
    let width = arena.width(a);
    let zero = arena.constant(0, width);
    let negative = arena.compare(Comparison::SignedLess, a, zero);
    let negated = arena.neg(a);
    arena.if_then_else(negative, negated, a)
}

/// The greater (or lesser) of two values.
pub(super) fn choose(
    arena: &mut Arena,
    greater: bool,
    a: TermId,
    b: TermId,
    signed: bool,
) -> TermId {
    let a_first = arena.compare(less(signed), a, b);
    if greater { arena.if_then_else(a_first, b, a) } else { arena.if_then_else(a_first, a, b) }
}

/// `.relu`: negative values become zero.
pub(super) fn at_least_zero(arena: &mut Arena, a: TermId) -> TermId {
    let zero = arena.constant(0, arena.width(a));
    choose(arena, true, a, zero, true)
}

/// Clamps a value read as signed.
pub(super) fn clamp_signed(arena: &mut Arena, term: TermId, low: i64, high: i64) -> TermId {
    let width = arena.width(term);
    let low = arena.constant(low as u64, width);
    let high = arena.constant(high as u64, width);
    let below = arena.compare(Comparison::SignedLess, term, low);
    let above = arena.compare(Comparison::SignedLess, high, term);
    let capped = arena.if_then_else(above, high, term);
    arena.if_then_else(below, low, capped)
}

/// Clamps a 64-bit signed value to the range of `bits`-bit numbers, `bits` at most 32.
pub(super) fn clamp_to(arena: &mut Arena, term: TermId, bits: u8, signed: bool) -> TermId {
    let top = mask(bits) as i64;
    let (low, high) = if signed { (-(top >> 1) - 1, top >> 1) } else { (0, top) };
    clamp_signed(arena, term, low, high)
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;

    crate::unit_tests!(clamping_keeps_what_fits, signs_decide_what_is_greater);

    /// The value of a function at a constant, as a signed number of 64 bits.
    fn of(number: i64, function: impl Fn(&mut Arena, TermId) -> TermId) -> i64 {
        let mut arena = Arena::new();
        let term = arena.constant(number as u64, 64);
        let result = function(&mut arena, term);
        arena.constant_value(result).expect("a constant") as i64
    }

    fn clamping_keeps_what_fits() {
        for (number, bits, signed, clamped) in [
            (300, 8, false, 255),
            (-1, 8, false, 0),
            (200, 8, true, 127),
            (-129, 8, true, -128),
            (-128, 8, true, -128),
            (1 << 40, 32, false, 0xffff_ffff),
            (-(1 << 40), 32, true, i64::from(i32::MIN)),
        ] {
            assert_eq!(of(number, |arena, term| clamp_to(arena, term, bits, signed)), clamped);
        }
    }

    fn signs_decide_what_is_greater() {
        let greater = |signed| {
            of(-1, |arena, term| {
                let one = arena.constant(1, 64);
                choose(arena, true, term, one, signed)
            })
        };
        assert_eq!((greater(true), greater(false)), (1, -1));
        assert_eq!([-5, 5, i64::MIN].map(|n| of(n, absolute)), [5, 5, i64::MIN]);
        assert_eq!([-5, 5].map(|n| of(n, at_least_zero)), [0, 5]);
    }
}
