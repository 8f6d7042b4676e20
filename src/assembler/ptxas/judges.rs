//! The functions of the rewriter that a check calls.

use crate::ptxas::losses::Loss;
use crate::source::SourceFile;

/// Judges the rewrites of a call's texts, and changes them.
pub trait Judges<R> {
    /// Rewrites a text once more, without the kernels that lost something.
    fn without(&self, source: &SourceFile, rewritten: &R, lost: &[Loss]) -> R;

    /// The kernels of a text that take more cycles than before, with both numbers. `cubins` are the bytes that were made
    /// of the text and its rewriting; kernels that have `lost` something anyway are left out.
    fn slower(
        &self,
        source: &SourceFile,
        rewritten: &R,
        cubins: [&[u8]; 2],
        lost: &[Loss],
    ) -> Vec<Loss>;

    /// Rewrites kernels that lost something alone, each with a part of its changes. Where there is none, no text.
    fn parts(&self, source: &SourceFile, lost: &[Loss]) -> Vec<R>;

    /// As [`Judges::slower`], for one of the texts that [`Judges::parts`] made last.
    fn slower_part(
        &self,
        part: usize,
        source: &SourceFile,
        rewritten: &R,
        cubins: [&[u8]; 2],
        lost: &[Loss],
    ) -> Vec<Loss>;

    /// Changes a rewritten text to have these parts, each with the kernels that lost nothing with it. A kernel with several
    /// gets the one that takes the fewest cycles. `lost` says what was lost with all changes.
    fn with_parts(
        &self,
        source: &SourceFile,
        rewritten: &R,
        parts: &[(R, Vec<String>)],
        lost: &[Loss],
    ) -> R;
}
