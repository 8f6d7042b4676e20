//! Terms in words, for messages.

use super::commute;
use super::symbols::{Kind, Terms};
use crate::expr::{Node, TermId};
use crate::isa::Special;
use crate::solver::Names;

/// For messages: what a term is at its root.
pub(super) fn describe(terms: &Terms, term: TermId) -> String {
    match terms.arena.node(term) {
        Node::Symbol(symbol) => match &terms.symbols.info(*symbol).kind {
            Kind::Unpredictable(_) => "an unpredictable value".to_owned(),
            Kind::Tid(axis) => Special::Tid(*axis).to_string(),
            Kind::LaneId => Special::Laneid.to_string(),
            Kind::Uniform(register) => register.to_string(),
            other => format!("{other:?}"),
        },
        Node::Constant(value) => format!("{value:#x}"),
        Node::Apply(function, _) => {
            format!("a result of `{}`", commute::plain(terms.symbols.function(*function)))
        }
        _ => "a computed value".to_owned(),
    }
}
