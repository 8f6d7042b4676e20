//! Disjoint edits of a text, and the line of the old text that each new line comes from.

use std::fmt;
use std::ops::Range;

use memchr::memchr_iter;

use crate::source::LineMap;
use crate::verify::Kind;

/// One replacement; an empty range is an insertion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The bytes replaced.
    pub range: Range<usize>,
    /// The text that stands there instead.
    pub text: String,
    /// The kind of the change, for the certificate.
    pub kind: Kind,
}

impl Edit {
    /// Replaces bytes.
    pub fn new(range: Range<usize>, text: String) -> Edit {
        Edit { range, text, kind: Kind::default() }
    }
}

/// The error that two edits overlap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overlap {
    /// Where the second one starts.
    pub at: usize,
}

impl fmt::Display for Overlap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "two edits overlap at byte {}", self.at)
    }
}

impl std::error::Error for Overlap {}

/// A sorted set of disjoint edits.
#[derive(Clone, Debug, Default)]
pub struct Edits {
    edits: Vec<Edit>,
}

impl Edits {
    /// Sorts edits; insertions at one place keep the order in which they are given.
    ///
    /// # Errors
    /// Two of them overlap.
    pub fn new(mut edits: Vec<Edit>) -> Result<Edits, Overlap> {
        edits.sort_by_key(|edit| (edit.range.start, edit.range.end));
        for pair in edits.windows(2) {
            if pair[1].range.start < pair[0].range.end {
                return Err(Overlap { at: pair[1].range.start });
            }
        }
        Ok(Edits { edits })
    }

    /// Whether there is no edit.
    pub fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    /// The edited text and the origin of its lines.
    pub fn apply(&self, text: &str) -> (String, LineMap) {
        let added: usize = self.edits.iter().map(|edit| edit.text.len()).sum();
        let mut out = String::with_capacity(text.len() + added);
        let mut lines = LineMap::default();
        let (mut at, mut original, mut new) = (0, 1u32, 1u32);
        let newlines = |text: &str| memchr_iter(b'\n', text.as_bytes()).count() as u32;
        for edit in &self.edits {
            let kept = &text[at..edit.range.start];
            out.push_str(kept);
            let passed = newlines(kept);
            (original, new) = (original + passed, new + passed);
            for _ in 0..newlines(&edit.text) {
                new += 1;
                lines.push(new, original);
            }
            out.push_str(&edit.text);
            let removed = newlines(&text[edit.range.clone()]);
            if removed > 0 {
                original += removed;
                lines.push(new, original);
            }
            at = edit.range.end;
        }
        out.push_str(&text[at..]);
        (out, lines)
    }
}
