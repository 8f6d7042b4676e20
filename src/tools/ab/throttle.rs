//! Whether the device's clocks held during a measurement.
//!
//! In: the clocks after each round by the device's management library, where there is one,
//! and the original's own times in the order of measurement. Out: [`Throttling`], and the rounds
//! that count.

use serde::{Deserialize, Serialize};

use super::stats::{FEWEST, median, quantile};

/// One reading of the clocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clock {
    /// The clock of the multiprocessors, in MHz.
    pub mhz: u32,
    /// Why the device holds the clock down (heat, power), if it does.
    pub slowed: Option<String>,
}

/// Where knowledge of the clocks comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// NVIDIA's management library.
    Nvml,
    /// The original's own times: whether they drift.
    Times,
}

/// How the clocks behaved during a measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Throttling {
    /// Where the judgement comes from.
    pub source: Source,
    /// Whether the clocks changed during the measurement.
    pub seen: bool,
    /// In words; empty where nothing was seen.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// Rounds left out of the result.
    pub rounds_left_out: usize,
    /// The median clock, in MHz, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_mhz: Option<u32>,
}

/// A clock below this part of the median clock counts as slow.
const SLOW_CLOCK: f64 = 0.95;

/// A drift of times by less than this part counts as none.
const DRIFT: f64 = 0.02;

/// Judges a measurement. `clocks` has an entry for each round, or is empty; `times` are the
/// original's. The second result are the rounds that count: the slow ones are left out while at
/// least half of all, and no fewer than [`FEWEST`], remain.
pub fn judge(clocks: &[Clock], times: &[f64]) -> (Throttling, Vec<usize>) {
    if clocks.is_empty() || clocks.len() != times.len() {
        let detail = drift(times);
        let seen = detail.is_some();
        let throttling = Throttling {
            source: Source::Times,
            seen,
            detail: detail.unwrap_or_default(),
            rounds_left_out: 0,
            clock_mhz: None,
        };
        return (throttling, (0..times.len()).collect());
    }
    let mhz: Vec<f64> = clocks.iter().map(|clock| f64::from(clock.mhz)).collect();
    let usual = median(&mhz).unwrap_or_default();
    let is_slow =
        |clock: &Clock| clock.slowed.is_some() || f64::from(clock.mhz) < SLOW_CLOCK * usual;
    let all = clocks.len();
    let good: Vec<usize> = (0..all).filter(|&round| !is_slow(&clocks[round])).collect();
    let slow = all - good.len();
    let lowest = clocks.iter().map(|clock| clock.mhz).min().unwrap_or_default();
    let mut detail = String::new();
    if slow > 0 {
        detail = format!("{slow} of {all} rounds at clocks down to {lowest} MHz (median {usual})");
        let mut reasons: Vec<&str> =
            clocks.iter().filter_map(|clock| clock.slowed.as_deref()).collect();
        reasons.sort_unstable();
        reasons.dedup();
        if !reasons.is_empty() {
            detail += &format!(": {}", reasons.join(", "));
        }
    }
    let leave_out = good.len() >= FEWEST && 2 * good.len() >= all;
    let throttling = Throttling {
        source: Source::Nvml,
        seen: slow > 0,
        detail,
        rounds_left_out: if leave_out { slow } else { 0 },
        clock_mhz: Some(usual as u32),
    };
    (throttling, if leave_out { good } else { (0..all).collect() })
}

/// Whether times drift: the last third of them lies apart from the first, by more than they scatter.
fn drift(times: &[f64]) -> Option<String> {
    let third = times.len() / 3;
    if third < FEWEST {
        return None;
    }
    let (first, last) = (&times[..third], &times[times.len() - third..]);
    let apart = |low: &[f64], high: &[f64]| quantile(low, 0.75) < quantile(high, 0.25);
    let change = median(last)? / median(first)? - 1.0;
    (change.abs() > DRIFT && (apart(first, last) || apart(last, first))).then(|| {
        format!("the original's own times changed by {:+.1} % from start to end", 100.0 * change)
    })
}
