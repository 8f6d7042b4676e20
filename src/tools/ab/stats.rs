//! From times to numbers: medians, and how sure one can be of a ratio of medians.
//!
//! Everything here is a function of its arguments, random choices included: they come from a seed.

use fastrand::Rng;
use serde::{Deserialize, Serialize};

/// Samples of each variant below which no interval is given: resampling so few says nothing.
pub const FEWEST: usize = 5;

/// Resamples that an interval is read off.
const RESAMPLES: usize = 2000;

/// The bounds of a ratio. In JSON it is `[low, high]`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "[f64; 2]", into = "[f64; 2]")]
pub struct Interval {
    /// The lower bound.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
}

impl From<[f64; 2]> for Interval {
    fn from([low, high]: [f64; 2]) -> Interval {
        Interval { low, high }
    }
}

impl From<Interval> for [f64; 2] {
    fn from(interval: Interval) -> [f64; 2] {
        [interval.low, interval.high]
    }
}

/// The value that half of all values lie below; for an even number of values, the mean of the middle
/// two. `None` if there are no values.
pub fn median(values: &[f64]) -> Option<f64> {
    median_in_place(&mut values.to_vec())
}

/// [`median`] that leaves the values in another order.
fn median_in_place(values: &mut [f64]) -> Option<f64> {
    let (half, is_even) = (values.len() / 2, values.len().is_multiple_of(2));
    if values.is_empty() {
        return None;
    }
    let (below, &mut upper, _) = values.select_nth_unstable_by(half, f64::total_cmp);
    if is_even {
        let lower = below.iter().copied().max_by(f64::total_cmp)?;
        return Some((lower + upper) / 2.0);
    }
    Some(upper)
}

/// The value below which this part (0 to 1) of all values lie, by linear interpolation between
/// neighbours. `None` if there are no values.
pub fn quantile(values: &[f64], part: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let place = part.clamp(0.0, 1.0) * sorted.len().checked_sub(1)? as f64;
    let (below, above) = (place.floor() as usize, place.ceil() as usize);
    Some(sorted[below] + (sorted[above] - sorted[below]) * place.fract())
}

/// The interval that holds `median(numerator) / median(denominator)` with this confidence (0 to 1),
/// by a percentile bootstrap.
///
/// The two slices are rounds in which both were measured one after the other. Whole rounds are
/// drawn, so that what slows a round down as a whole does not widen the interval. `None` where the
/// slices differ in length, or hold fewer than [`FEWEST`] rounds or a time that is not positive.
pub fn ratio_interval(
    numerator: &[f64],
    denominator: &[f64],
    confidence: f64,
    seed: u64,
) -> Option<Interval> {
    let rounds = numerator.len();
    let positive = |times: &[f64]| times.iter().all(|&time| time > 0.0 && time.is_finite());
    if rounds != denominator.len()
        || rounds < FEWEST
        || !positive(numerator)
        || !positive(denominator)
    {
        return None;
    }
    let mut rng = Rng::with_seed(seed);
    let (mut above, mut below) = (vec![0.0; rounds], vec![0.0; rounds]);
    let mut ratios = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        for (above, below) in above.iter_mut().zip(&mut below) {
            let round = rng.usize(..rounds);
            (*above, *below) = (numerator[round], denominator[round]);
        }
        ratios.push(median_in_place(&mut above)? / median_in_place(&mut below)?);
    }
    let tail = (1.0 - confidence.clamp(0.0, 1.0)) / 2.0;
    Some(Interval { low: quantile(&ratios, tail)?, high: quantile(&ratios, 1.0 - tail)? })
}
