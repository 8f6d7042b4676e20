//! From matches of the grammar to the syntax tree.
//!
//! In: pest's pairs of one piece. Out: nodes of `ptx::ast`, with spans moved to where the piece lies
//! in the file. Text is judged here only where a grammar cannot judge it: the value of a constant
//! expression, and the range of a number. Each submodule builds the tree for the grammar file of the
//! same subject.

pub(super) mod constant;
pub(super) mod function;
pub(super) mod module;
pub(super) mod operand;
mod plain;
pub(super) mod run;
mod signature;
pub(super) mod statement;
pub(super) mod variable;

use super::ast::Name;
use super::fault::Fault;
use super::grammar::{Fragment, Node};
use crate::source::Span;

/// The result of building a node.
type Built<T> = Result<T, Fault>;

fn name<'s>(fragment: Fragment<'s>, node: &Node<'s>) -> Name<'s> {
    Name { text: node.as_str(), span: fragment.span(node) }
}

/// A directive's word without its dot.
fn word<'s>(node: &Node<'s>) -> &'s str {
    let text = node.as_str();
    text.strip_prefix('.').unwrap_or(text)
}

/// A string without its quotes.
fn unquoted<'s>(node: &Node<'s>) -> &'s str {
    let text = node.as_str();
    text.get(1..text.len() - 1).unwrap_or("")
}

/// A match that the grammar does not produce at this place: a mistake of ours, which must not
/// bring a build down.
fn unforeseen(fragment: Fragment<'_>, node: &Node<'_>) -> Fault {
    let message = format!("this is not understood ({:?})", node.as_rule());
    Fault::new(fragment.span(node), message)
}

/// The same for a match that is missing.
fn missing(span: Span, what: &str) -> Fault {
    Fault::new(span, format!("{what} is missing here"))
}
