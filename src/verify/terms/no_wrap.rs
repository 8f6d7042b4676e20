//! Equality under the assumption that no sum, difference or product of 32 bits wraps around where it is widened to 64.
//! Only the user makes it (`verify --assume-no-wrap`).
//!
//! In: terms. Out: terms that are spread: each widened sum is the sum of its widened addends, with constants and factors
//! read as signed, and each widened product the product of its widened factors.

use super::wrap::widened;
use crate::expr::{Arena, Node, TermId, to_signed};

/// The depth of extensions within extensions that is followed.
const MAX_DEPTH: u32 = 8;

/// Whether two terms are equal where nothing that is widened wraps around. False means nothing.
pub(crate) fn are_equal(arena: &mut Arena, (a, b): (TermId, TermId)) -> bool {
    let (a, b) = (spread(arena, a), spread(arena, b));
    a == b
}

/// A term with each widened sum as the sum of its widened addends.
pub(crate) fn spread(arena: &mut Arena, term: TermId) -> TermId {
    spread_at(arena, term, 0)
}

/// The same, `depth` extensions below the term that was asked about.
fn spread_at(arena: &mut Arena, term: TermId, depth: u32) -> TermId {
    let width = arena.width(term);
    let (constant, addends) = arena.linear_parts(term);
    if depth > MAX_DEPTH || addends.is_empty() {
        return term;
    }
    let mut sum = arena.constant(constant, width);
    for (addend, factor) in addends {
        arena.charge(1);
        let addend = match widened(arena, addend) {
            Some((inner, signed)) => wide(arena, inner, (signed, width), depth + 1),
            None => addend,
        };
        let scaled = arena.scale(addend, factor);
        sum = arena.add(sum, scaled);
    }
    sum
}

/// A term that is widened to `width` bits, by its sign if `signed`.
fn wide(arena: &mut Arena, inner: TermId, (signed, width): (bool, u8), depth: u32) -> TermId {
    let narrow = arena.width(inner);
    let (constant, addends) = arena.linear_parts(inner);
    let signed_wide = |value: u64| to_signed(value, narrow) as u64;
    let mut sum = arena.constant(signed_wide(constant), width);
    for (addend, factor) in addends {
        arena.charge(1);
        let factors = match arena.node(addend) {
            Node::Product(factors) => factors.clone(),
            _ => Box::from([(addend, 1)]),
        };
        let mut product = arena.constant(1, width);
        for &(factor, exponent) in &factors {
            let extended = match signed {
                true => arena.sign_extend(factor, width),
                false => arena.zero_extend(factor, width),
            };
            let extended = match widened(arena, extended) {
                Some((deeper, _)) if deeper != factor => spread_at(arena, extended, depth + 1),
                _ => extended,
            };
            for _ in 0..exponent {
                product = arena.mul(product, extended);
            }
        }
        let scaled = arena.scale(product, signed_wide(factor));
        sum = arena.add(sum, scaled);
    }
    sum
}
