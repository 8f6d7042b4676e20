//! Profiles: which strategy was measured to be the fastest for a kernel.
//!
//! In: the text of a profile, as `ptxasw tune` writes it. Out: for a kernel whose text, architecture and
//! driver are those of a measurement, the strategy that it found ([`Consulted`]), or why there is none.
//! Measures nothing, and does not judge the entries.
//!
//! - [`digest`]: the hash of a kernel's text.
//! - [`Profile`]: the file, as data. The field names are a contract; fields may be added, not renamed.
//! - [`Consulted`]: a profile that a rewrite obeys.

mod consulted;
pub mod digest;

pub use consulted::{Advice, Consulted};

use serde::{Deserialize, Serialize};

use crate::select::Strategies;

/// The version that is written, and the only one that is read.
pub const VERSION: u32 = 1;

/// The word for kernels that stay as they are.
const ORIGINAL: &str = "original";

/// Measurements of kernels.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// [`VERSION`].
    pub version: u32,
    /// One entry for each kernel, architecture and driver.
    pub kernels: Vec<Entry>,
}

impl Default for Profile {
    fn default() -> Profile {
        Profile { version: VERSION, kernels: Vec::new() }
    }
}

/// The measurement of one kernel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// The kernel's name.
    pub name: String,
    /// The hash of its text ([`digest::Digests::of`]).
    pub hash: String,
    /// Its architecture, such as `sm_90`.
    pub architecture: String,
    /// The newest CUDA version that the driver supports, such as `13.0`.
    pub driver: String,
    /// The device's name.
    #[serde(default)]
    pub device: String,
    /// What builds shall use: the fastest, or the original where nothing is faster beyond the noise. As on
    /// the command line, with `original` for none.
    #[serde(with = "word")]
    pub strategy: Strategies,
    /// The file that the kernel was measured in.
    #[serde(default)]
    pub file: String,
    /// The launch file that it was measured with.
    #[serde(default)]
    pub launch: String,
    /// The measured variants, the original first.
    #[serde(default)]
    pub variants: Vec<Timing>,
}

/// The measurement of one strategy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Timing {
    /// The strategy, or `original`.
    pub strategy: String,
    /// The median time of a launch, in microseconds.
    pub median_us: f64,
    /// The original's median time over this one's.
    pub speedup: f64,
    /// The bounds of the speed-up; `null` where there are too few samples for them, and for the original.
    pub interval: Option<[f64; 2]>,
    /// `faster`, `slower`, `same` or `ambiguous`; `original` for itself.
    pub verdict: String,
    /// Whether all buffers were the original's to the bit.
    pub identical_output: bool,
    /// The strategy that gives the same text, which alone was timed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_as: Option<String>,
}

impl Profile {
    /// Takes a profile from its text; `name` is how it is called in messages.
    ///
    /// # Errors
    /// One line: it is not a profile, or one of another version, or names an unknown strategy.
    pub fn read(text: &str, name: &str) -> Result<Profile, String> {
        #[derive(Deserialize)]
        struct Head {
            version: u32,
        }
        let wrong = |error: serde_json::Error| {
            let said = error.to_string().replace('\n', " ");
            format!("{name}: no profile of `ptxasw tune`: {said}")
        };
        let Head { version } = serde_json::from_str(text).map_err(wrong)?;
        if version != VERSION {
            return Err(format!("{name}: a profile of version {version}, and not of {VERSION}"));
        }
        let profile: Profile = serde_json::from_str(text).map_err(wrong)?;
        let is_architecture = |entry: &&Entry| number(&entry.architecture).is_none();
        match profile.kernels.iter().find(is_architecture) {
            Some(Entry { name: kernel, architecture, .. }) => {
                Err(format!("{name}: kernel {kernel}: no architecture `{architecture}`"))
            }
            None => Ok(profile),
        }
    }

    /// Puts an entry in the place of the one about the same text, architecture and driver, else at the end.
    pub fn set(&mut self, entry: Entry) {
        let key =
            |entry: &Entry| (entry.hash.clone(), entry.architecture.clone(), entry.driver.clone());
        match self.kernels.iter_mut().find(|known| key(known) == key(&entry)) {
            Some(known) => *known = entry,
            None => self.kernels.push(entry),
        }
    }
}

/// The compute capability in `sm_90`.
fn number(architecture: &str) -> Option<u32> {
    let digits = architecture.strip_prefix("sm_")?.trim_end_matches(['a', 'f']);
    digits.parse().ok()
}

/// The word for strategies that a profile and its messages use.
pub fn word_for(strategies: Strategies) -> String {
    match strategies {
        Strategies::NONE => ORIGINAL.to_owned(),
        other => other.to_string(),
    }
}

/// Strategies by their words, `original` for none.
mod word {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    use super::{ORIGINAL, Strategies};

    pub(super) fn serialize<S: Serializer>(value: &Strategies, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&super::word_for(*value))
    }

    pub(super) fn deserialize<'d, D: Deserializer<'d>>(from: D) -> Result<Strategies, D::Error> {
        match String::deserialize(from)?.as_str() {
            ORIGINAL => Ok(Strategies::NONE),
            words => words.parse().map_err(D::Error::custom),
        }
    }
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;

    crate::unit_tests!(entries_take_the_place_of_their_like, what_is_wrong_is_said_in_one_line);

    fn entry(hash: &str, architecture: &str, driver: &str, strategy: Strategies) -> Entry {
        Entry {
            name: "k".to_owned(),
            hash: hash.to_owned(),
            architecture: architecture.to_owned(),
            driver: driver.to_owned(),
            device: String::new(),
            strategy,
            file: String::new(),
            launch: String::new(),
            variants: Vec::new(),
        }
    }

    fn entries_take_the_place_of_their_like() {
        let mut profile = Profile::default();
        for (hash, architecture, driver) in [
            ("a", "sm_80", "12.4"),
            ("b", "sm_80", "12.4"),
            ("a", "sm_90", "12.4"),
            ("a", "sm_80", "13.0"),
        ] {
            profile.set(entry(hash, architecture, driver, Strategies::PAPER));
        }
        assert_eq!(profile.kernels.len(), 4);
        profile.set(entry("a", "sm_80", "12.4", Strategies::NONE));
        let left: Vec<_> = profile.kernels.iter().map(|entry| entry.strategy).collect();
        let paper = Strategies::PAPER;
        assert_eq!(left, [Strategies::NONE, paper, paper, paper]);
        let text = serde_json::to_string(&profile).unwrap();
        assert!(text.contains(r#""strategy":"original""#), "{text}");
        assert_eq!(Profile::read(&text, "p.json"), Ok(profile));
    }

    fn what_is_wrong_is_said_in_one_line() {
        let said = |text: &str| {
            let said = Profile::read(text, "p.json").unwrap_err();
            assert!(said.starts_with("p.json: ") && !said.contains('\n'), "{said}");
            said
        };
        assert!(said("").contains("no profile"));
        assert!(said("{}").contains("missing field `version`"));
        assert!(said("[1,\n2").contains("no profile"));
        assert!(said(r#"{"version": 2, "other": 1}"#).contains("a profile of version 2"));
        assert!(said(r#"{"version": 1}"#).contains("missing field `kernels`"));
        let with = |strategy: &str, architecture: &str| {
            said(&format!(
                r#"{{"version": 1, "kernels": [{{"name": "k", "hash": "a", "driver": "12.4",
                "architecture": "{architecture}", "strategy": "{strategy}"}}]}}"#
            ))
        };
        assert!(with("fast", "sm_80").contains("no strategy `fast`"));
        assert!(with("paper", "gfx90").contains("no architecture `gfx90`"));
    }
}
