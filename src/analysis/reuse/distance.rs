//! Candidate distances: addresses up to 32-bit wrap-around.
//!
//! `base + 4*sext(i + 1)` and `base + 4*sext(i) + 4` are the same address unless `i + 1` wraps
//! around. Taking constants out of extended sums gives a *base address* by which loads are grouped; a
//! distance found from base addresses is only a guess and is proved afterwards.

use smallvec::SmallVec;

use crate::expr::{Arena, Node, TermId, to_signed};

/// An address without constants, and the constant that it would have without wrap-around.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BaseAddress {
    /// The address with all constants taken out.
    pub key: TermId,
    /// The sum of the constants taken out, in bytes.
    pub constant: i64,
}

/// Takes the constants out of an address, once for each.
pub fn base_address(arena: &mut Arena, address: TermId) -> BaseAddress {
    if let Some((key, constant)) = arena.split_known(address) {
        return BaseAddress { key, constant };
    }
    let width = arena.width(address);
    let (constant, addends) = arena.linear_parts(address);
    let mut total = constant;
    let mut key = arena.constant(0, width);
    for (term, coefficient) in addends {
        let (bare, constant) = strip(arena, term);
        total = total.wrapping_add(coefficient.wrapping_mul(constant as u64));
        let scaled = arena.scale(bare, coefficient);
        key = arena.add(key, scaled);
    }
    // Rebuilding an extension may produce a constant.
    let left = arena.constant_part(key);
    let key = arena.add_constant(key, left.wrapping_neg());
    let base_address = BaseAddress { key, constant: to_signed(total.wrapping_add(left), width) };
    arena.remember_split(address, (base_address.key, base_address.constant));
    base_address
}

/// An extended sum without its constant, and the constant.
fn strip(arena: &mut Arena, term: TermId) -> (TermId, i64) {
    let width = arena.width(term);
    let Some((extension, inner)) = Extension::of(arena, term) else { return (term, 0) };
    let constant = to_signed(arena.constant_part(inner), arena.width(inner));
    if constant == 0 {
        return (term, 0);
    }
    let bare = arena.add_constant(inner, (constant as u64).wrapping_neg());
    let bare = match extension {
        Extension::Sign => arena.sign_extend(bare, width),
        Extension::Zero => arena.zero_extend(bare, width),
    };
    (bare, constant)
}

/// How a narrower value was extended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub(super) enum Extension {
    /// It was extended by copies of its sign bit: it wraps at half the range.
    Sign,
    /// It was extended by zeros: it wraps at the end of the range.
    Zero,
}

impl Extension {
    /// The extension at the top of a term, and the term that is extended.
    pub(super) fn of(arena: &Arena, term: TermId) -> Option<(Extension, TermId)> {
        match *arena.node(term) {
            Node::SignExtend(inner) => Some((Extension::Sign, inner)),
            Node::ZeroExtend(inner) => Some((Extension::Zero, inner)),
            _ => None,
        }
    }
}

/// The condition that `b + low ..= b + high` does not wrap around, for the given reading of the sum.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Obligation {
    pub extension: Extension,
    /// The sum without constant.
    pub base: TermId,
    pub low: i64,
    pub high: i64,
}

/// The conditions under which two addresses are equal; `None` if they are not equal even without
/// wrap-around. An empty list is a proof.
pub(super) fn equal_without_wrap(
    arena: &mut Arena,
    a: TermId,
    b: TermId,
) -> Option<SmallVec<[Obligation; 2]>> {
    let width = arena.width(a);
    if width != arena.width(b) {
        return None;
    }
    let difference = arena.sub(a, b);
    let (constant, addends) = arena.linear_parts(difference);
    let mut total = constant;
    let mut groups: SmallVec<[(Obligation, u64); 2]> = SmallVec::new();
    for (term, coefficient) in addends {
        let (extension, inner) = Extension::of(arena, term)?;
        let offset = to_signed(arena.constant_part(inner), arena.width(inner));
        let base = arena.add_constant(inner, (offset as u64).wrapping_neg());
        total = total.wrapping_add(coefficient.wrapping_mul(offset as u64));
        let known = groups.iter_mut().find(|(g, _)| g.base == base && g.extension == extension);
        match known {
            Some((group, sum)) => {
                group.low = group.low.min(offset);
                group.high = group.high.max(offset);
                *sum = sum.wrapping_add(coefficient);
            }
            None => {
                let group = Obligation { extension, base, low: offset, high: offset };
                groups.push((group, coefficient));
            }
        }
    }
    let balanced = groups.iter().all(|(_, sum)| sum & crate::expr::mask(width) == 0);
    let zero = total & crate::expr::mask(width) == 0;
    (balanced && zero).then(|| groups.into_iter().map(|(group, _)| group).collect())
}

/// Of more extended sums it is not tried whether each wraps around or not.
const MAX_EXTENDED: usize = 4;

/// All values that a difference of two addresses can have, if it would be a constant without
/// wrap-around: `4*zext(i + 16) - 4*zext(i)` is 64, or 64 less 4 times 2^32.
pub(super) fn possible_values(arena: &mut Arena, difference: TermId) -> Option<Vec<u64>> {
    let (width, (constant, addends)) = (arena.width(difference), arena.linear_parts(difference));
    if addends.len() > MAX_EXTENDED {
        return None;
    }
    let mut values = vec![constant];
    let mut bases: SmallVec<[((Extension, TermId), u64); 2]> = SmallVec::new();
    for (term, coefficient) in addends {
        let (extension, inner) = Extension::of(arena, term)?;
        let size = arena.width(inner);
        let offset = to_signed(arena.constant_part(inner), size);
        let base = arena.add_constant(inner, (offset as u64).wrapping_neg());
        match bases.iter_mut().find(|(known, _)| *known == (extension, base)) {
            Some((_, sum)) => *sum = sum.wrapping_add(coefficient),
            None => bases.push(((extension, base), coefficient)),
        }
        // The extension of `base + offset` is the extension of the base plus the offset, minus 2^size
        // if the sum wraps around.
        let turn = 1u64.checked_shl(u32::from(size)).unwrap_or(0);
        let wrapped = match offset.signum() {
            1 => Some((offset as u64).wrapping_sub(turn)),
            -1 => Some((offset as u64).wrapping_add(turn)),
            _ => None,
        };
        let shifts: SmallVec<[u64; 2]> = wrapped.into_iter().chain([offset as u64]).collect();
        values = values
            .into_iter()
            .flat_map(|value| {
                shifts.iter().map(move |by| value.wrapping_add(coefficient.wrapping_mul(*by)))
            })
            .collect();
    }
    let mask = crate::expr::mask(width);
    let balanced = bases.iter().all(|(_, sum)| sum & mask == 0);
    balanced.then(|| values.into_iter().map(|value| value & mask).collect())
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;
    use crate::expr::{Evaluator, SymbolId};

    crate::unit_tests!(differences_of_extended_sums_are_among_the_possible_ones);

    fn differences_of_extended_sums_are_among_the_possible_ones() {
        let mut arena = Arena::new();
        let (i, p) = (arena.symbol(SymbolId(0), 8), arena.symbol(SymbolId(1), 64));
        for extended in [Arena::zero_extend, Arena::sign_extend] {
            let address = |arena: &mut Arena, offset: u64| {
                let index = arena.add_constant(i, offset);
                let index = extended(arena, index, 64);
                let bytes = arena.scale(index, 4);
                arena.add(p, bytes)
            };
            let (a, b) = (address(&mut arena, 16), address(&mut arena, 253));
            let difference = arena.sub(a, b);
            let possible = possible_values(&mut arena, difference).unwrap_or_default();
            let mut seen: Vec<u64> = (0..256)
                .map(|value| Evaluator::new(&arena, |_, _| value).value(difference))
                .collect();
            seen.sort_unstable();
            seen.dedup();
            assert!(seen.len() > 1 && seen.iter().all(|value| possible.contains(value)));
        }
        let other = arena.symbol(SymbolId(2), 8);
        let (one, two) = (arena.zero_extend(i, 64), arena.zero_extend(other, 64));
        let unknown = arena.sub(one, two);
        assert_eq!(possible_values(&mut arena, unknown), None);
    }
}
