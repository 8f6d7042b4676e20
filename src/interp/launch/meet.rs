//! Where an interpreter lets lanes meet again that have parted at a branch.

use std::fmt;
use std::str::FromStr;

use serde::Deserialize;
use serde_json::Value;

/// Where lanes of a warp that parted at a branch meet again, and which of them run first.
///
/// The PTX ISA leaves both open. A kernel that is right computes the same in all of these ways; a
/// kernel that takes one of them for granted computes something else in another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Meet {
    /// Where ptxas makes them meet: at the immediate post-dominator of the branch, for which early
    /// exits do not count and the last return does.
    #[default]
    Assembler,
    /// Only at instructions at which the PTX ISA makes lanes wait for each other.
    Never,
    /// At points chosen by the seed, branch by branch: at none, or at any that an assembler could
    /// choose; the groups run in an order that the seed chooses as well.
    Random(u64),
}

impl FromStr for Meet {
    type Err = String;

    fn from_str(text: &str) -> Result<Meet, String> {
        match text {
            "assembler" => Ok(Meet::Assembler),
            "never" => Ok(Meet::Never),
            seed => seed.parse().map(Meet::Random).map_err(|_| {
                format!("`{seed}` is neither `assembler` nor `never` nor a seed from 0 to 2^64 - 1")
            }),
        }
    }
}

impl fmt::Display for Meet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Meet::Assembler => f.write_str("assembler"),
            Meet::Never => f.write_str("never"),
            Meet::Random(seed) => seed.fmt(f),
        }
    }
}

impl<'de> Deserialize<'de> for Meet {
    /// A word as on the command line, or a number as a seed.
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Meet, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(text) => text.parse(),
            other => other.to_string().parse(),
        }
        .map_err(serde::de::Error::custom)
    }
}
