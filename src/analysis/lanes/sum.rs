//! The value of a term in the 32 lanes of a warp: a sum of uniform factors, each times an integer per lane.

use std::rc::Rc;

use smallvec::SmallVec;

use super::shape::LANES;
use crate::expr::TermId;

/// The most summands; a sum of more is not followed.
const MAX_PARTS: usize = 12;

/// The most terms in one product.
const MAX_FACTORS: usize = 8;

/// A product of uniform terms in ascending order; 1 if empty.
pub type Factor = SmallVec<[TermId; 2]>;

/// An integer for each lane.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Coefficients {
    /// One for all lanes.
    Same(i64),
    /// One per lane.
    Lanes(Rc<[i64; LANES]>),
}

impl Coefficients {
    /// One per lane; `Same` where they are equal.
    pub(crate) fn of(lanes: [i64; LANES]) -> Coefficients {
        match lanes.iter().all(|&one| one == lanes[0]) {
            true => Coefficients::Same(lanes[0]),
            false => Coefficients::Lanes(Rc::new(lanes)),
        }
    }

    /// All of them.
    pub(crate) fn lanes(&self) -> [i64; LANES] {
        match self {
            Coefficients::Same(one) => [*one; LANES],
            Coefficients::Lanes(lanes) => **lanes,
        }
    }

    /// Whether all lanes have the same.
    pub(crate) fn is_same(&self) -> bool {
        matches!(self, Coefficients::Same(_))
    }

    /// How many low bits are zero in all of them.
    pub(crate) fn zeros(&self) -> u32 {
        match self {
            Coefficients::Same(one) => one.trailing_zeros(),
            Coefficients::Lanes(lanes) => {
                lanes.iter().fold(0, |all, one| all | one).trailing_zeros()
            }
        }
    }

    fn combine(&self, other: &Coefficients, with: impl Fn(i64, i64) -> i64) -> Coefficients {
        if let (Coefficients::Same(a), Coefficients::Same(b)) = (self, other) {
            return Coefficients::Same(with(*a, *b));
        }
        let (a, b) = (self.lanes(), other.lanes());
        Coefficients::of(std::array::from_fn(|lane| with(a[lane], b[lane])))
    }
}

/// `Σ factor * coefficient` in each lane. No part has only zeros.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct LaneSum {
    parts: SmallVec<[(Factor, Coefficients); 2]>,
}

impl LaneSum {
    /// A number.
    pub(crate) fn constant(value: i64) -> LaneSum {
        LaneSum::scaled(Factor::new(), Coefficients::Same(value))
    }

    /// A number per lane.
    pub(crate) fn numbers(lanes: [i64; LANES]) -> LaneSum {
        LaneSum::scaled(Factor::new(), Coefficients::of(lanes))
    }

    /// A uniform term.
    pub(crate) fn uniform(term: TermId) -> LaneSum {
        LaneSum::scaled(Factor::from_slice(&[term]), Coefficients::Same(1))
    }

    /// A factor times an integer per lane.
    pub(crate) fn scaled(factor: Factor, coefficients: Coefficients) -> LaneSum {
        let mut sum = LaneSum::default();
        sum.add_part(factor, coefficients);
        sum
    }

    /// The summands.
    pub(crate) fn parts(&self) -> &[(Factor, Coefficients)] {
        &self.parts
    }

    /// Whether all lanes have the same value.
    pub(crate) fn is_uniform(&self) -> bool {
        self.parts.iter().all(|(_, coefficients)| coefficients.is_same())
    }

    /// Whether lanes differ by numbers alone: each symbolic factor is as often in all of them.
    pub(crate) fn differs_by_numbers(&self) -> bool {
        self.parts.iter().all(|(factor, lanes)| factor.is_empty() || lanes.is_same())
    }

    /// The value in each lane if it depends on nothing else.
    pub(crate) fn known(&self) -> Option<[i64; LANES]> {
        match &self.parts[..] {
            [] => Some([0; LANES]),
            [(factor, coefficients)] if factor.is_empty() => Some(coefficients.lanes()),
            _ => None,
        }
    }

    /// The constant part: the numbers without symbolic factors.
    pub(crate) fn numbers_only(&self) -> [i64; LANES] {
        let found = self.parts.iter().find(|(factor, _)| factor.is_empty());
        found.map_or([0; LANES], |(_, coefficients)| coefficients.lanes())
    }

    /// Whether numbers lie so far apart that the sum wraps around in some lane whatever the rest of it is.
    pub(crate) fn spans_too_far(&self, width: u8) -> bool {
        let is_far = |coefficients: &Coefficients| {
            let lanes = coefficients.lanes();
            let (low, high) = (lanes.iter().min(), lanes.iter().max());
            let span = high.zip(low).map_or(0, |(high, low)| i128::from(*high) - i128::from(*low));
            span >= 1 << (u32::from(width) - 1)
        };
        self.parts.iter().any(|(_, coefficients)| is_far(coefficients))
    }

    fn add_part(&mut self, factor: Factor, coefficients: Coefficients) {
        match self.parts.iter_mut().find(|(known, _)| *known == factor) {
            Some((_, known)) => *known = known.combine(&coefficients, i64::wrapping_add),
            None => self.parts.push((factor, coefficients)),
        }
        self.parts.retain(|(_, coefficients)| *coefficients != Coefficients::Same(0));
    }

    /// Adds another sum, times an integer; false if there are too many summands.
    #[must_use]
    pub(crate) fn add(&mut self, other: &LaneSum, times: i64) -> bool {
        for (factor, coefficients) in &other.parts {
            let scaled = coefficients.combine(&Coefficients::Same(times), i64::wrapping_mul);
            self.add_part(factor.clone(), scaled);
        }
        self.parts.len() <= MAX_PARTS
    }

    /// The product; `None` if it has too many summands or factors.
    pub(crate) fn times(&self, other: &LaneSum) -> Option<LaneSum> {
        let mut product = LaneSum::default();
        for (factor, coefficients) in &self.parts {
            for (more, by) in &other.parts {
                let mut factors: Factor = factor.iter().chain(more).copied().collect();
                factors.sort_unstable();
                if factors.len() > MAX_FACTORS {
                    return None;
                }
                product.add_part(factors, coefficients.combine(by, i64::wrapping_mul));
            }
        }
        (product.parts.len() <= MAX_PARTS).then_some(product)
    }

    /// In each lane of the mask the value of `self`, in the others that of `other`.
    pub(crate) fn select(&self, other: &LaneSum, chosen: &[bool; LANES]) -> Option<LaneSum> {
        let mask = |wanted: bool| {
            let lanes = chosen.map(|chosen| i64::from(chosen == wanted));
            LaneSum::numbers(lanes)
        };
        let mut sum = self.times(&mask(true))?;
        sum.add(&other.times(&mask(false))?, 1).then_some(sum)
    }

    /// The parts that differ between lanes, each less its value in lane 0; and the value of lane 0.
    pub(crate) fn split(&self) -> (LaneSum, LaneSum) {
        let (mut varying, mut first) = (LaneSum::default(), LaneSum::default());
        for (factor, coefficients) in &self.parts {
            let lanes = coefficients.lanes();
            first.add_part(factor.clone(), Coefficients::Same(lanes[0]));
            let rest = lanes.map(|one| one.wrapping_sub(lanes[0]));
            varying.add_part(factor.clone(), Coefficients::of(rest));
        }
        (varying, first)
    }
}
