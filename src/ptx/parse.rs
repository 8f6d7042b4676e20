//! From text to tree: pieces from the lexical scan, matches from the grammar, nodes from the
//! builders, put together in source order.
//!
//! Pieces are independent of each other, so that a large module is parsed on all cores; the tree
//! and the error (the first in source order) do not depend on that.

use rayon::prelude::*;

use super::Depth;
use super::ast::{Body, Item, Module, Statement};
use super::build::module::{Contribution, contribution};
use super::build::statement::{Run, run};
use super::fault::Fault;
use super::grammar::{Fragment, Rule};
use super::scan::{self, Piece, ScannedBody};
use crate::source::Span;

/// How many global loads make a body worth parsing: a source and a destination.
const LOADS_OF_A_PAIR: usize = 2;

/// How many chunks of a body are parsed side by side before their statements are moved to the
/// tree; bounds what is in memory twice.
const CHUNKS_AT_ONCE: usize = 64;

/// Parses a module's text.
pub(super) fn module(text: &str, depth: Depth) -> Result<Module<'_>, Fault> {
    let pieces = scan::pieces(text)?;
    let parsed: Vec<_> = pieces.par_iter().map(|piece| parse_piece(text, piece, depth)).collect();
    let mut module = Module::default();
    for contribution in parsed {
        let part = contribution?.module;
        module.version = module.version.or(part.version);
        module.address_size = module.address_size.or(part.address_size);
        if module.target.is_empty() {
            module.target = part.target;
        }
        module.items.extend(part.items);
    }
    Ok(module)
}

fn parse_piece<'s>(text: &'s str, piece: &Piece, depth: Depth) -> Result<Contribution<'s>, Fault> {
    let head = Fragment::new(text, piece.head);
    let Some(scanned) = &piece.body else {
        let mut declared = contribution(head, Rule::item)?;
        if let Some(Item::Function(function)) = declared.module.items.last_mut() {
            function.span.end = piece.head.end;
        }
        return Ok(declared);
    };
    let mut defined = contribution(head, Rule::definition)?;
    match defined.module.items.last_mut() {
        Some(Item::Function(function)) => {
            function.span.end = scanned.span.end;
            function.body = body(text, scanned, depth)?;
        }
        Some(Item::Directive(super::ast::Directive::Other { span, .. })) if defined.section => {
            span.end = scanned.span.end;
            Fragment::new(text, scanned.span).parse(Rule::section_body)?;
        }
        _ => {}
    }
    Ok(defined)
}

fn body<'s>(text: &'s str, scanned: &ScannedBody, depth: Depth) -> Result<Body<'s>, Fault> {
    let &ScannedBody { span, global_loads, .. } = scanned;
    if depth == Depth::Rewritable && global_loads < LOADS_OF_A_PAIR {
        return Ok(Body::Unparsed { span, global_loads });
    }
    let chunks: Vec<Span> = scanned.chunks().collect();
    let mut scopes = Scopes::new(scanned.semicolons);
    for group in chunks.chunks(CHUNKS_AT_ONCE) {
        let runs: Vec<_> = group.par_iter().map(|&c| run(Fragment::new(text, c))).collect();
        runs.into_iter().try_for_each(|run| run.map(|run| scopes.take(run)))?;
    }
    Ok(Body::Parsed { span, statements: scopes.finish() })
}

/// Puts statements into the scopes that they stand in. The scan has seen to it that braces match.
struct Scopes<'s> {
    /// Of the innermost scope that is open.
    statements: Vec<Statement<'s>>,
    /// The opening braces of the scopes around it, and what stood in them before.
    outer: Vec<(Span, Vec<Statement<'s>>)>,
}

impl<'s> Scopes<'s> {
    fn new(expected: usize) -> Scopes<'s> {
        Scopes { statements: Vec::with_capacity(expected), outer: Vec::new() }
    }

    fn take(&mut self, run: Run<'s>) {
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

    fn finish(mut self) -> Vec<Statement<'s>> {
        self.statements.shrink_to_fit();
        self.statements
    }
}
