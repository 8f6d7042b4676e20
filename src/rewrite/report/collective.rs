//! Joint computations of lanes by shuffles, and the decisions about them.

use serde::{Deserialize, Serialize};

use super::{Cost, Decision, Origin};

/// A joint computation of lanes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CollectiveReport {
    /// 1-based line of the instruction that writes the result.
    pub line: u32,
    /// 1-based lines of all its instructions.
    pub lines: Vec<u32>,
    /// The place in the sources that the result was compiled from, if a `.loc` names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Origin>,
    /// The register of the result.
    pub register: String,
    /// The register that is combined or moved.
    pub of: String,
    /// The operation: `sum`, `min`, `max`, `and`, `or`, `xor`, `count`, `any`, `all`, `prefix-count`, `duplicate`; `tree` in shared memory.
    pub computes: String,
    /// The type of the operand; `pred` for predicates.
    #[serde(rename = "type")]
    pub ty: String,
    /// How many lanes are combined; of a tree, how many elements.
    pub lanes: u32,
    /// How many shuffles do it.
    pub shuffles: u32,
    /// The steps by which values come from other lanes, in the order of their execution, where they are known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<CollectiveStep>,
    /// Of a tree in shared memory: how many barriers of the block the steps have that may be done by one warp.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub barriers: Option<u32>,
    /// The decision.
    pub decision: Decision,
    /// The opcode that may take, or takes, the place of the shuffles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub becomes: Option<String>,
    /// The checks at run time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guards: Option<Vec<String>>,
    /// The cycles of the replacement, and of the replaced instructions (`load`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// The name of the rule by which it stays as it is, words joined by dashes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Why that rule holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A shuffle of a collective, or a step of a tree.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CollectiveStep {
    /// 1-based line of the instruction.
    pub line: u32,
    /// The lane that each of the 32 lanes has a value from; its own number if it has none from another one.
    pub sources: Vec<u8>,
}

impl CollectiveReport {
    /// The collective and the decision, in one line.
    pub fn sentence(&self) -> String {
        let lanes = match self.lanes {
            32 => "the warp".to_owned(),
            lanes => format!("groups of {lanes} lanes"),
        };
        if self.computes == "tree" {
            return format!("tree in shared memory: {}", self.outcome());
        }
        let s = if self.shuffles == 1 { "" } else { "s" };
        let (computes, of, shuffles) = (&self.computes, &self.of, self.shuffles);
        format!("{computes} of {of} over {lanes}, {shuffles} shuffle{s}: {}", self.outcome())
    }

    /// The decision, in one line.
    pub fn outcome(&self) -> String {
        let mut out = match (self.decision, &self.becomes, &self.reason) {
            (Decision::By(name), Some(becomes), _) => format!("{}, {becomes}", name.word()),
            (_, _, Some(reason)) => format!("keep: {reason}"),
            _ => "keep".to_owned(),
        };
        if let Some(cost) = self.cost.filter(|_| self.decision != Decision::Keep) {
            out += &format!(": {cost}");
        }
        if let Some(guards) = &self.guards {
            out += &format!(" [{}]", guards.join(", "));
        }
        out
    }
}
