//! The data of `lint --format json`.

use std::ops::Range;

use serde::Serialize;

use super::rule::{Level, Rule};
use crate::report::Origin;
use crate::traffic::Request;

/// Version of the JSON; raised when a field changes its meaning.
pub(super) const FORMAT_VERSION: u32 = 1;

/// The report of one file.
#[derive(Debug, Serialize)]
pub struct LintFile {
    /// `FORMAT_VERSION`.
    pub version: u32,
    /// The input as the user named it.
    pub file: String,
    /// The assumptions of the numbers, in sentences.
    pub assumptions: Vec<String>,
    /// One entry per function with a body.
    pub kernels: Vec<KernelLint>,
}

/// The report of one function.
#[derive(Debug, Serialize)]
pub struct KernelLint {
    /// The name in the PTX.
    pub name: String,
    /// The name in the source.
    pub demangled: String,
    /// The shape of blocks, if it is known.
    pub block: Option<[u64; 3]>,
    /// Why nothing is said of the function, if nothing is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped: Option<String>,
    /// How many instructions access memory and are not counted: bulk copies, textures, surfaces, tensor cores.
    #[serde(skip_serializing_if = "is_none")]
    pub uncounted: usize,
    /// Loads, stores, atomics and reductions of global, generic and shared memory, in the order of the text.
    pub accesses: Vec<AccessLint>,
    /// The findings, what wastes most first.
    pub findings: Vec<Finding>,
}

fn is_none(count: &usize) -> bool {
    *count == 0
}

/// One access.
#[derive(Debug, Serialize)]
pub struct AccessLint {
    /// 1-based line of the input.
    pub line: u32,
    /// The place in the sources, if a `.loc` names one.
    pub source: Option<Origin>,
    /// `load`, `store`, `atomic`, `reduction`.
    pub kind: &'static str,
    /// `global`, `generic`, `shared`.
    pub space: &'static str,
    /// Bytes of each lane.
    pub bytes: u32,
    /// The lane stride in bytes, if it is constant.
    pub lane_stride: Option<i64>,
    /// The cost of a warp's request.
    #[serde(flatten)]
    pub request: Request,
    /// How many loops are around the access.
    pub loop_depth: usize,
    /// How many lanes of a warp may execute it together, as far as conditions on the lane say.
    pub lanes: u32,
}

/// A fact about a place, with advice.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// The rule.
    pub rule: Rule,
    /// How much it matters.
    pub level: Level,
    /// 1-based line of the input.
    pub line: u32,
    /// The place in the sources, if a `.loc` names one.
    pub source: Option<Origin>,
    /// The fact.
    pub message: String,
    /// More about the place, beside it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// What to do.
    pub help: String,
    /// Sectors or wavefronts too many in one request.
    pub waste: u32,
    /// How many loops are around it.
    pub loop_depth: usize,
    /// How many instructions of the line have a finding of this rule; this is the worst of these.
    pub count: u32,
    /// What all of them waste, times loops.
    #[serde(skip)]
    pub weight: u64,
    /// The instruction's bytes in its line of the input.
    #[serde(skip)]
    pub span: Range<usize>,
}

impl Finding {
    /// Adds a finding of the same rule for the same line.
    pub(super) fn join(&mut self, mut other: Finding) {
        let (count, weight) = (self.count + other.count, self.weight + other.weight);
        if (other.level, other.weight) > (self.level, self.weight / u64::from(self.count)) {
            std::mem::swap(self, &mut other);
        }
        (self.count, self.weight) = (count, weight);
    }
}

impl LintFile {
    /// All findings with their functions.
    pub fn findings(&self) -> impl Iterator<Item = (&KernelLint, &Finding)> {
        self.kernels.iter().flat_map(|kernel| kernel.findings.iter().map(move |f| (kernel, f)))
    }

    /// Removes the findings that are not wanted.
    pub fn retain(&mut self, mut wanted: impl FnMut(&str, &Finding) -> bool) {
        for KernelLint { name, findings, .. } in &mut self.kernels {
            findings.retain(|finding| wanted(name, finding));
        }
    }
}
