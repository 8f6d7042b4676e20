//! The outcome of a claim that two terms are equal.

use crate::expr::{Node, TermId};
use crate::terms::{Kind, Terms};

/// The outcome of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Proof {
    /// The claim holds.
    Equal,
    /// The claim does not hold, because two parts of its terms differ under some conditions.
    Differ(Box<Difference>),
    /// Neither that the claim holds nor that it does not was shown.
    Unknown,
}

/// The parts at which two terms differ, with the conditions under which they do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    pub original: TermId,
    pub rewritten: TermId,
    /// The conditions under which the two parts were compared.
    pub known: Vec<TermId>,
    /// Whether the two parts are addresses that a load reads from.
    pub addresses: bool,
}

impl Difference {
    /// Whether one of the two can have any value, whatever the other has.
    pub(crate) fn is_arbitrary(&self, terms: &Terms) -> bool {
        let arbitrary = |term: TermId| match terms.arena.node(term) {
            Node::Apply(..) => terms.loaded(term).is_some(),
            Node::Symbol(symbol) => {
                matches!(terms.symbols.info(*symbol).kind, Kind::Unpredictable(_))
            }
            _ => false,
        };
        self.addresses || arbitrary(self.original) || arbitrary(self.rewritten)
    }
}
