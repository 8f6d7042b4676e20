//! The conditions that were met, and the elements that depend on them, as [`super::piecewise`] describes them.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::element::Element;
use super::field::{P, inverse_p, mul_p};
use super::lattice::Line;

/// The most elements whose cells are known, in each of two generations.
const MAX_KNOWN: usize = 1 << 16;
/// The most factors of a difference that are tried.
const MAX_FACTORS: usize = 256;
/// The most powers of 2 whose exponents are known.
pub(super) const MAX_POWERS: usize = 1 << 20;

/// A condition.
#[derive(Clone, Copy, Debug)]
pub(super) struct Condition {
    /// It holds where this is positive; none: a predicate of another kind.
    pub difference: Option<Element>,
    /// Whether it also holds where the difference is 0; none while only choices use it that are continuous there.
    pub closed: Option<bool>,
    /// The value of its variable at the random point.
    pub value: Element,
}

/// An element by cells.
#[derive(Debug)]
pub(super) struct Cells {
    /// The numbers of its conditions, in ascending order.
    pub conditions: Vec<u32>,
    /// A bit for each condition that holds, and the element where exactly these hold.
    pub cells: Vec<(u32, Element)>,
}

/// The conditions that were met, and the elements that depend on them.
#[derive(Debug, Default)]
pub(super) struct Conditions {
    /// All conditions.
    pub all: Vec<Condition>,
    /// Their numbers, by a name of the difference or of the predicate.
    pub names: FxHashMap<u64, u32>,
    /// How the difference of one condition is computed from that of another one.
    pub lines: FxHashMap<(u32, u32), Option<Line>>,
    /// The cells of elements, in two generations.
    pub recent: FxHashMap<u64, Arc<Cells>>,
    older: FxHashMap<u64, Arc<Cells>>,
    /// Positive constants, by which differences are divided to find them again.
    pub factors: Vec<u64>,
    /// The exponents of powers of 2.
    pub exponents: FxHashMap<u64, Element>,
    /// Elements with the sign of another one, or, if `false`, of its negative.
    pub signs: FxHashMap<u64, (Element, bool)>,
}

impl Conditions {
    /// None.
    pub(super) fn new() -> Conditions {
        Conditions { factors: small_factors(), ..Conditions::default() }
    }

    /// The cells of an element.
    pub(super) fn cells(&self, a: Element) -> Option<Arc<Cells>> {
        if self.recent.is_empty() {
            return None;
        }
        self.recent.get(&a.p).or_else(|| self.older.get(&a.p)).cloned()
    }

    /// Whether the cells of an element are known.
    pub(super) fn has_cells(&self, a: Element) -> bool {
        !self.recent.is_empty() && (self.recent.contains_key(&a.p) || self.older.contains_key(&a.p))
    }

    /// Notes the cells of an element.
    pub(super) fn insert(&mut self, a: Element, cells: Cells) {
        if self.recent.len() >= MAX_KNOWN {
            self.older = std::mem::take(&mut self.recent);
        }
        self.recent.insert(a.p, Arc::new(cells));
    }

    /// Notes a positive constant.
    pub(super) fn factor(&mut self, constant: Element) {
        if let Some(inverse) = inverse_p(constant.p)
            && self.factors.len() < MAX_FACTORS
        {
            self.factors.extend([constant.p, inverse]);
        }
    }

    /// Notes that an element is 2 to the power of another one.
    pub(super) fn exponent(&mut self, power: Element, exponent: Element) {
        if self.exponents.len() < MAX_POWERS {
            self.exponents.insert(power.p, exponent);
        }
    }
}

/// Small fractions modulo `P`.
fn small_factors() -> Vec<u64> {
    let integer = |value: u64| super::field::enter(value.into(), P);
    let small = [1, 2, 3, 4, 5, 6, 8, 10];
    let pairs = small.into_iter().flat_map(|n| small.into_iter().map(move |d| (n, d)));
    let pairs = pairs.filter(|&(n, d)| n != d);
    let factors = pairs.filter_map(|(n, d)| Some(mul_p(integer(n), inverse_p(integer(d))?)));
    let mut factors: Vec<u64> = factors.collect();
    factors.sort_unstable();
    factors.dedup();
    factors
}
