//! The strategies by name, and which of them the user allows.

use std::fmt;
use std::str::FromStr;

use strum::{EnumIter, IntoEnumIterator, IntoStaticStr};

/// A way to serve a load without performing it as it stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, EnumIter, IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum StrategyName {
    /// A move from the register of a load of the same address.
    Reuse,
    /// One vector load for several loads of consecutive bytes.
    Wide,
    /// Two loads for a row of loads, whose values come by shuffles.
    Window,
    /// The paper's: a shuffle, and the load itself for corner cases.
    Paper,
    /// Loads of whole structs, transposed in registers.
    Aos,
    /// Arrays in shared memory laid out anew, with fewer bank conflicts.
    Bank,
}

impl StrategyName {
    /// The word on the command line and in reports.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

/// Which strategies may be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Strategies {
    /// A bit for each strategy.
    allowed: u8,
    /// Whether a strategy is used only if it pays by the costs.
    by_cost: bool,
}

impl Default for Strategies {
    /// [`Strategies::AUTO`].
    fn default() -> Strategies {
        Strategies::AUTO
    }
}

impl Strategies {
    /// `auto`: the strategies that pay on the architecture. (Arrays in shared memory are laid out anew only by name or
    /// by a measured profile.)
    pub const AUTO: Strategies = Strategies { allowed: 0b1_1111, by_cost: true };

    /// `none`: every load stays as it is.
    pub const NONE: Strategies = Strategies { allowed: 0, by_cost: false };

    /// `paper`: the paper's strategy, wherever it is proved.
    pub const PAPER: Strategies =
        Strategies { allowed: 1 << StrategyName::Paper as u8, by_cost: false };

    /// One strategy, wherever it is proved.
    pub fn only(name: StrategyName) -> Strategies {
        Strategies { allowed: 1 << name as u8, by_cost: false }
    }

    /// Whether a strategy may be used.
    pub fn allow(self, name: StrategyName) -> bool {
        self.allowed & 1 << name as u8 != 0
    }

    /// Whether strategies are used only where they pay.
    pub fn are_weighed(self) -> bool {
        self.by_cost
    }
}

impl fmt::Display for Strategies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.by_cost {
            return f.write_str("auto");
        }
        let words: Vec<&str> =
            StrategyName::iter().filter(|name| self.allow(*name)).map(StrategyName::word).collect();
        f.write_str(if words.is_empty() { "none".to_owned() } else { words.join(",") }.as_str())
    }
}

/// The error for a word that names no strategy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownStrategy(String);

impl fmt::Display for UnknownStrategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<&str> = StrategyName::iter().map(StrategyName::word).collect();
        let words = words.join(", ");
        match self.0.as_str() {
            word @ ("auto" | "none") => write!(f, "`{word}` stands alone, not in a list"),
            word => write!(f, "no strategy `{word}`: auto, none, or some of {words}"),
        }
    }
}

impl std::error::Error for UnknownStrategy {}

impl FromStr for Strategies {
    type Err = UnknownStrategy;

    /// `auto`, `none`, or names joined by commas.
    fn from_str(text: &str) -> Result<Strategies, UnknownStrategy> {
        match text {
            "auto" => return Ok(Strategies::AUTO),
            "none" => return Ok(Strategies::NONE),
            _ => {}
        }
        let mut strategies = Strategies::NONE;
        for word in text.split(',') {
            let found = StrategyName::iter().find(|name| name.word() == word.trim());
            let name = found.ok_or_else(|| UnknownStrategy(word.trim().to_owned()))?;
            strategies.allowed |= 1 << name as u8;
        }
        Ok(strategies)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_lists_are_read_and_shown() {
        for text in ["auto", "none", "paper", "reuse,wide", "reuse,wide,window,paper,aos,bank"] {
            assert_eq!(text.parse::<Strategies>().unwrap().to_string(), text);
        }
        let listed: Strategies = "wide, reuse".parse().unwrap();
        assert_eq!(listed.to_string(), "reuse,wide");
        assert!(listed.allow(StrategyName::Wide) && !listed.allow(StrategyName::Paper));
        assert_eq!(Strategies::only(StrategyName::Paper), Strategies::PAPER);
        assert!(Strategies::AUTO.allow(StrategyName::Aos));
    }

    #[test]
    fn other_words_are_refused_by_name() {
        let said = |text: &str| text.parse::<Strategies>().unwrap_err().to_string();
        assert!(said("fast").starts_with("no strategy `fast`"));
        assert!(said("paper,").contains("``"));
        assert!(said("auto,paper").contains("stands alone"));
    }
}
