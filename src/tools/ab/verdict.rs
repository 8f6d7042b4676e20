//! From an interval to a verdict: faster, slower, the same, or none of these for certain.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::stats::Interval;

/// How a variant compares with the original.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The whole interval lies above the threshold.
    Faster,
    /// The whole interval lies below the threshold's reciprocal.
    Slower,
    /// The whole interval lies between the threshold and its reciprocal.
    Same,
    /// None of these, or nothing comparable was computed.
    Ambiguous,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Verdict::Faster => "faster",
            Verdict::Slower => "slower",
            Verdict::Same => "same",
            Verdict::Ambiguous => "ambiguous",
        })
    }
}

/// Decides by the interval of the speed-up (time of the original over time of the variant).
/// `threshold` is the smallest difference that counts, as a part of 1. A variant whose output is not
/// the original's is never faster: it does not do the same work.
pub fn decide(interval: Option<Interval>, threshold: f64, identical_output: bool) -> Verdict {
    let Some(Interval { low, high }) = interval else { return Verdict::Ambiguous };
    let (least, most) = (1.0 / (1.0 + threshold), 1.0 + threshold);
    if low > most {
        if identical_output { Verdict::Faster } else { Verdict::Ambiguous }
    } else if high < least {
        Verdict::Slower
    } else if low >= least && high <= most {
        Verdict::Same
    } else {
        Verdict::Ambiguous
    }
}
