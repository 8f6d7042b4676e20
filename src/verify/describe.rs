//! Terms in words, for messages.

use super::commute;
use super::proof::Difference;
use super::reachable::symbols;
use super::symbols::{Kind, Terms};
use crate::expr::{Node, TermId};
use crate::isa::Special;
use crate::solver::Names;

/// What a term is at its root, for messages.
pub(super) fn describe(terms: &Terms, term: TermId) -> String {
    match terms.arena.node(term) {
        Node::Symbol(symbol) => match &terms.symbols.info(*symbol).kind {
            Kind::Unpredictable(_) => "an unpredictable value".to_owned(),
            Kind::InLane(lane, _) => format!("what lane {lane} has"),
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

/// Why a difference is not certain.
pub(super) fn why(terms: &Terms, difference: &Difference) -> String {
    let memory = |term: TermId| match terms.arena.node(term) {
        Node::Symbol(symbol) => matches!(terms.symbols.info(*symbol).kind, Kind::Memory(..)),
        Node::IfThenElse(_, a, _) => terms.arena.width(*a) == 32 && mentions_memory(terms, term),
        _ => false,
    };
    if memory(difference.original) && memory(difference.rewritten) {
        return "memory may have changed in between".to_owned();
    }
    format!(
        "{} against {}",
        describe(terms, difference.original),
        describe(terms, difference.rewritten)
    )
}

fn mentions_memory(terms: &Terms, term: TermId) -> bool {
    symbols(terms, &[term])
        .iter()
        .any(|symbol| matches!(terms.symbols.info(*symbol).kind, Kind::Memory(..)))
}

/// A value in words; a loaded value has none before the kernel runs.
pub(super) fn say(terms: &Terms, term: TermId, value: u64) -> String {
    match terms.arena.node(term) {
        Node::Symbol(symbol) => match terms.symbols.info(*symbol).kind {
            Kind::Unpredictable(_) => {
                "unpredictable: not all lanes take part in the shuffle, or they are not in a row"
                    .to_owned()
            }
            Kind::Unwritten(..) => "that of a register which was never written".to_owned(),
            _ => format!("{value:#x}"),
        },
        Node::Apply(..) => describe(terms, term),
        _ => format!("{value:#x}"),
    }
}
