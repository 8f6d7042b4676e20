//! The strategies by name, the words for each, and the set that the user allows.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use strum::{EnumIter, IntoEnumIterator, VariantArray};

/// A way to serve an access without performing it as it stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, EnumIter, VariantArray)]
pub enum StrategyName {
    /// Redundant load elimination within a lane, and predictive commoning in loops.
    Reuse,
    /// SLP vectorisation of loads and stores of consecutive bytes.
    Wide,
    /// Redundant load elimination across lanes for the row of a stencil: two loads, and shuffles.
    Window,
    /// The paper's redundant load elimination across lanes: a shuffle, and the load itself for corner cases.
    Paper,
    /// Arrays of structs: coalesced accesses, transposed between lanes.
    Aos,
    /// Shared-memory layout: padding or an xor swizzle, with fewer bank conflicts.
    Bank,
    /// Dead store elimination in a block, register (scalar) promotion in a loop.
    Promote,
    /// Warp reduction: one instruction for a joint computation of lanes by shuffles.
    Collective,
    /// Loads moved in front of stores that may alias, behind a run-time alias check.
    Batch,
}

/// The words for a strategy on the command line, in reports and on pages.
#[derive(Clone, Copy, Debug)]
pub struct Facts {
    /// The word on the command line.
    pub word: &'static str,
    /// The word for its decision about an access in reports.
    pub decision: &'static str,
    /// Whether `auto` considers it.
    pub in_auto: bool,
    /// Where values could come from, for a load that it could replace but does not.
    pub origin: &'static str,
    /// The name of the remark about an access that it replaces.
    pub remark: &'static str,
    /// The same for a store, where it has a name of its own.
    pub store_remark: Option<&'static str>,
    /// The page's words for an access that it replaces: the source of the value, unless a lane distance tells it.
    pub served: Option<&'static str>,
    /// The word in front of the line of the access that is named as its source.
    pub named: &'static str,
    /// Whether the cost at each access that it replaces is that of its whole group, not a share.
    pub whole_cost: bool,
    /// Whether each load that it replaces still gets its bytes from memory, by itself or in a vector.
    pub keeps_loads: bool,
}

impl StrategyName {
    /// Its words.
    pub const fn facts(self) -> Facts {
        let other = Facts {
            word: "",
            decision: "",
            in_auto: true,
            origin: "could come from other lanes",
            remark: "",
            store_remark: None,
            served: None,
            named: "from",
            whole_cost: false,
            keeps_loads: false,
        };
        match self {
            StrategyName::Reuse => Facts {
                word: "reuse",
                decision: "reuse",
                origin: "could come from registers",
                remark: "LoadReplacedByMove",
                ..other
            },
            StrategyName::Wide => Facts {
                word: "wide",
                decision: "wide",
                origin: "could be joined to vectors",
                remark: "LoadJoinedToVector",
                store_remark: Some("StoreJoinedToVector"),
                served: Some("in a vector"),
                whole_cost: true,
                keeps_loads: true,
                ..other
            },
            StrategyName::Window => Facts {
                word: "window",
                decision: "window",
                remark: "LoadReplacedByWindow",
                served: Some("the row's loads"),
                ..other
            },
            StrategyName::Paper => Facts {
                word: "paper",
                decision: "shuffle",
                remark: "LoadReplacedByShuffle",
                ..other
            },
            StrategyName::Aos => Facts {
                word: "aos",
                decision: "aos",
                remark: "StructTransposed",
                served: Some("with all structs of the warp"),
                named: "as in",
                ..other
            },
            StrategyName::Promote => Facts {
                word: "promote",
                decision: "promote",
                remark: "StoreOverwritten",
                named: "overwritten by",
                whole_cost: true,
                ..other
            },
            StrategyName::Collective => Facts {
                word: "collective",
                decision: "collective",
                remark: "ShufflesReplaced",
                whole_cost: true,
                ..other
            },
            StrategyName::Batch => Facts {
                word: "batch",
                decision: "batch",
                origin: "could be performed earlier",
                remark: "LoadPerformedEarlier",
                served: Some("earlier, with other loads"),
                named: "in front of",
                keeps_loads: true,
                ..other
            },
            StrategyName::Bank => Facts {
                word: "bank",
                decision: "bank",
                in_auto: false,
                remark: "ArrayLaidOut",
                ..other
            },
        }
    }

    /// The word on the command line and in reports.
    pub const fn word(self) -> &'static str {
        self.facts().word
    }

    /// Whether it replaces accesses to global memory.
    pub const fn claims_memory(&self) -> bool {
        !matches!(self, StrategyName::Collective | StrategyName::Bank)
    }

    /// The words of all strategies, joined.
    pub fn words(separator: &str) -> String {
        StrategyName::iter().map(StrategyName::word).collect::<Vec<_>>().join(separator)
    }
}

/// The decision about one access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Not performed as it stands, by a strategy.
    By(StrategyName),
    /// Left as it is.
    Keep,
}

impl Decision {
    /// The word in the JSON.
    pub fn word(self) -> &'static str {
        match self {
            Decision::By(name) => name.facts().decision,
            Decision::Keep => "keep",
        }
    }

    /// Whether the cost at each access is that of the whole group that replaces it.
    pub fn is_whole_cost(self) -> bool {
        matches!(self, Decision::By(name) if name.facts().whole_cost)
    }
}

impl Serialize for Decision {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.word())
    }
}

impl<'de> Deserialize<'de> for Decision {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Decision, D::Error> {
        let word = String::deserialize(deserializer)?;
        let all = StrategyName::iter().map(Decision::By).chain([Decision::Keep]);
        let found = all.into_iter().find(|decision| decision.word() == word);
        found.ok_or_else(|| serde::de::Error::custom(format!("no decision is called `{word}`")))
    }
}

/// Which strategies may be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Strategies {
    /// A bit for each strategy.
    allowed: u16,
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
    pub const AUTO: Strategies = {
        let (all, mut allowed, mut at) = (StrategyName::VARIANTS, 0, 0);
        while at < all.len() {
            if all[at].facts().in_auto {
                allowed |= 1 << all[at] as u8;
            }
            at += 1;
        }
        Strategies { allowed, by_cost: true }
    };

    /// `none`: every load stays as it is.
    pub const NONE: Strategies = Strategies { allowed: 0, by_cost: false };

    /// `paper`: the paper's strategy, wherever it is proved.
    pub const PAPER: Strategies =
        Strategies { allowed: 1 << StrategyName::Paper as u8, by_cost: false };

    /// One strategy, wherever it is proved.
    pub fn only(name: StrategyName) -> Strategies {
        Strategies::of(&[name])
    }

    /// Several strategies, wherever they are proved.
    pub fn of(names: &[StrategyName]) -> Strategies {
        let allowed = names.iter().fold(0, |allowed, name| allowed | 1 << *name as u8);
        Strategies { allowed, by_cost: false }
    }

    /// Whether a strategy may be used.
    pub fn allow(self, name: StrategyName) -> bool {
        self.allowed & 1 << name as u8 != 0
    }

    /// The strategies that may be used.
    pub fn names(self) -> impl Iterator<Item = StrategyName> {
        StrategyName::iter().filter(move |&name| self.allow(name))
    }

    /// Whether strategies are used only where they pay.
    pub fn are_weighed(self) -> bool {
        self.by_cost
    }
}

impl fmt::Display for Strategies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Beside `auto` stand those that it does not consider by itself.
        let is_named = |name: &StrategyName| {
            self.allow(*name) && !(self.by_cost && Strategies::AUTO.allow(*name))
        };
        let named = StrategyName::iter().filter(is_named).map(StrategyName::word);
        let words: Vec<&str> = self.by_cost.then_some("auto").into_iter().chain(named).collect();
        f.write_str(if words.is_empty() { "none".to_owned() } else { words.join(",") }.as_str())
    }
}

/// The error for a word that names no strategy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownStrategy(String);

impl fmt::Display for UnknownStrategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = StrategyName::words(", ");
        match self.0.as_str() {
            word @ "none" => write!(f, "`{word}` stands alone, not in a list"),
            word => write!(f, "no strategy `{word}`: auto, none, or some of {words}"),
        }
    }
}

impl std::error::Error for UnknownStrategy {}

impl FromStr for Strategies {
    type Err = UnknownStrategy;

    /// `none`, or names joined by commas, among them `auto`: then those named beside it are considered by their costs, too.
    fn from_str(text: &str) -> Result<Strategies, UnknownStrategy> {
        let mut strategies = Strategies::NONE;
        if text == "none" {
            return Ok(strategies);
        }
        for word in text.split(',') {
            if word.trim() == "auto" {
                strategies.allowed |= Strategies::AUTO.allowed;
                strategies.by_cost = true;
                continue;
            }
            let found = StrategyName::iter().find(|name| name.word() == word.trim());
            let name = found.ok_or_else(|| UnknownStrategy(word.trim().to_owned()))?;
            strategies.allowed |= 1 << name as u8;
        }
        Ok(strategies)
    }
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;

    crate::unit_tests!(words_and_lists_are_read_and_shown, other_words_are_refused_by_name);

    fn words_and_lists_are_read_and_shown() {
        let all = StrategyName::words(",");
        for text in ["auto", "auto,bank", "none", "paper", "reuse,wide", &all] {
            assert_eq!(text.parse::<Strategies>().unwrap().to_string(), text);
        }
        let listed: Strategies = "wide, reuse".parse().unwrap();
        assert_eq!(listed.to_string(), "reuse,wide");
        assert!(listed.allow(StrategyName::Wide) && !listed.allow(StrategyName::Paper));
        assert_eq!(Strategies::only(StrategyName::Paper), Strategies::PAPER);
        assert!(Strategies::AUTO.allow(StrategyName::Aos));
    }

    fn other_words_are_refused_by_name() {
        let said = |text: &str| text.parse::<Strategies>().unwrap_err().to_string();
        assert!(said("fast").starts_with("no strategy `fast`"));
        assert!(said("paper,").contains("``"));
        assert!(said("none,paper").contains("stands alone"));
        assert_eq!("bank, auto".parse::<Strategies>().unwrap().to_string(), "auto,bank");
        assert_eq!("auto,wide".parse::<Strategies>().unwrap(), Strategies::AUTO);
    }
}
