//! From lines of a text to the lines of the text that it was made from.

/// Maps 1-based lines of a rewritten text to 1-based lines of its original.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineMap {
    /// `(rewritten, original)`: from these lines on the numbers rise in step. No runs: the identity.
    runs: Vec<(u32, u32)>,
}

impl LineMap {
    /// The map that consists of these runs, `(rewritten, original)` in ascending order of the first:
    /// from `rewritten` on, up to the next run, numbers rise in step from `original`.
    pub fn from_runs(runs: Vec<(u32, u32)>) -> LineMap {
        LineMap { runs }
    }

    /// From the line `new` of the rewritten text on, numbers rise in step from `original`. Lines come in
    /// ascending order.
    pub fn push(&mut self, new: u32, original: u32) {
        match self.runs.last_mut() {
            Some(last) if last.0 == new => last.1 = original,
            _ => self.runs.push((new, original)),
        }
    }

    /// The original's line for a line of the rewritten text; inserted lines map to the line of the
    /// statement they were inserted for.
    pub fn original(&self, line: u32) -> u32 {
        match self.runs.partition_point(|&(new, _)| new <= line) {
            0 => line,
            n => {
                let (new, original) = self.runs[n - 1];
                original + (line - new)
            }
        }
    }
}
