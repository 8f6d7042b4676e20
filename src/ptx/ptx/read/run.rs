//! The statements of a piece of a body.

use crate::ptx::ast::Statement;
use crate::source::Span;

/// A run of statements. Scopes may begin in one run and end in another, so their braces stand
/// beside the statements.
#[derive(Debug, Default)]
pub(in crate::ptx) struct Run<'s> {
    /// The statements of all scopes in order, without blocks.
    pub statements: Vec<Statement<'s>>,
    /// The braces in order.
    pub braces: Vec<Brace>,
}

/// A brace between two statements.
#[derive(Clone, Copy, Debug)]
pub(in crate::ptx) struct Brace {
    /// How many statements of the run stand before it.
    pub before: usize,
    /// Whether it opens a scope.
    pub opens: bool,
    /// Where it stands.
    pub span: Span,
}
