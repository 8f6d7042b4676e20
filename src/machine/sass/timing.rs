//! How long results take, how many lanes the units of a multiprocessor serve, and how many bytes it gets, from a data
//! file.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::Deserialize;
use strum::{EnumIter, EnumString, IntoStaticStr};

use super::opcodes::{Latency, Pipe};

const TEXT: &str = include_str!("data/timing.toml");

/// Lanes of a warp.
const WARP: f64 = 32.0;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    generation: Vec<Generation>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Generation {
    architecture: u32,
    waiting: Number,
    fetched_lines: Number,
    latency: BTreeMap<String, Number>,
    lanes: BTreeMap<String, Number>,
    bytes: BTreeMap<String, Number>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Number {
    value: f64,
    source: String,
}

impl Number {
    fn checked(&self, name: &str) -> Result<f64, String> {
        if self.source.trim().is_empty() || self.value <= 0.0 {
            return Err(format!("`{name}` has no source, or is not positive"));
        }
        Ok(self.value)
    }
}

/// Where bytes come from.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, EnumIter, EnumString, IntoStaticStr,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Level {
    /// The second-level cache.
    L2,
    /// Global memory.
    Memory,
}

/// The latencies and throughputs of an architecture.
#[derive(Clone, PartialEq, Debug)]
pub struct Timing {
    /// The share of its cycles, with all warps resident that fit, up to which a version is to come that gains by waiting less
    /// alone: other warps use the time that one waits.
    pub waiting: f64,
    /// Lines of 128 bytes that the first-level cache looks up in a cycle for a load whose bytes are missing, or still on
    /// their way.
    pub fetched_lines: f64,
    latencies: BTreeMap<Latency, f64>,
    lanes: BTreeMap<Pipe, f64>,
    bytes: BTreeMap<Level, f64>,
}

impl Timing {
    /// Those of the newest generation in the file that is not newer than `architecture`, 80 for `sm_80`; `None` if there
    /// is none.
    pub fn of(architecture: u32) -> Option<&'static Timing> {
        static ALL: OnceLock<Vec<(u32, Timing)>> = OnceLock::new();
        // (A test reads the file.)
        let all = ALL.get_or_init(|| read(TEXT).unwrap_or_default());
        let fits = |(first, _): &&(u32, Timing)| *first <= architecture;
        all.iter().rev().find(fits).map(|(_, timing)| timing)
    }

    /// Cycles from the issue of an instruction until a scoreboard tells of its result.
    pub fn latency(&self, of: Latency) -> u32 {
        self.latencies.get(&of).map_or(0, |cycles| *cycles as u32)
    }

    /// Cycles that an instruction of a warp keeps a unit of the multiprocessor busy; `None` if that is not known.
    pub fn busy(&self, pipe: Pipe) -> Option<f64> {
        Some(WARP / *self.lanes.get(&pipe)?)
    }

    /// Bytes that a multiprocessor gets in a cycle, if all of them do; `None` if that is not known.
    pub fn bytes(&self, from: Level) -> Option<f64> {
        self.bytes.get(&from).copied()
    }
}

fn read(text: &str) -> Result<Vec<(u32, Timing)>, String> {
    let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
    let generation = |generation: Generation| {
        let Generation { architecture, waiting, fetched_lines, latency, lanes, bytes } = generation;
        let timing = Timing {
            waiting: waiting.checked("waiting")?,
            fetched_lines: fetched_lines.checked("fetched_lines")?,
            latencies: numbers(latency)?,
            lanes: numbers(lanes)?,
            bytes: numbers(bytes)?,
        };
        Ok((architecture, timing))
    };
    file.generation.into_iter().map(generation).collect()
}

fn numbers<K: std::str::FromStr + Ord>(
    table: BTreeMap<String, Number>,
) -> Result<BTreeMap<K, f64>, String> {
    let number = |(name, number): (String, Number)| {
        let key = name.parse().map_err(|_| format!("`{name}` is not known"))?;
        Ok((key, number.checked(&name)?))
    };
    table.into_iter().map(number).collect()
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;
    use strum::IntoEnumIterator;

    crate::unit_tests!(every_generation_has_all_numbers);

    fn every_generation_has_all_numbers() {
        let all = read(TEXT).unwrap();
        assert!(all.is_sorted_by_key(|(first, _)| *first));
        for (first, timing) in all {
            for latency in Latency::iter() {
                assert!(timing.latency(latency) > 0, "{first}: {latency:?}");
            }
            for pipe in [Pipe::Alu, Pipe::Fma, Pipe::Fp64, Pipe::Xu, Pipe::Lsu] {
                assert!(timing.busy(pipe).is_some(), "{first}: {pipe:?}");
            }
            for level in Level::iter() {
                assert!(timing.bytes(level).is_some(), "{first}: {level:?}");
            }
        }
        assert!(Timing::of(70).is_some() && Timing::of(60).is_none());
    }
}
