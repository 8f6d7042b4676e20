//! One file's way through the program, as one function; every subcommand is this line stopped
//! earlier or joined later.

use crate::report::Report;
use crate::source::{Diagnostic, SourceFile};

/// What the user may choose about a rewrite.
#[derive(Clone, Debug, Default)]
pub struct Options {}

/// A finished rewrite.
#[derive(Debug)]
pub struct Rewritten {
    /// The new text; equal to the input where nothing was replaced.
    pub text: String,
    /// What was decided.
    pub report: Report,
    /// Which line of the input each line of `text` came from.
    pub lines: LineMap,
}

/// Maps 1-based lines of a rewritten text to 1-based lines of its original.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineMap {
    /// `(rewritten, original)` pairs in ascending order: where a run of lines starts whose numbers
    /// rise in step. Empty: the identity.
    runs: Vec<(u32, u32)>,
}

impl LineMap {
    /// The map that consists of these runs, `(rewritten, original)` in ascending order of the first:
    /// from `rewritten` on, up to the next run, numbers rise in step from `original`.
    pub fn from_runs(runs: Vec<(u32, u32)>) -> LineMap {
        LineMap { runs }
    }

    /// The original's line for a line of the rewritten text; inserted lines map to the line of the
    /// statement they were inserted for.
    pub fn original(&self, line: u32) -> u32 {
        match self.runs.partition_point(|&(rewritten, _)| rewritten <= line) {
            0 => line,
            n => {
                let (rewritten, original) = self.runs[n - 1];
                original + (line - rewritten)
            }
        }
    }
}

/// Rewrites one module.
///
/// # Errors
/// A syntax error. Whatever else goes wrong inside a kernel leaves that kernel as it was and says
/// so in the report.
pub fn rewrite(source: &SourceFile, options: &Options) -> Result<Rewritten, Diagnostic> {
    let _ = options;
    let report = Report { file: source.name().to_owned(), kernels: Vec::new() };
    Ok(Rewritten { text: source.text().to_owned(), report, lines: LineMap::default() })
}
