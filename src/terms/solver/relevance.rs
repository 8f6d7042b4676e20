//! Which assumptions can matter to a claim: those that share symbols or functions with it, directly or
//! by way of other assumptions. The other assumptions are true or false whatever the claim's symbols
//! are.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::expr::{Arena, FunctionId, Node, SymbolId, TermId};

/// A symbol or function that two terms may have in common.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Leaf {
    Symbol(SymbolId),
    Function(FunctionId),
}

/// Finds the symbols and functions of terms, and remembers them.
#[derive(Debug, Default)]
pub(super) struct Relevance {
    leaves: FxHashMap<TermId, Arc<[Leaf]>>,
}

impl Relevance {
    /// The assumptions that matter to a claim about some terms, sorted, each once.
    pub(super) fn relevant(
        &mut self,
        arena: &Arena,
        claim: &[TermId],
        assumptions: &[TermId],
    ) -> Vec<TermId> {
        let mut reached: FxHashSet<Leaf> = FxHashSet::default();
        for &term in claim {
            reached.extend(self.leaves(arena, term).iter());
        }
        let mut open: Vec<(TermId, Arc<[Leaf]>)> =
            assumptions.iter().map(|&term| (term, self.leaves(arena, term))).collect();
        let mut relevant = Vec::new();
        loop {
            let before = open.len();
            arena.charge(1 + before as u64);
            open.retain(|(term, leaves)| {
                // An assumption without symbols and functions is a constant: if it is false, it
                // matters to every claim.
                let matters = leaves.is_empty() || leaves.iter().any(|leaf| reached.contains(leaf));
                if matters {
                    relevant.push(*term);
                    reached.extend(leaves.iter());
                }
                !matters
            });
            if open.len() == before {
                break;
            }
        }
        relevant.sort_unstable();
        relevant.dedup();
        relevant
    }

    fn leaves(&mut self, arena: &Arena, term: TermId) -> Arc<[Leaf]> {
        if let Some(known) = self.leaves.get(&term) {
            return Arc::clone(known);
        }
        let (mut open, mut seen) = (vec![term], FxHashSet::default());
        let mut leaves: FxHashSet<Leaf> = FxHashSet::default();
        while let Some(next) = open.pop() {
            if !seen.insert(next) {
                continue;
            }
            arena.charge(3);
            match arena.node(next) {
                Node::Symbol(symbol) => drop(leaves.insert(Leaf::Symbol(*symbol))),
                Node::Apply(function, _) => drop(leaves.insert(Leaf::Function(*function))),
                _ => {}
            }
            open.extend(arena.operands(next));
        }
        let leaves: Arc<[Leaf]> = leaves.into_iter().collect();
        self.leaves.insert(term, Arc::clone(&leaves));
        leaves
    }
}
