//! The inputs of a page: JSON files, each recognised by its shape.
//!
//! Only the fields that the page shows are read; other fields may come and go.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;

use crate::ab::measurement::Measurement;
use crate::lint::Level;
use crate::report::{Origin, Report};
use crate::source::SourceFile;
use crate::traffic::Request;

/// All inputs of a page.
#[derive(Debug, Default)]
pub struct Inputs {
    /// The outputs of `candidates`.
    pub reports: Vec<Report>,
    /// The outputs of `trace`.
    pub traces: Vec<TraceFile>,
    /// The outputs of `lint`.
    pub lints: Vec<LintInput>,
    /// The outputs of `run --profile`.
    pub profiles: Vec<Profile>,
    /// The outputs of `ab`.
    pub measurements: Vec<Measurement>,
    /// PTX files by the name that the JSON gives them.
    pub sources: BTreeMap<String, SourceFile>,
}

/// The part of a trace that a page shows.
#[derive(Debug, Deserialize)]
pub struct TraceFile {
    /// The PTX file.
    pub file: String,
    /// Its functions.
    pub kernels: Vec<Trace>,
}

/// The trace of a function.
#[derive(Debug, Deserialize)]
pub struct Trace {
    /// Its name.
    pub name: String,
    /// The meanings of the names of grid indices.
    #[serde(default)]
    pub names: Vec<String>,
    /// Its accesses in program order.
    #[serde(default)]
    pub accesses: Vec<Access>,
}

/// One access.
#[derive(Debug, Deserialize)]
pub struct Access {
    /// 1-based line.
    pub line: u32,
    /// `load`, `store`, ...
    pub kind: String,
    /// The address in infix.
    pub address: Option<String>,
    /// Bytes from one lane's address to the next one's.
    pub lane_stride: Option<i64>,
}

/// The part of the output of `lint` that a page shows.
#[derive(Debug, Deserialize)]
pub struct LintInput {
    /// The PTX file.
    pub file: String,
    /// Its functions.
    pub kernels: Vec<LintKernel>,
}

/// What `lint` says of a function.
#[derive(Debug, Deserialize)]
pub struct LintKernel {
    /// Its name in the PTX.
    pub name: String,
    /// Its name in the source.
    pub demangled: String,
    /// Its accesses in program order.
    pub accesses: Vec<LintAccess>,
    /// The findings.
    pub findings: Vec<LintFinding>,
}

impl LintKernel {
    /// Sectors and wavefronts too many of one request of each access, times the loops around it and one. Of an access
    /// whose stride is not known only those count that are certain.
    pub fn waste(&self) -> u64 {
        let of = |access: &LintAccess| {
            let Some(counts) = access.request.counts() else { return 0 };
            let is_followed = access.lane_stride.is_some() || access.request.stride.is_some();
            let count = if is_followed { counts.max } else { counts.min };
            u64::from(count.saturating_sub(counts.ideal)) * (1 + access.loop_depth)
        };
        self.accesses.iter().map(of).sum()
    }
}

/// An access of a function.
#[derive(Debug, Deserialize)]
pub struct LintAccess {
    /// 1-based line of the PTX.
    pub line: u32,
    /// The place in the sources.
    pub source: Option<Origin>,
    /// `load`, `store`, ...
    pub kind: String,
    /// `global`, `generic`, `shared`.
    pub space: String,
    /// Bytes of each lane.
    pub bytes: u32,
    /// The lane stride in bytes, if it is constant.
    pub lane_stride: Option<i64>,
    /// The cost of a warp's request.
    #[serde(flatten)]
    pub request: Request,
    /// How many loops are around it.
    pub loop_depth: u64,
}

/// A finding.
#[derive(Debug, Deserialize)]
pub struct LintFinding {
    /// The rule.
    pub rule: String,
    /// How much it matters.
    pub level: Level,
    /// 1-based line of the PTX.
    pub line: u32,
    /// The place in the sources.
    pub source: Option<Origin>,
    /// The fact.
    pub message: String,
    /// More about the place.
    pub label: Option<String>,
    /// What to do.
    pub help: String,
}

/// The part of a run that a page shows.
#[derive(Debug, Deserialize)]
pub struct Profile {
    /// The PTX file, if the run names it.
    pub file: Option<String>,
    /// The kernel.
    pub kernel: String,
    /// Events, line by line.
    #[serde(rename = "profile")]
    pub lines: Vec<LineProfile>,
}

/// The events of a line, per warp instruction.
#[derive(Clone, Default, Debug, Deserialize)]
#[serde(default)]
pub struct LineProfile {
    /// 1-based line.
    pub line: u32,
    /// Loads from global memory.
    pub global_load_requests: u64,
    /// Distinct 128-byte lines, summed over these loads.
    pub global_load_wavefronts: u64,
    /// Stores to global memory.
    pub global_store_requests: u64,
    /// Distinct 128-byte lines, summed over these stores.
    pub global_store_wavefronts: u64,
    /// Accesses of shared memory.
    pub shared_requests: u64,
    /// Passes through the banks, summed over these accesses.
    pub shared_wavefronts: u64,
    /// Conditional branches.
    pub branches: u64,
    /// Those at which lanes of a warp take different paths.
    pub divergent_branches: u64,
    /// The file that the line was compiled from.
    pub source_file: Option<String>,
    /// The line in that file.
    pub source_line: Option<u32>,
}

impl Inputs {
    /// Takes a JSON file in. Returns whether it is of a kind that a page shows.
    ///
    /// # Errors
    /// The text is not JSON, or of a known kind but not of its form; the message names the file.
    pub fn add(&mut self, name: &str, text: &str) -> Result<bool, String> {
        let wrong = |error: serde_json::Error| format!("{name}: error: {error}");
        let value: Value = serde_json::from_str(text).map_err(wrong)?;
        self.add_value(value).map_err(wrong)
    }

    fn add_value(&mut self, value: Value) -> Result<bool, serde_json::Error> {
        let has = |field: &str| value.get(field).is_some();
        let entries_have = |list: &str, field: &str| {
            let entries = value.get(list).and_then(Value::as_array);
            entries.is_some_and(|entries| entries.iter().all(|entry| entry.get(field).is_some()))
        };
        if has("measurements") {
            // A file with several measurements, as openacc-bench/results/ has.
            let all = value.get("measurements").cloned().unwrap_or_default();
            self.measurements.extend(Vec::<Measurement>::deserialize(all)?);
        } else if has("device") && entries_have("variants", "median_us") {
            self.measurements.push(Measurement::deserialize(value)?);
        } else if has("profile") && has("kernel") {
            self.profiles.push(Profile::deserialize(value)?);
        } else if has("file") && has("version") && entries_have("kernels", "findings") {
            self.lints.push(LintInput::deserialize(value)?);
        } else if has("file") && has("version") && entries_have("kernels", "accesses") {
            self.traces.push(TraceFile::deserialize(value)?);
        } else if has("file") && entries_have("kernels", "loads") {
            self.reports.push(Report::deserialize(value)?);
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// Whether there is nothing to show.
    pub fn is_empty(&self) -> bool {
        let Inputs { reports, traces, lints, profiles, measurements, .. } = self;
        reports.is_empty()
            && traces.is_empty()
            && lints.is_empty()
            && profiles.is_empty()
            && measurements.is_empty()
    }

    /// The sources that findings name; the page does without those that are not found.
    pub fn sources_named(&self) -> BTreeSet<String> {
        let kernels = self.lints.iter().flat_map(|lint| &lint.kernels);
        let origins = kernels.flat_map(|kernel| &kernel.accesses).map(|access| &access.source);
        origins.flatten().map(|origin| origin.file.clone()).collect()
    }

    /// The PTX files that the JSON names.
    pub fn files_named(&self) -> Vec<String> {
        let reports = self.reports.iter().map(|report| report.file.clone());
        let traces = self.traces.iter().map(|trace| trace.file.clone());
        let lints = self.lints.iter().map(|lint| lint.file.clone());
        let profiles = self.profiles.iter().filter_map(|profile| profile.file.clone());
        let mut names: Vec<String> = reports.chain(traces).chain(lints).chain(profiles).collect();
        names.sort();
        names.dedup();
        names
    }

    /// Takes a PTX file in, by the name that the JSON gives it.
    pub fn add_source(&mut self, name: &str, source: SourceFile) {
        self.sources.insert(name.to_owned(), source);
    }
}
