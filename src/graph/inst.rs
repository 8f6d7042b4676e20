//! Ids of the instructions of one function.

use std::ops::Range;

/// An instruction of a [`Flow`](super::Flow), in source order; also the place in front of it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct InstId(pub u32);

table_ids!(InstId);

impl InstId {
    /// The place behind it.
    pub fn next(self) -> InstId {
        InstId(self.0 + 1)
    }

    /// The instruction in front of it. There must be one.
    pub fn before(self) -> InstId {
        InstId(self.0 - 1)
    }

    /// The number of instructions from another one, which is not behind it, up to it.
    pub fn since(self, other: InstId) -> u32 {
        self.0 - other.0
    }

    /// The instructions from here up to `end`, which is not one of them.
    pub fn to(self, end: InstId) -> InstRange {
        InstRange { start: self, end }
    }
}

/// Instructions in a row.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct InstRange {
    /// The first one.
    pub start: InstId,
    /// The place behind the last one.
    pub end: InstId,
}

impl InstRange {
    /// Whether an instruction is among them.
    pub fn contains(&self, inst: &InstId) -> bool {
        self.range().contains(inst)
    }

    /// The same as a range, to cut a table.
    pub fn range(&self) -> Range<InstId> {
        self.start..self.end
    }
}

impl Iterator for InstRange {
    type Item = InstId;

    fn next(&mut self) -> Option<InstId> {
        let first = self.start;
        (first < self.end).then(|| {
            self.start = first.next();
            first
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.end.0.saturating_sub(self.start.0) as usize;
        (left, Some(left))
    }
}

impl DoubleEndedIterator for InstRange {
    fn next_back(&mut self) -> Option<InstId> {
        (self.start < self.end).then(|| {
            self.end = self.end.before();
            self.end
        })
    }
}

impl ExactSizeIterator for InstRange {}
