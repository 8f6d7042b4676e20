//! From text to tree: pieces from the lexical scan, nodes from `read`, put together in source order.
//!
//! Pieces are independent of each other, so that a large module is parsed on all cores; the tree, and
//! the error (the first in source order), do not depend on the number of cores.

use super::ast::{Body, Directive, Item, Module};
use super::expected::Entry;
use super::fault::Fault;
use super::read::cursor::Cursor;
use super::read::module::{Contribution, contribution, section_body};
use super::scan::{self, Piece, ScannedBody};
use super::scanned::Scanned;
use super::scopes::Scopes;
use super::stats::{self, Stats};
use crate::parallel;
use crate::source::Span;

/// How much of a module to parse.
#[derive(Clone, Copy, Debug)]
pub enum Depth<'n> {
    /// Every body.
    All,
    /// Only the bodies that a caller wants for what the lexical scan saw of them.
    Where(fn(&Scanned<'_>) -> bool),
    /// Only the bodies of these functions.
    Named(&'n [&'n str]),
}

impl Depth<'_> {
    /// Whether the body of a function is parsed.
    fn wants(self, name: &str, body: &Scanned<'_>) -> bool {
        match self {
            Depth::All => true,
            Depth::Named(names) => names.contains(&name),
            Depth::Where(wants) => wants(body),
        }
    }
}

/// How many chunks of a body are parsed side by side before their statements are moved to the tree;
/// this bounds how much is in memory twice.
const CHUNKS_AT_ONCE: usize = 64;

/// Parses a module's text.
pub(super) fn module<'t>(text: &'t str, depth: Depth<'_>) -> Result<Module<'t>, Fault> {
    let text = without_end(text);
    let (pieces, scanned) = scan::pieces(text);
    let parsed = parallel::map_text(text.len(), &pieces, |piece| {
        parse_piece(text, piece, depth, |body| tree(text, body))
    });
    let mut module = Module::default();
    for contribution in parsed {
        let part = contribution?.module;
        module.version = module.version.or(part.version);
        module.address_size = module.address_size.or(part.address_size);
        if module.target.is_empty() {
            module.target = part.target;
        }
        module.aliases.extend(part.aliases);
        module.items.extend(part.items);
    }
    scanned.map(|()| module)
}

/// Parses a module's text and counts its parts.
pub(super) fn count(text: &str, depth: Depth<'_>) -> Result<Stats, Fault> {
    let bytes = text.len();
    let text = without_end(text);
    let (pieces, scanned) = scan::pieces(text);
    let parsed = parallel::map(&pieces, |piece| {
        let mut instructions = 0;
        let counted = parse_piece(text, piece, depth, |body| {
            instructions = count_instructions(text, body)?;
            Ok(Body::Parsed { span: body.span, statements: Vec::new() })
        })?;
        let functions: Stats = counted.module.functions().map(Stats::of_function).sum();
        Ok(Stats { instructions, ..functions })
    });
    let stats: Stats = parsed.into_iter().sum::<Result<_, Fault>>()?;
    scanned.map(|()| Stats { bytes, ..stats })
}

/// A text without the zeros at its end, with which drivers take it for a string of C and caches store it.
fn without_end(text: &str) -> &str {
    let rest = text.trim_end_matches(|c: char| c == '\0' || c.is_ascii_whitespace());
    if text[rest.len()..].contains('\0') { rest } else { text }
}

/// Parses one piece; `parse_body` is called for the body if the options want it parsed.
fn parse_piece<'s>(
    text: &'s str,
    piece: &Piece,
    depth: Depth<'_>,
    parse_body: impl FnOnce(&ScannedBody) -> Result<Body<'s>, Fault>,
) -> Result<Contribution<'s>, Fault> {
    let Some(scanned) = &piece.body else {
        let mut declared = contribution(text, piece.head, Entry::Item)?;
        // A prototype may also end without a semicolon.
        if let Some(Item::Function(function)) = declared.module.items.last_mut()
            && text[piece.head.range()].ends_with(';')
        {
            function.span.end = piece.head.end;
        }
        return Ok(declared);
    };
    let mut defined = contribution(text, piece.head, Entry::Definition)?;
    match defined.module.items.last_mut() {
        Some(Item::Function(function)) => {
            let &ScannedBody { span, global_loads, .. } = scanned;
            function.span.end = span.end;
            let body = Scanned { text: &text[span.range()], global_loads };
            function.body = match depth.wants(function.name.text, &body) {
                true => parse_body(scanned)?,
                false => Body::Unparsed { span, global_loads },
            };
        }
        Some(Item::Directive(Directive::Other { span, .. })) if defined.section => {
            span.end = scanned.span.end;
            section_body(text, scanned.span)?;
        }
        _ => {
            let brace = scanned.span.start as usize;
            let message = "expected a directive, found `{`";
            return Err(Fault::new(Span::new(brace, brace + 1), message));
        }
    }
    Ok(defined)
}

/// The tree of a body.
fn tree<'s>(text: &'s str, body: &ScannedBody) -> Result<Body<'s>, Fault> {
    let chunks: Vec<Span> = body.chunks().collect();
    let mut scopes = Scopes::new(body.semicolons);
    for group in chunks.chunks(CHUNKS_AT_ONCE) {
        let runs = parallel::map_text(text.len(), group, |&c| Cursor::new(text, c).run());
        runs.into_iter().try_for_each(|run| run.map(|run| scopes.take(run)))?;
    }
    Ok(Body::Parsed { span: body.span, statements: scopes.finish() })
}

/// Parses a body, counts its instructions and keeps nothing else of it.
fn count_instructions(text: &str, body: &ScannedBody) -> Result<usize, Fault> {
    let chunks: Vec<Span> = body.chunks().collect();
    let counts = parallel::map(&chunks, |&c| {
        Cursor::new(text, c).run().map(|run| stats::instructions(&run.statements))
    });
    counts.into_iter().sum()
}
