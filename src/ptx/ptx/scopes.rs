//! From runs of statements, in which scopes are braces, to nested blocks.
//!
//! The lexical scan has checked that braces match and how deep they are nested.

use super::ast::Statement;
use super::read::run::Run;
use crate::source::Span;

/// The most bytes that the tree takes for each statement, whatever it is; bodies have millions of
/// them.
const _: () = assert!(size_of::<Statement<'_>>() <= 264);

/// Puts statements into the scopes that they stand in. The scan has checked that braces match.
pub(super) struct Scopes<'s> {
    /// The statements so far of the innermost scope that is open.
    statements: Vec<Statement<'s>>,
    /// The opening braces of the scopes around it, and the statements before each brace.
    outer: Vec<(Span, Vec<Statement<'s>>)>,
}

impl<'s> Scopes<'s> {
    /// The scope of a body with about that number of statements.
    pub(super) fn new(expected: usize) -> Scopes<'s> {
        Scopes { statements: Vec::with_capacity(expected), outer: Vec::new() }
    }

    /// Takes the statements and braces of the next run.
    pub(super) fn take(&mut self, run: Run<'s>) {
        // The run may be nearly all that is expected.
        let is_most = 2 * run.statements.len() > self.statements.capacity();
        if is_most && self.statements.is_empty() && run.braces.is_empty() {
            self.statements = run.statements;
            return;
        }
        let mut statements = run.statements.into_iter();
        let mut taken = 0;
        for brace in run.braces {
            self.statements.extend(statements.by_ref().take(brace.before - taken));
            taken = brace.before;
            if brace.opens {
                self.outer.push((brace.span, std::mem::take(&mut self.statements)));
            } else if let Some((open, outer)) = self.outer.pop() {
                let mut statements = std::mem::replace(&mut self.statements, outer);
                statements.shrink_to_fit();
                self.statements.push(Statement::Block { span: open.to(brace.span), statements });
            }
        }
        self.statements.extend(statements);
    }

    /// The statements of the body.
    pub(super) fn finish(mut self) -> Vec<Statement<'s>> {
        self.statements.shrink_to_fit();
        self.statements
    }
}
