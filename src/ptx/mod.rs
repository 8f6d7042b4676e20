//! PTX text in, syntax tree out. This stage knows no GPU and no solver.

pub mod ast;
mod build;
mod expected;
mod fault;
mod grammar;
mod parse;
mod scan;
mod scopes;
mod stats;
pub mod types;

pub use ast::*;
pub use stats::{Stats, stats};
pub use types::{ScalarType, StateSpace};

use crate::source::{Diagnostic, SourceFile};

/// How much of a module to parse.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Depth {
    /// Every body.
    All,
    /// Only bodies that the lexical scan saw at least two global (or generic) loads in: nothing
    /// else can be rewritten.
    Rewritable,
}

/// Parses a module.
///
/// # Errors
/// The first syntax error, with its place.
pub fn parse(source: &SourceFile, depth: Depth) -> Result<Module<'_>, Diagnostic> {
    parse::module(source.text(), depth).map_err(|fault| fault.diagnose(source))
}
