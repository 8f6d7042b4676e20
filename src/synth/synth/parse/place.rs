//! The statements of placements, from the parser's pairs to the tree.

use super::node::{Node, Rule, expression, hole, name, reference, span};
use crate::synth::ast::Index;
use crate::synth::place::ast::{Access, Item, Shared};

/// The statement, if it is one of placements.
pub(super) fn item(node: &Node<'_>) -> Option<Item> {
    let whole = span(node);
    let inner = node.clone().into_inner();
    let words = [
        Rule::word_shared,
        Rule::word_of,
        Rule::word_at,
        Rule::word_access,
        Rule::word_by,
        Rule::word_for,
    ];
    let mut inner = inner.filter(|inner| !words.contains(&inner.as_rule())).peekable();
    match node.as_rule() {
        Rule::shared => {
            let (array, bytes) = (reference(inner.next()?)?, expression(&inner.next()?));
            let at = inner.next()?;
            let at = match at.as_rule() {
                Rule::hole => Index::Hole(hole(at)?),
                _ => Index::Plain(expression(&at)),
            };
            Some(Item::Shared(Shared { array, bytes, at }))
        }
        Rule::access => {
            let reference = reference(inner.next()?)?;
            let by = inner.next_if(|inner| inner.as_rule() == Rule::expression);
            let by = by.as_ref().map(expression);
            let rounds = inner.map(|inner| name(&inner)).collect();
            Some(Item::Access(Access { reference, by, rounds, span: whole }))
        }
        _ => None,
    }
}
