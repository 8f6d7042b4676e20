//! How variants are timed: the options that `ab` and `tune` share.

use clap::Args;

use super::values::Words;

use crate::ab::device::L2;
use crate::ab::experiment::Settings;

/// How variants are timed, and on which GPU.
#[derive(Debug, Args)]
pub(super) struct Timing {
    /// Rounds; each variant is measured once in a round
    #[arg(long, value_name = "N", default_value_t = Settings::default().samples)]
    pub samples: usize,
    /// How long a sample takes at least, by launching the kernel often enough
    #[arg(long, value_name = "MICROSECONDS", default_value_t = Settings::default().sample_us, value_parser = not_negative)]
    pub min_time: f64,
    /// Launches in a sample, instead of --min-time
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub scale: Option<u32>,
    /// How long to run before anything counts
    #[arg(long, value_name = "MILLISECONDS", default_value_t = Settings::default().warm_up_us / 1000.0, value_parser = not_negative)]
    pub warm_up: f64,
    /// What a launch finds in the L2 cache: what the launch before left there, or nothing of it
    #[arg(long, value_parser = L2::parser(), default_value = "keep")]
    pub l2: L2,
    /// The smallest difference that counts
    #[arg(long, value_name = "PERCENT", default_value_t = 100.0 * Settings::default().threshold, value_parser = not_negative)]
    pub threshold: f64,
    /// The seed of the order of measurements and of the intervals
    #[arg(long, value_name = "N", default_value_t = Settings::default().seed)]
    pub seed: u64,
    /// Which GPU
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub device: u32,
}

impl Timing {
    /// As the measurement takes them.
    pub(super) fn settings(&self) -> Settings {
        Settings {
            samples: self.samples,
            sample_us: self.min_time,
            scale: self.scale,
            warm_up_us: 1000.0 * self.warm_up,
            seed: self.seed,
            l2: self.l2,
            threshold: self.threshold / 100.0,
            ..Settings::default()
        }
    }
}

fn not_negative(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(number) if (0.0..=1e12).contains(&number) => Ok(number),
        _ => Err("a number that is not negative is expected".to_owned()),
    }
}

/// Does a measurement of `rounds` rounds with a bar, which is drawn on a terminal only.
pub(super) fn with_bar<T>(
    rounds: usize,
    work: impl FnOnce(&mut dyn FnMut(usize, usize)) -> T,
) -> T {
    let bar = indicatif::ProgressBar::new(rounds as u64);
    let result = work(&mut |done, _| bar.set_position(done as u64));
    bar.finish_and_clear();
    result
}
