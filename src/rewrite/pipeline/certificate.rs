//! The certificate of a rewrite: which lines of each function it has changed, and how, for the judge.
//!
//! In: a text and its rewriting. Out: a [`Certificate`], which the judge does not have to trust.

use super::Rewritten;
use crate::source::{Diagnostic, SourceFile};
use crate::verify::{Certificate, Replaced};

/// The certificate of a rewriting.
///
/// # Errors
/// A syntax error in either text.
pub fn certificate(source: &SourceFile, rewritten: &Rewritten) -> Result<Certificate, Diagnostic> {
    let text = SourceFile::new(source.name(), rewritten.text.as_str());
    let functions: Vec<(&str, Vec<Replaced<'_>>)> = rewritten
        .edits
        .iter()
        .map(|(name, edits)| {
            // Edits at one place are written in this order.
            let mut sorted: Vec<_> = edits.iter().collect();
            sorted.sort_by_key(|edit| (edit.range.start, edit.range.end));
            let replaced = sorted.into_iter().map(|edit| Replaced {
                range: edit.range.clone(),
                text: &edit.text,
                kind: edit.kind,
            });
            (name.as_str(), replaced.collect())
        })
        .collect();
    Certificate::of(source, &text, &functions)
}
