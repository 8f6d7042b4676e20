//! The options of `ptxasw ab`.

use std::path::PathBuf;

use clap::Args;

use super::args::Format;
use crate::ab::device::L2;
use crate::ab::experiment::Settings;
use crate::pipeline::Options;
use crate::rewrite::{Mode, StrategyName};
use crate::select::{self, Selection};

/// `ab`
#[derive(Debug, Args)]
pub struct Ab {
    /// The original PTX file
    pub original: PathBuf,
    /// The launch: grid, block, buffers and arguments, as JSON
    #[arg(long, value_name = "L.json")]
    pub launch: PathBuf,
    /// The kernel, instead of the launch file's
    #[arg(long)]
    pub kernel: Option<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// The versions to compare; the original is always one of them [default: original,full, or
    /// original alone with --against]
    #[arg(long, value_enum, value_delimiter = ',', value_name = "MODE,...")]
    pub variants: Option<Vec<Mode>>,
    /// Another PTX file with the same kernel; may be given several times
    #[arg(long, value_name = "OTHER.ptx")]
    pub against: Vec<PathBuf>,
    /// Compare the GPU's buffers with the interpreter's instead of timing; exit status 1: different
    #[arg(long)]
    pub check: bool,
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
    #[arg(long, value_enum, default_value_t)]
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
    /// Largest |delta|
    #[arg(long, value_name = "N", default_value_t = 31, value_parser = clap::value_parser!(u32).range(0..=31))]
    pub max_delta: u32,
    /// How sources are chosen
    #[arg(long, value_enum, default_value_t)]
    pub select: Selection,
    /// Which code stands for a decision
    #[arg(long, value_enum, default_value_t)]
    pub strategy: StrategyName,
}

impl Ab {
    /// How to measure.
    pub fn settings(&self) -> Settings {
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

    /// How versions are made.
    pub fn options(&self) -> Options {
        Options {
            strategy: self.strategy,
            select: select::Options {
                max_delta: self.max_delta,
                selection: self.select,
                ..select::Options::default()
            },
            ..Options::default()
        }
    }

    /// The versions to compare.
    pub fn modes(&self) -> Vec<Mode> {
        match &self.variants {
            Some(modes) => modes.clone(),
            None if self.against.is_empty() => vec![Mode::Original, Mode::Full],
            None => vec![Mode::Original],
        }
    }
}

fn not_negative(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(number) if (0.0..=1e12).contains(&number) => Ok(number),
        _ => Err("a number that is not negative is expected".to_owned()),
    }
}
