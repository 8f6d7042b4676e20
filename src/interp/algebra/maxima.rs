//! Maxima: the sets of their elements.
//!
//! A maximum is not that of a random order: one which leaves out one of n elements would be taken for the right one with the
//! probability (n - 1)/n. Two maxima are the same if they are of the same set. So a maximum is associative, commutative and
//! idempotent; the mean of the set is taken out of the hash, so that `max(x + c, y + c) = max(x, y) + c`. A maximum of two
//! elements is a choice by the sign of their difference ([`super::piecewise`]).

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::element::{Degree, Element};
use super::field::{P, Q, add};
use super::point::Point;

/// The sets of all maxima, by the maximum's residue modulo `P`.
#[derive(Debug, Default)]
pub(super) struct Sets {
    sets: FxHashMap<u64, Arc<Vec<Element>>>,
    pairs: FxHashMap<(u64, u64), Element>,
}

/// The size of a set up to which its mean is taken out.
const MAX_MEAN: usize = 1 << 10;

/// Names of hashes, apart from those of functions.
const MEMBER: u64 = 1 << 32;
const SET: u64 = MEMBER + 1;
const LARGE_SET: u64 = MEMBER + 2;

impl Sets {
    fn members(&self, a: Element) -> Arc<Vec<Element>> {
        self.sets.get(&a.p).cloned().unwrap_or_else(|| Arc::new(vec![a]))
    }

    /// The maximum of two elements.
    pub(super) fn larger(&mut self, point: &mut Point, a: Element, b: Element) -> Element {
        if a.p == b.p {
            return a;
        }
        let key = (a.p.min(b.p), a.p.max(b.p));
        if let Some(&known) = self.pairs.get(&key) {
            return known;
        }
        let others = self.members(b);
        let others = if planted!(Bug::MaximumForgets) {
            &others[..others.len().div_ceil(2)]
        } else {
            &others
        };
        let union = without_smaller(point, union(&self.members(a), others));
        let is_new = [a, b].iter().any(|element| !self.sets.contains_key(&element.p));
        if union.len() > 2
            && is_new
            && let Some(larger) = point.larger_in_all_cells(a, b)
        {
            self.pairs.insert(key, larger);
            return larger;
        }
        let hashed = |point: &Point, sum: Element, element: Element| {
            let hash = point.random(&[MEMBER, element.p]);
            Element { p: add(sum.p, hash.p, P), q: add(sum.q, hash.q, Q), degree: sum.degree }
        };
        let mut hash = Element::default();
        let result = if let [only] = union[..] {
            self.pairs.insert(key, only);
            return only;
        } else if let [one, other] = union[..] {
            // That of a number and its negative has the number's sign.
            let is_magnitude = add(one.p, other.p, P) == 0;
            let difference = if is_magnitude { one } else { point.sub(one, other) };
            point.by_sign(difference, one, other)
        } else if union.len() <= MAX_MEAN {
            let mut sum = Element::default();
            for &element in &union {
                sum = point.plain_add(sum, element);
            }
            let share = point.fraction(1, union.len() as i128);
            let mean = point.plain_mul(sum, share);
            for &element in &union {
                let deviation = point.plain_sub(element, mean);
                hash = hashed(point, hash, deviation);
            }
            let atom = point.random(&[SET, hash.p, hash.q]);
            point.plain_add(mean, atom)
        } else {
            for &element in &union {
                hash = hashed(point, hash, element);
            }
            point.random(&[LARGE_SET, hash.p, hash.q])
        };
        if union.iter().all(|element| element.p != result.p) {
            self.sets.insert(result.p, Arc::new(union));
        }
        self.pairs.insert(key, result);
        result
    }
}

/// A set without the constants that are smaller than another one.
fn without_smaller(point: &Point, mut set: Vec<Element>) -> Vec<Element> {
    let value = |element: &Element| match element.degree == Degree::ZERO {
        true => point.as_fraction(*element),
        false => None,
    };
    let mut largest: Option<(i128, i128)> = None;
    for (n, d) in set.iter().filter_map(value) {
        if largest.is_none_or(|(m, e)| n * e > m * d) {
            largest = Some((n, d));
        }
    }
    set.retain(|element| value(element).is_none_or(|value| Some(value) == largest));
    set
}

/// The union of sets that are in the order of residues modulo `P`.
fn union(a: &[Element], b: &[Element]) -> Vec<Element> {
    let mut union = Vec::with_capacity(a.len() + b.len());
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    while let (Some(one), Some(other)) = (a.peek(), b.peek()) {
        let (first, second) = (one.p <= other.p, other.p <= one.p);
        union.push(if first { **one } else { **other });
        if first {
            a.next();
        }
        if second {
            b.next();
        }
    }
    union.extend(a);
    union.extend(b);
    union
}
