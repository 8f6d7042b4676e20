//! A profile that a rewrite obeys: its advice about a kernel, or why that is not used.

use std::fmt;
use std::sync::OnceLock;

use super::{Entry, Profile, number, word_for};
use crate::select::Strategies;

/// Asks for the newest CUDA version that the driver of this machine supports; `None` without a driver.
pub(super) type AskDriver = fn() -> Option<String>;

/// A profile, and the machine that it is used on.
#[derive(Debug)]
pub struct Consulted {
    profile: Profile,
    name: String,
    ask: AskDriver,
    /// The answer, once it was asked for.
    driver: OnceLock<Option<String>>,
}

/// A profile's advice on a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// The strategies to use, wherever they are proved; none for a kernel that is to stay as it is.
    pub strategies: Strategies,
    /// The measurement, in words.
    pub reason: String,
}

/// Why a measurement of a kernel is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unused {
    /// On another architecture: that of the measurement, and the target of this assembly.
    Architecture(String, u32),
    /// With another driver: which one it was, and which one is here.
    Driver(String, String),
    /// Of another text.
    Changed,
}

impl fmt::Display for Unused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unused::Architecture(there, here) => {
                write!(f, "measured on {there} and not on sm_{here}")
            }
            Unused::Driver(there, here) => {
                write!(
                    f,
                    "measured with a driver of CUDA {there}, where one of {here} is installed"
                )
            }
            Unused::Changed => f.write_str("the text has changed since it was measured"),
        }
    }
}

impl Consulted {
    /// A profile that messages call `name`. `ask` is called at most once, and only where the answer counts.
    pub fn new(profile: Profile, name: impl Into<String>, ask: AskDriver) -> Consulted {
        Consulted { profile, name: name.into(), ask, driver: OnceLock::new() }
    }

    /// How messages call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The advice about a kernel that is assembled for an architecture (80 for `sm_80`); `None` for a kernel without
    /// measurements. `hash` computes the hash of its text. Of several entries that fit the last one counts.
    pub fn advise(
        &self,
        kernel: &str,
        architecture: u32,
        hash: impl FnOnce() -> String,
    ) -> Option<Result<Advice, Unused>> {
        let known = || self.profile.kernels.iter().rev().filter(|entry| entry.name == kernel);
        known().next()?;
        let hash = hash();
        let is_here = |entry: &&Entry| number(&entry.architecture) == Some(architecture);
        let is_same = |entry: &&Entry| entry.hash == hash;
        let driver = || self.driver.get_or_init(self.ask).as_deref();
        // Where there is no driver, the result goes to another machine, which nobody can ask.
        let fits = |entry: &&Entry| driver().is_none_or(|driver| driver == entry.driver);
        if let Some(entry) = known().filter(is_here).filter(is_same).find(fits) {
            return Some(Ok(advice(entry)));
        }
        let other = known().find(is_same).or_else(|| known().next())?;
        Some(Err(match known().filter(is_here).find(is_same) {
            Some(entry) => {
                Unused::Driver(entry.driver.clone(), driver().unwrap_or_default().to_owned())
            }
            None if known().any(|entry| is_here(&entry)) => Unused::Changed,
            None => Unused::Architecture(other.architecture.clone(), architecture),
        }))
    }
}

fn advice(entry: &Entry) -> Advice {
    let Entry { device, architecture, driver, strategy, .. } = entry;
    let what = match *strategy {
        Strategies::NONE => "nothing is faster than the original".to_owned(),
        strategy => {
            let word = word_for(strategy);
            match entry.variants.iter().find(|timing| timing.strategy == word) {
                Some(timing) => {
                    format!("`{word}` is {:.3} times as fast as the original", timing.speedup)
                }
                None => format!("`{word}` is the fastest"),
            }
        }
    };
    let on = if device.is_empty() { architecture } else { device };
    let reason = format!("the profile: {what} on {on} ({architecture}, CUDA {driver})");
    Advice { strategies: *strategy, reason }
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;

    crate::unit_tests!(text_architecture_and_driver_must_fit, nothing_is_asked_without_need);

    fn consulted(entries: &[(&str, &str, &str, &str)], ask: AskDriver) -> Consulted {
        let entries = entries.iter().map(|(hash, architecture, driver, strategy)| {
            format!(
                r#"{{"name": "k", "hash": "{hash}", "architecture": "{architecture}",
                "driver": "{driver}", "strategy": "{strategy}"}}"#
            )
        });
        let entries = entries.collect::<Vec<_>>().join(",");
        let text = format!(r#"{{"version": 1, "kernels": [{entries}]}}"#);
        Consulted::new(Profile::read(&text, "p.json").unwrap(), "p.json", ask)
    }

    fn strategies(found: Option<Result<Advice, Unused>>) -> String {
        word_for(found.unwrap().unwrap().strategies)
    }

    fn text_architecture_and_driver_must_fit() {
        let entries = [
            ("old", "sm_80", "12.4", "wide"),
            ("new", "sm_80", "12.4", "paper"),
            ("new", "sm_80", "13.0", "reuse"),
            ("new", "sm_90a", "13.0", "original"),
        ];
        let ask = |hash: &str, architecture, driver: AskDriver| {
            consulted(&entries, driver).advise("k", architecture, || hash.to_owned())
        };
        assert_eq!(strategies(ask("new", 80, || Some("12.4".to_owned()))), "paper");
        assert_eq!(strategies(ask("new", 80, || Some("13.0".to_owned()))), "reuse");
        assert_eq!(strategies(ask("new", 90, || Some("13.0".to_owned()))), "original");
        // Nobody knows the driver: the last one counts.
        assert_eq!(strategies(ask("new", 80, || None)), "reuse");
        let why = |found: Option<Result<Advice, Unused>>| found.unwrap().unwrap_err().to_string();
        let driver = why(ask("new", 80, || Some("11.0".to_owned())));
        assert_eq!(driver, "measured with a driver of CUDA 13.0, where one of 11.0 is installed");
        assert_eq!(ask("newer", 80, || None), Some(Err(Unused::Changed)));
        assert_eq!(why(ask("new", 86, || None)), "measured on sm_90a and not on sm_86");
        assert_eq!(why(ask("newer", 86, || None)), "measured on sm_90a and not on sm_86");
    }

    fn nothing_is_asked_without_need() {
        let known = consulted(&[("a", "sm_80", "12.4", "wide")], || panic!("asked"));
        assert_eq!(known.advise("other", 80, || panic!("hashed")), None);
        assert_eq!(known.advise("k", 80, || "b".to_owned()), Some(Err(Unused::Changed)));
        assert!(known.advise("k", 90, || "a".to_owned()).is_some_and(|found| found.is_err()));
    }
}
