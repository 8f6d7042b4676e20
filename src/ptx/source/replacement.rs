//! A text in the place of another one.

use super::LineMap;

/// The result of a rewriter, as those see it who know nothing of how it was made.
pub trait Replacement {
    /// The new text; the old one if nothing is to change.
    fn text(&self) -> &str;
    /// Which line of the old text each line of the new one came from.
    fn lines(&self) -> &LineMap;
    /// Whether a function of this name was looked at.
    fn knows(&self, function: &str) -> bool;
    /// Whether the text of a function is changed.
    fn changes(&self, function: &str) -> bool;
    /// Whether a kernel stays rewritten whatever it takes: it was measured to be faster so.
    fn is_measured(&self, kernel: &str) -> bool;
}
