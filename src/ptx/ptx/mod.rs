//! From PTX text to a syntax tree. This stage knows no GPU and no solver.
//!
//! - `scan`: the lexical scan cuts the text into items and function bodies, and bodies into runs
//!   of statements. It also counts loads: what a caller can do nothing with (`scanned`) is not parsed.
//! - `read`: recursive descent, from a piece at a time to the tree, `ast`. The grammar in `grammar/*.pest`
//!   defines the syntax; a test compares both.
//! - `parse`: the driver, which puts the pieces together. `scopes` nests the blocks of a body.
//! - `write`: the way back: instructions with registers of their own, as text.
//! - `expected`: why a piece did not match, in words of PTX.
//!
//! Promised: every span is exact, and no part of the program is missing from a tree (the parser's
//! tests check both). A construct that is not known is an error, never skipped. An instruction that is
//! not known is not such a construct: it is an opcode with operands like any other.

pub mod ast;
mod expected;
pub mod family;
mod fault;
mod parse;
#[cfg(feature = "internals")]
pub mod piece;
mod read;
pub mod resolved;
mod scan;
mod scanned;
mod scopes;
mod stats;
pub mod write;

pub use crate::isa::{ScalarType, StateSpace};
pub use ast::*;
pub use parse::Depth;
pub use scanned::Scanned;
pub use stats::Stats;

use crate::source::{Diagnostic, SourceFile};

/// Parses a module.
///
/// # Errors
/// The first syntax error, with its place.
pub fn parse<'s>(source: &'s SourceFile, depth: Depth<'_>) -> Result<Module<'s>, Diagnostic> {
    parse::module(source.text(), depth).map_err(|fault| fault.diagnose(source))
}

/// Parses a module as [`parse()`] does and counts.
///
/// # Errors
/// The first syntax error, with its place.
pub fn stats(source: &SourceFile, depth: Depth<'_>) -> Result<Stats, Diagnostic> {
    parse::count(source.text(), depth).map_err(|fault| fault.diagnose(source))
}
