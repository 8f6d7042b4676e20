//! The numbers of an architecture, as they stand in a data file.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;

/// The data files that come with the program, by compute capability, the oldest first.
const FILES: [(u32, &str); 12] = [
    (35, include_str!("data/sm_35.toml")),
    (50, include_str!("data/sm_50.toml")),
    (60, include_str!("data/sm_60.toml")),
    (61, include_str!("data/sm_61.toml")),
    (70, include_str!("data/sm_70.toml")),
    (75, include_str!("data/sm_75.toml")),
    (80, include_str!("data/sm_80.toml")),
    (86, include_str!("data/sm_86.toml")),
    (89, include_str!("data/sm_89.toml")),
    (90, include_str!("data/sm_90.toml")),
    (100, include_str!("data/sm_100.toml")),
    (120, include_str!("data/sm_120.toml")),
];

/// A data file as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    architecture: u32,
    numbers: BTreeMap<String, Number>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Number {
    value: f64,
    source: String,
}

/// The numbers of one architecture: the cost of each operation.
#[derive(Clone, Debug, PartialEq)]
pub struct Costs {
    /// Compute capability, ten times the major number plus the minor one: 80 for `sm_80`.
    pub architecture: u32,
    /// Threads whose 32-bit words one pass of a load through the first-level cache serves.
    pub threads_in_pass: f64,
    /// Lines of 128 bytes that the cache looks up in a cycle.
    pub lines_in_cycle: f64,
    /// 1 where plain loads of global memory are kept in the first-level cache, 0 where they are not.
    pub loads_in_l1: f64,
    /// Cycles of the load/store pipe that a warp-wide 32-bit shuffle takes.
    pub shuffle_cycles: f64,
    /// 1 where a shuffle may stand for a load that hits the first-level cache, 0 where that was seen to
    /// cost more whatever the number of requests says.
    pub shuffles_beside_l1: f64,
    /// Cycles that a warp takes longer for multiversioned code, beyond the instructions of its test: the code behind
    /// the branch waits for the test.
    pub version_cycles: f64,
    /// Warp instructions that are issued in a cycle.
    pub instructions_in_cycle: f64,
    /// Cycles that `redux.sync` takes for a warp.
    pub redux_cycles: f64,
    /// Cycles that a vote takes for a warp.
    pub vote_cycles: f64,
    /// Cycles that `popc` takes for a warp.
    pub popc_cycles: f64,
    /// Bytes that arrive from the second-level cache in a cycle, all SMs taking part.
    pub l2_bytes_in_cycle: f64,
}

/// Why a data file cannot be used: one line that names the mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing(String);

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Missing {}

impl Costs {
    /// The costs of the newest known architecture that is not newer than `architecture`; of the oldest
    /// known one if all are newer.
    pub fn of(architecture: u32) -> Costs {
        let known = FILES.iter().rev().find(|(number, _)| *number <= architecture);
        let (number, text) = known.unwrap_or(&FILES[0]);
        match Costs::read(text, &format!("sm_{number}.toml")) {
            Ok(costs) => Costs { architecture, ..costs },
            // (A test reads all of them.)
            Err(missing) => {
                log::error!("{missing}");
                Costs::unknown(architecture)
            }
        }
    }

    /// Takes a data file from its text; `name` is how it is called in a message.
    ///
    /// # Errors The text is not such a file, or one of its numbers is missing, unknown, without a source, or too small.
    pub fn read(text: &str, name: &str) -> Result<Costs, Missing> {
        Costs::read_with(text, name, None)
    }

    /// The same for a file of the user, in which numbers that came later may be missing: those of the file's architecture
    /// are taken.
    ///
    /// # Errors
    /// As [`Costs::read`].
    pub fn read_of_user(text: &str, name: &str) -> Result<Costs, Missing> {
        let architecture = toml::from_str::<File>(text).map_or(0, |file| file.architecture);
        Costs::read_with(text, name, Some(&Costs::of(architecture)))
    }

    fn read_with(text: &str, name: &str, known: Option<&Costs>) -> Result<Costs, Missing> {
        let file: File = toml::from_str(text).map_err(|error| {
            let line = error.span().map_or(1, |span| 1 + text[..span.start].matches('\n').count());
            let said = error.message().lines().next().unwrap_or_default().to_owned();
            Missing(format!("{name}:{line}: {said}"))
        })?;
        let mut numbers = file.numbers;
        if let Some(known) = known {
            let later = [
                ("redux_cycles", known.redux_cycles),
                ("vote_cycles", known.vote_cycles),
                ("popc_cycles", known.popc_cycles),
            ];
            for (key, value) in later {
                let source = format!("sm_{}", known.architecture);
                numbers.entry(key.to_owned()).or_insert(Number { value, source });
            }
        }
        let mut take = |key: &str, least: f64| -> Result<f64, Missing> {
            let wrong = |what: &str| Err(Missing(format!("{name}: the number `{key}` {what}")));
            match numbers.remove(key) {
                None => wrong("is missing"),
                Some(Number { source, .. }) if source.trim().is_empty() => wrong("has no source"),
                Some(Number { value, .. }) if !(value.is_finite() && value >= least) => {
                    wrong(&format!("must be {least} or more"))
                }
                Some(Number { value, .. }) => Ok(value),
            }
        };
        let costs = Costs {
            architecture: file.architecture,
            threads_in_pass: take("threads_in_pass", 1.0)?,
            lines_in_cycle: take("lines_in_cycle", 0.1)?,
            loads_in_l1: take("loads_in_l1", 0.0)?,
            shuffle_cycles: take("shuffle_cycles", 0.0)?,
            shuffles_beside_l1: take("shuffles_beside_l1", 0.0)?,
            version_cycles: take("version_cycles", 0.0)?,
            instructions_in_cycle: take("instructions_in_cycle", 0.1)?,
            redux_cycles: take("redux_cycles", 0.0)?,
            vote_cycles: take("vote_cycles", 0.0)?,
            popc_cycles: take("popc_cycles", 0.0)?,
            l2_bytes_in_cycle: take("l2_bytes_in_cycle", 0.1)?,
        };
        match numbers.keys().next() {
            Some(key) => {
                Err(Missing(format!("{name}: the number `{key}` is not known; remove it")))
            }
            None => Ok(costs),
        }
    }

    /// Numbers by which no replacement pays.
    fn unknown(architecture: u32) -> Costs {
        Costs {
            architecture,
            threads_in_pass: 32.0,
            lines_in_cycle: 4.0,
            loads_in_l1: 1.0,
            shuffle_cycles: 32.0,
            shuffles_beside_l1: 0.0,
            version_cycles: 32.0,
            instructions_in_cycle: 1.0,
            redux_cycles: 32.0,
            vote_cycles: 32.0,
            popc_cycles: 32.0,
            l2_bytes_in_cycle: 128.0,
        }
    }
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;

    crate::unit_tests!(every_data_file_can_be_read, what_is_missing_is_named);

    fn every_data_file_can_be_read() {
        for (number, text) in FILES {
            let costs = Costs::read(text, &format!("sm_{number}.toml"));
            assert_eq!(costs.map(|costs| costs.architecture), Ok(number));
        }
        assert_eq!(Costs::of(87).architecture, 87);
        assert_eq!(Costs::of(30).l2_bytes_in_cycle, Costs::of(35).l2_bytes_in_cycle);
        assert!(Costs::of(121).threads_in_pass > 0.0);
    }

    fn what_is_missing_is_named() {
        let text = FILES[4].1;
        let said = |text: &str| Costs::read(text, "mine.toml").unwrap_err().to_string();
        let without = text.replace("shuffle_cycles", "shuffle_speed");
        assert_eq!(said(&without), "mine.toml: the number `shuffle_cycles` is missing");
        let more = format!("{text}\n[numbers.other]\nvalue = 1\nsource = \"x\"\n");
        assert_eq!(said(&more), "mine.toml: the number `other` is not known; remove it");
        let negative = text.replace("value = 19.5", "value = -1");
        assert!(said(&negative).contains("`l2_bytes_in_cycle` must be 0.1 or more"));
        assert!(said("architecture = x").starts_with("mine.toml:1: "));
        assert!(said(&text.replace("architecture = 70", "")).contains("architecture"));
    }
}
