//! The decision about one load or store.

use serde::{Deserialize, Serialize};

use super::{Cost, Decision, Origin, Request};

/// One load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LoadReport {
    /// 1-based line of the input.
    pub line: u32,
    /// The place in the sources that the access was compiled from, if a `.loc` names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Origin>,
    /// The destination operand as written.
    pub register: String,
    /// Bytes read by each lane.
    pub bytes: u32,
    /// The lane stride in bytes, where it was counted and is constant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lane_stride: Option<i64>,
    /// The cost of a warp's request, where it was counted.
    #[serde(default, flatten, skip_serializing_if = "Option::is_none")]
    pub request: Option<Request>,
    /// The decision.
    pub decision: Decision,
    /// Line of the source load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source_line: Option<u32>,
    /// `A(tid.x + delta) = B(tid.x)`, A the source's address, B this load's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delta: Option<i32>,
    /// The checks at run time before the shuffled value is used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guards: Option<Vec<String>>,
    /// How many iterations of the innermost loop ago the source load read the value; `None` for the same
    /// one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iterations: Option<u32>,
    /// The legal replacements that were left alone, by the names of their strategies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub possible: Option<Vec<String>>,
    /// The cycles of the chosen replacement, or of the cheapest one that was rejected, and of the load; for a vector
    /// load, of all loads that it replaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// The number of loads that both costs of a replacement that was left alone are of, if more than one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loads: Option<u32>,
    /// The compute capability for which a replacement was left alone since it does not pay: 80 for `sm_80`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub architecture: Option<u32>,
    /// The name of the rule that refused the load's replacement, words joined by dashes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Why that rule refused it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl LoadReport {
    /// An access on a line, with an operand as written, before any decision about it.
    pub fn new(line: u32, register: String) -> LoadReport {
        LoadReport {
            line,
            source: None,
            register,
            bytes: 0,
            lane_stride: None,
            request: None,
            decision: Decision::Keep,
            source_line: None,
            delta: None,
            guards: None,
            iterations: None,
            possible: None,
            cost: None,
            loads: None,
            architecture: None,
            rule: None,
            reason: None,
        }
    }
}
