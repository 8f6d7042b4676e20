//! The outcome of `ptxasw ab`, as data for programs and as a table for people.
//!
//! The field names are a contract with programs that read them; fields may be added, not renamed.

use std::fmt::{self, Write};

use serde::{Deserialize, Serialize};

use super::compare::Difference;
use super::device::{L2, Usage};
use super::stats::Interval;
use super::throttle::Throttling;
use super::verdict::Verdict;

/// Times of all variants of a kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// The device's name.
    pub device: String,
    /// The architecture that it executes, such as `sm_90`.
    pub architecture: String,
    /// The newest CUDA version that its driver supports, such as `13.0`.
    pub driver: String,
    /// The original's PTX file as the user named it.
    pub file: String,
    /// The launch file.
    pub launch: String,
    /// The kernel.
    pub kernel: String,
    /// Blocks in each dimension.
    #[serde(default)]
    pub grid: [u32; 3],
    /// Threads of a block in each dimension.
    #[serde(default)]
    pub block: [u32; 3],
    /// The state of the L2 cache before a launch.
    pub l2: L2,
    /// Launches in one sample; a time is that of one launch, on average over the sample.
    pub launches_per_sample: u32,
    /// The confidence of intervals.
    pub confidence: f64,
    /// The smallest difference that counts, as a part of 1.
    pub threshold: f64,
    /// The seed of the order of measurements and of the resampling.
    pub seed: u64,
    /// Whether the clocks held.
    pub throttling: Throttling,
    /// The original first.
    pub variants: Vec<Variant>,
    /// Notes for the reader.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Times of one variant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Variant {
    /// `original`, a mode, strategies, or the name of a file.
    pub name: String,
    /// The median time of a launch, in microseconds.
    pub median_us: f64,
    /// Samples that count.
    pub samples: usize,
    /// The resources of a multiprocessor that the variant takes.
    #[serde(flatten)]
    pub usage: Usage,
    /// The samples in the order of measurement.
    pub times_us: Vec<f64>,
    /// The comparison with the original; absent for the original itself.
    #[serde(flatten)]
    pub against: Option<Against>,
}

/// How a variant compares with the original.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Against {
    /// The original's median time over this variant's.
    pub speedup: f64,
    /// The interval of the speed-up; `null` where there are too few samples for one.
    pub interval: Option<Interval>,
    /// The verdict by the interval.
    pub verdict: Verdict,
    /// Whether all buffers were the same to the bit, after one launch from the same contents.
    pub identical_output: bool,
    /// Where they were not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub differences: Vec<Difference>,
}

/// Differences that the table shows of one variant.
const MAX_SHOWN: usize = 3;

impl fmt::Display for Measurement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Measurement { device, architecture, driver, kernel, .. } = self;
        writeln!(f, "{kernel} on {device} ({architecture}, CUDA {driver})")?;
        let names = self.variants.iter().map(|variant| variant.name.chars().count());
        let width = names.max().unwrap_or(0).max(12);
        writeln!(
            f,
            "{:<width$} {:>12} {:>8} {:>8} {:>17}  {:<9} {:>4} {:>6}  output",
            "variant", "median us", "samples", "speed-up", "interval", "verdict", "regs", "local B"
        )?;
        for variant in &self.variants {
            let mut line = format!(
                "{:<width$} {:>12.3} {:>8} ",
                variant.name, variant.median_us, variant.samples
            );
            let (registers, local) = (variant.usage.registers, variant.usage.local_bytes);
            match &variant.against {
                None => {
                    let _ =
                        write!(line, "{:>8} {:>17}  {:<9} {registers:>4} {local:>7}", "", "", "");
                }
                Some(against) => {
                    let interval = against.interval.map_or_else(
                        || "-".to_owned(),
                        |interval| format!("{:.4} .. {:.4}", interval.low, interval.high),
                    );
                    let output = if against.identical_output { "identical" } else { "DIFFERENT" };
                    let (speedup, verdict) = (against.speedup, against.verdict);
                    let _ = write!(
                        line,
                        "{speedup:>8.4} {interval:>17}  {verdict:<9} {registers:>4} {local:>7}  {output}"
                    );
                }
            }
            writeln!(f, "{}", line.trim_end())?;
            let differences = variant.against.iter().flat_map(|against| &against.differences);
            for difference in differences.take(MAX_SHOWN) {
                writeln!(f, "    {difference}")?;
            }
        }
        let flushed = match self.l2 {
            L2::Keep => "L2 kept",
            L2::Flush => "L2 flushed before each launch",
        };
        writeln!(
            f,
            "{} launch(es) in a sample, {flushed}; intervals of {:.0} % confidence; a difference below \
             {:.1} % counts as none",
            self.launches_per_sample,
            100.0 * self.confidence,
            100.0 * self.threshold
        )?;
        if self.throttling.seen {
            let left_out = match self.throttling.rounds_left_out {
                0 => String::new(),
                count => format!("; {count} rounds are left out"),
            };
            writeln!(f, "warning: the clocks did not hold: {}{left_out}", self.throttling.detail)?;
        }
        for note in &self.notes {
            writeln!(f, "note: {note}")?;
        }
        Ok(())
    }
}
