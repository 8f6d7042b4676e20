//! From a measurement of strategies to the entry of a profile: which one builds shall use.
//!
//! Pure functions of their arguments.

use super::measurement::{Measurement, Variant};
use super::verdict::Verdict;
use crate::profile::{Entry, Timing};
use crate::select::Strategies;

/// A strategy and its result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tried {
    /// The strategy; [`Strategies::NONE`] for the original.
    pub strategies: Strategies,
    /// How it is called.
    pub name: String,
    /// The one before it that made the same text, if one did.
    pub same_as: Option<String>,
}

/// The entry of a kernel whose text has a hash.
pub fn entry(measured: &Measurement, tried: &[Tried], hash: String) -> Entry {
    let of = |name: &str| measured.variants.iter().find(|variant| variant.name == name);
    let variants = tried.iter().filter_map(|one| {
        let timed = one.same_as.as_deref().unwrap_or(&one.name);
        Some(timing(of(timed)?, one))
    });
    Entry {
        name: measured.kernel.clone(),
        hash,
        architecture: measured.architecture.clone(),
        driver: measured.driver.clone(),
        device: measured.device.clone(),
        strategy: fastest(measured, tried),
        file: measured.file.clone(),
        launch: measured.launch.clone(),
        variants: variants.collect(),
    }
}

/// The strategy with the greatest speed-up among those that are faster; of equals the first. None where no
/// one is, beyond the noise.
pub fn fastest(measured: &Measurement, tried: &[Tried]) -> Strategies {
    let speedup = |one: &Tried| {
        let variant = measured.variants.iter().find(|variant| variant.name == one.name)?;
        let against = variant.against.as_ref()?;
        (against.verdict == Verdict::Faster).then_some(against.speedup)
    };
    let mut best: Option<(f64, Strategies)> = None;
    for one in tried.iter().filter(|one| one.same_as.is_none()) {
        if let Some(speedup) = speedup(one)
            && best.is_none_or(|(most, _)| speedup > most)
        {
            best = Some((speedup, one.strategies));
        }
    }
    best.map_or(Strategies::NONE, |(_, strategies)| strategies)
}

fn timing(variant: &Variant, tried: &Tried) -> Timing {
    let against = variant.against.as_ref();
    Timing {
        strategy: tried.name.clone(),
        median_us: variant.median_us,
        speedup: against.map_or(1.0, |against| against.speedup),
        interval: against.and_then(|against| against.interval).map(Into::into),
        verdict: against.map_or("original".to_owned(), |against| against.verdict.to_string()),
        identical_output: against.is_none_or(|against| against.identical_output),
        same_as: tried.same_as.clone(),
    }
}
