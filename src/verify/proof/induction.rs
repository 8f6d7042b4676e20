//! Registers of a loop that keep their distance: if two registers change by the same amount in every
//! iteration (compilers make such registers of one subscript), each is the other plus the difference
//! of their values when the loop was entered.
//!
//! In: the loops of the evaluated original. Out: terms in which one register is left of all that keep
//! their distance. This is an induction over the iterations of one lane; so it holds wherever both
//! symbols have values of the same iteration, also behind the loop.

use rustc_hash::FxHashMap;

use crate::cfg::LoopId;
use crate::expr::{Substitution, SymbolId, TermId};
use crate::verify::record::Execution;
use crate::verify::terms::Terms;

/// The symbols that are another symbol plus a term.
#[derive(Default)]
pub(in crate::verify) struct Induction {
    replaced: FxHashMap<SymbolId, TermId>,
    done: Substitution,
}

impl Induction {
    /// The registers that keep their distance in the original's loops.
    pub(crate) fn new(terms: &mut Terms, execution: &Execution) -> Induction {
        let mut found = Induction::default();
        // By loop and change in an iteration: a register and the value that it had at first.
        let mut leaders: FxHashMap<(LoopId, TermId), (TermId, TermId)> = FxHashMap::default();
        // A loop comes behind the loops around and before it, so the symbols in initial values have
        // been replaced already.
        for (id, record) in execution.loops.iter().enumerate() {
            let values = record.iter().flat_map(|record| &record.values);
            for loop_value in values.filter(|loop_value| loop_value.register.is_some()) {
                let Some(symbol) = terms.as_symbol(loop_value.symbol) else { continue };
                let step = terms.arena.sub(loop_value.latch, loop_value.symbol);
                let (initial, key) =
                    (found.apply(terms, loop_value.initial), (LoopId(id as u32), step));
                match leaders.get(&key) {
                    Some(&(leader, first)) => {
                        let ahead = terms.arena.sub(initial, first);
                        found.replaced.insert(symbol, terms.arena.add(leader, ahead));
                        found.done = Substitution::new();
                    }
                    None => {
                        leaders.insert(key, (loop_value.symbol, initial));
                    }
                }
            }
        }
        found
    }

    /// A term in which only the symbols that remain occur.
    pub(crate) fn apply(&mut self, terms: &mut Terms, term: TermId) -> TermId {
        if self.replaced.is_empty() {
            return term;
        }
        let Induction { replaced, done } = self;
        done.apply(&mut terms.arena, term, &mut |_, symbol, own| {
            replaced.get(&symbol).copied().unwrap_or(own)
        })
    }

    /// Terms in which only the symbols that remain occur.
    pub(crate) fn apply_all(&mut self, terms: &mut Terms, all: &[TermId]) -> Vec<TermId> {
        all.iter().map(|&term| self.apply(terms, term)).collect()
    }
}
