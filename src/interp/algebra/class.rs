//! Classes of logarithms.
//!
//! A logarithm is a residue modulo `Q` and a class modulo 8, since the powers of 2 are only an eighth of the residues modulo
//! `P`. A sum of logarithms times factors has the sum of their classes, which belong to their factors: a class modulo 8
//! for each factor. Of more than one factor a hash is kept that is additive: 21 numbers modulo 8 that are random by the factor,
//! times the class. A common factor of the sum is kept apart.

use super::element::mix;
use super::field::{Q, inverse_q, mul_q, sub};

/// A class and its factor, residues modulo `Q`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Class {
    /// A class other than 0, of one factor.
    One(u8, u64),
    /// The hash of classes of several factors, and a common factor.
    Several(u64, u64),
    /// A function of logarithms without known laws.
    Unknown,
}

/// The lowest two bits of each number of a hash.
const LOW: u64 = 0x36db_6db6_db6d_b6db;
/// The highest bit of each.
const HIGH: u64 = 0x4924_9249_2492_4924;

/// The sums of numbers modulo 8.
fn sum(a: u64, b: u64) -> u64 {
    ((a & LOW) + (b & LOW)) ^ ((a ^ b) & HIGH)
}

/// Numbers times a class.
fn times(hash: u64, class: u8) -> u64 {
    (0..class % 8).fold(0, |all, _| sum(all, hash))
}

/// The hash of a class of a factor: that of -c of -f is the same.
fn hashed(class: u8, factor: u64) -> u64 {
    let opposite = sub(0, factor, Q);
    let hash = mix(factor.min(opposite), 0x636c_6173) & (LOW | HIGH);
    times(hash, if opposite < factor { 8 - class % 8 } else { class })
}

impl Class {
    /// The class of a logarithm.
    pub(super) fn of(class: u8, factor: u64) -> Option<Class> {
        // The class c of a factor f is the class -c of -f.
        let opposite = sub(0, factor, Q);
        let (class, factor) =
            if opposite < factor { (8 - class % 8, opposite) } else { (class, factor) };
        (class % 8 != 0).then_some(Class::One(class % 8, factor))
    }

    fn several(hash: u64, factor: u64) -> Option<Class> {
        let opposite = sub(0, factor, Q);
        let (hash, factor) =
            if opposite < factor { (times(hash, 7), opposite) } else { (hash, factor) };
        (hash != 0).then_some(Class::Several(hash, factor))
    }

    /// The hash with a common factor.
    fn with(self, common: u64) -> Option<u64> {
        match self {
            Class::One(class, factor) => Some(hashed(class, mul_q(factor, inverse_q(common)?))),
            Class::Several(hash, factor) if factor == common => Some(hash),
            Class::Several(hash, factor) if factor == sub(0, common, Q) => Some(times(hash, 7)),
            _ => None,
        }
    }

    /// The class of a sum; `one` is 1 modulo `Q`.
    pub(super) fn sum(a: Option<Class>, b: Option<Class>, one: u64) -> Option<Class> {
        let (Some(a), Some(b)) = (a, b) else { return a.or(b) };
        let common = match (a, b) {
            (Class::One(a, factor), Class::One(b, same)) if factor == same => {
                return Class::of(a + b, factor);
            }
            (Class::Several(_, factor), _) | (_, Class::Several(_, factor)) => factor,
            _ => one,
        };
        match (a.with(common), b.with(common)) {
            (Some(a), Some(b)) => Class::several(sum(a, b), common),
            _ => Some(Class::Unknown),
        }
    }

    /// The class of a product with a factor without a class.
    pub(super) fn product(self, by: u64) -> Option<Class> {
        match self {
            Class::One(class, factor) => Class::of(class, mul_q(factor, by)),
            Class::Several(hash, factor) => Class::several(hash, mul_q(factor, by)),
            Class::Unknown => Some(self),
        }
    }
}

#[cfg(feature = "internals")]
mod tests {
    use super::super::field::enter;
    use super::*;

    crate::unit_tests!(sums_do_not_depend_on_the_order, factors_count);

    fn sums_do_not_depend_on_the_order() {
        let one = enter(1, Q);
        let factor = |value: u128| enter(value, Q);
        let classes = [(3, 5), (7, 9), (1, 5), (4, 77), (5, 9)];
        let add =
            |sum, &(class, of): &(u8, u128)| Class::sum(sum, Class::of(class, factor(of)), one);
        let forward = classes.iter().fold(None, add);
        assert_eq!(forward, classes.iter().rev().fold(None, add));
        assert!(matches!(forward, Some(Class::Several(..))));
        // The negative of each takes it away again.
        let minus = |value: u128| sub(0, factor(value), Q);
        let nothing = classes
            .iter()
            .fold(forward, |sum, &(class, of)| Class::sum(sum, Class::of(class, minus(of)), one));
        assert_eq!(nothing, None);
    }

    fn factors_count() {
        let one = enter(1, Q);
        let pair = |a: (u8, u128), b: (u8, u128)| {
            let [a, b] = [a, b].map(|(class, of)| Class::of(class, enter(of, Q)));
            Class::sum(a, b, one)
        };
        assert_ne!(pair((4, 3), (2, 5)), pair((2, 3), (4, 5)));
        assert_ne!(pair((4, 3), (2, 5)), pair((4, 3), (2, 7)));
        let scaled = |class: Option<Class>, by: u128| class.and_then(|it| it.product(enter(by, Q)));
        assert_ne!(scaled(pair((1, 3), (2, 5)), 2), pair((1, 3), (2, 5)));
        assert_eq!(scaled(pair((1, 3), (2, 5)), 1), pair((2, 5), (1, 3)));
    }
}
