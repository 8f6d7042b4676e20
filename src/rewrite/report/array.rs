//! Arrays in shared memory: their accesses, and how they are laid out.

use serde::{Deserialize, Serialize};

use super::{Cost, Origin};

/// An array in shared memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArrayReport {
    /// 1-based line of its declaration.
    pub line: u32,
    /// Its name.
    pub name: String,
    /// Its bytes; 0 if the file does not say how many.
    pub bytes: u64,
    /// How it is laid out anew, in words; `None` if it stays as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<String>,
    /// The wavefronts that its accesses take, each executed once; `None` where they are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wavefronts: Option<Wavefronts>,
    /// Its accesses, if all are known, in source order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accesses: Vec<ArrayAccessReport>,
    /// The cycles of the new layout, and of the array as it is, with a few iterations assumed for loops; if they were
    /// weighed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// The name of the rule by which it stays as it is, words joined by dashes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Why that rule holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// An access to an array in shared memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ArrayAccessReport {
    /// 1-based line.
    pub line: u32,
    /// The place in the sources that the access was compiled from, if a `.loc` names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Origin>,
    /// Bytes that each lane accesses.
    pub bytes: u32,
    /// The wavefronts that a warp takes, in the mean of some warps.
    pub wavefronts: Wavefronts,
}

/// Wavefronts of shared memory, by the model of its banks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Wavefronts {
    /// As the array is.
    pub before: f64,
    /// As it is laid out.
    pub after: f64,
}

impl ArrayReport {
    /// The array and the decision, in one line.
    pub fn sentence(&self) -> String {
        let mut out = match self.bytes {
            0 => format!("`{}`, dynamic: ", self.name),
            bytes => format!("`{}`, {bytes} bytes: ", self.name),
        };
        if let Some(Wavefronts { before, after }) = self.wavefronts {
            out += &match self.layout {
                Some(_) => format!("{before} wavefronts become {after}, "),
                None => format!("{before} wavefronts, "),
            };
        }
        match (&self.layout, &self.reason) {
            (Some(layout), _) => out += layout,
            (None, Some(reason)) => out += &format!("keep: {reason}"),
            (None, None) => out += "keep",
        }
        if let Some(cost) = self.cost.filter(|_| self.layout.is_some()) {
            out += &format!(": {cost}");
        }
        out
    }
}
