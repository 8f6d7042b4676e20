//! The pieces of a text one by one, for the test that compares the parser with the grammar.

use super::ast::{Module, Statement};
use super::expected::Entry;
use super::read::cursor::Cursor;
use super::read::module::{contribution, section_body};
use super::scan;
use crate::source::Span;

/// What a piece was parsed to.
#[derive(Debug)]
pub enum Piece<'s> {
    /// Of the module level.
    Module(Module<'s>),
    /// Of a body: statements, and the places of the braces of scopes.
    Body(Vec<Statement<'s>>, Vec<Span>),
    /// The data of a section; the tree has nothing of it.
    Data,
}

/// The names of the entry rules, in the order of [`Entry`].
const ENTRIES: [(&str, Entry); 4] = [
    ("item", Entry::Item),
    ("definition", Entry::Definition),
    ("statements", Entry::Statements),
    ("section_body", Entry::Section),
];

/// The pieces that the lexical scan cuts a text into, each with the entry rule that it matches if nothing is wrong.
pub fn all(text: &str) -> Vec<(&'static str, Span)> {
    let mut found = Vec::new();
    for piece in scan::pieces(text).0 {
        let Some(body) = piece.body else {
            found.push(("item", piece.head));
            continue;
        };
        found.push(("definition", piece.head));
        match contribution(text, piece.head, Entry::Definition) {
            Ok(head) if head.section => found.push(("section_body", body.span)),
            _ => found.extend(body.chunks().map(|chunk| ("statements", chunk))),
        }
    }
    found
}

/// Parses a piece from an entry rule.
///
/// # Errors
/// The message about the first mistake.
pub fn parse<'s>(text: &'s str, entry: &str, span: Span) -> Result<Piece<'s>, String> {
    let entry = ENTRIES.iter().find(|(name, _)| *name == entry).map(|(_, entry)| *entry);
    let parsed = match entry.unwrap_or(Entry::Statements) {
        Entry::Statements => Cursor::new(text, span).run().map(|run| {
            let braces = run.braces.iter().map(|brace| brace.span).collect();
            Piece::Body(run.statements, braces)
        }),
        Entry::Section => section_body(text, span).map(|()| Piece::Data),
        entry => contribution(text, span, entry).map(|head| Piece::Module(head.module)),
    };
    parsed.map_err(|fault| fault.message)
}
