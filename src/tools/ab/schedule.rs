//! The order of measurements.
//!
//! A round measures every variant once. The order moves on by one place from round to round, so that over a full
//! rotation each variant is measured at each place, and the effects of the first place in a round (the pause before it,
//! the clocks) favour none.

use fastrand::Rng;

/// Launches of one sample, at most.
const MOST_LAUNCHES: u32 = 100_000;

/// The order in which a round measures the variants, as their indices. The seed chooses the order of
/// round 0.
pub fn order(round: usize, variants: usize, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..variants).collect();
    Rng::with_seed(seed).shuffle(&mut order);
    if variants > 0 {
        order.rotate_left(round % variants);
    }
    order
}

/// How often to launch the kernel in a row, so that one sample takes at least `sample_us`
/// microseconds where one launch takes `launch_us`.
pub fn launches(launch_us: f64, sample_us: f64) -> u32 {
    let wanted = sample_us / launch_us;
    if wanted.is_nan() { 1 } else { wanted.ceil().clamp(1.0, f64::from(MOST_LAUNCHES)) as u32 }
}
