//! Which values came from another lane and are not known to be the original's.

use rustc_hash::FxHashMap;

use crate::expr::{Node, TermId};
use crate::terms::{Kind, Terms};

/// The terms that contain a value from another lane that is not known to be one of the original's.
#[derive(Default)]
pub(crate) struct CrossLane {
    known: FxHashMap<TermId, bool>,
}

impl CrossLane {
    /// Marks a term that a shuffle delivers.
    pub(crate) fn mark(&mut self, term: TermId) {
        self.known.insert(term, true);
    }

    pub(crate) fn contains(&mut self, terms: &Terms, term: TermId) -> bool {
        let mut stack = vec![term];
        while let Some(&next) = stack.last() {
            if self.known.contains_key(&next) {
                stack.pop();
                continue;
            }
            if let Node::Symbol(symbol) = *terms.arena.node(next) {
                let kind = &terms.symbols.info(symbol).kind;
                self.known.insert(next, matches!(kind, Kind::Unpredictable(_) | Kind::InLane(..)));
                continue;
            }
            let operands = terms.arena.operands(next);
            terms.arena.charge(2);
            let missing: Vec<TermId> =
                operands.iter().copied().filter(|t| !self.known.contains_key(t)).collect();
            if missing.is_empty() {
                let crosses = operands.iter().any(|t| self.known[t]);
                self.known.insert(next, crosses);
            }
            stack.extend(missing);
        }
        self.known[&term]
    }
}
