//! The decision of a build about a kernel, step by step.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The code of a kernel that a build uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kept {
    /// The rewritten one.
    Rewritten,
    /// The original.
    KeptOriginal,
}

/// Why a build uses a kernel's original code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// There is nothing to rewrite in it, or what there is does not pay by costs alone.
    NothingToDo,
    /// The expected gain is not worth assembling it twice.
    NotTried,
    /// Fewer of its warps would be resident.
    Registers,
    /// It would need more stack.
    Stack,
    /// ptxas warns of the rewritten kernel.
    Warnings,
    /// Its machine code gains too little, or loses.
    Measure,
    /// Nothing is known of the cycles of its machine code.
    NoMeasure,
    /// The rewrite was not proved.
    Unproved,
    /// The rewritten text as a whole could not be used.
    Unusable,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Why::NothingToDo => "there is nothing to rewrite",
            Why::NotTried => "it was not expected to gain",
            Why::Registers => "fewer warps would be resident",
            Why::Stack => "it would need more stack",
            Why::Warnings => "ptxas warns of it",
            Why::Measure => "its machine code gains too little",
            Why::NoMeasure => "its cycles are not known",
            Why::Unproved => "it was not proved",
            Why::Unusable => "the text could not be used",
        })
    }
}

/// How a rewrite was proved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::Display)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum ProvedBy {
    /// A certificate of the rewriter was checked.
    Certificate,
    /// The judge found the proof by itself.
    Search,
}

/// The proof of a rewrite.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProofReport {
    /// `equal`, `different` or `unknown`.
    pub verdict: String,
    /// How it was found.
    pub by: ProvedBy,
    /// The work of the judge: steps with terms.
    pub steps: u64,
}

/// A step of the decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepName {
    /// The kernel was analysed and, if something pays, rewritten.
    Considered,
    /// Both versions were assembled.
    Tried,
    /// The cycles of both were computed.
    Measured,
    /// The judge was asked.
    Proved,
}

impl fmt::Display for StepName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            StepName::Considered => "considered",
            StepName::Tried => "assembled in both versions",
            StepName::Measured => "measured",
            StepName::Proved => "put to the judge",
        })
    }
}

/// A step of the decision, with its time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepReport {
    /// Which step.
    pub step: StepName,
    /// Seconds of wall-clock time that it took for all kernels of the text that took it.
    pub seconds: f64,
}
