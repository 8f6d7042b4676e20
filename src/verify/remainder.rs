//! The low bits of values that go round loops: a register that every iteration changes by a multiple of a
//! power of two keeps, below it, what it held when the loop was entered.
//!
//! In: the loops of an evaluated program. Out: terms in which such registers are replaced by their initial
//! values, which have the same low bits; by induction over the iterations of one lane.

use rustc_hash::FxHashMap;

use super::execution::Execution;
use super::symbols::Terms;
use crate::expr::{Node, Substitution, SymbolId, TermId};

/// More loops within one another are not gone out of.
const MAX_NESTING: usize = 8;

/// The `bits` low bits of a term; equal to them wherever the term's symbols stand for values of one
/// iteration.
pub(super) fn low_bits(
    terms: &mut Terms,
    executions: &[&Execution],
    term: TermId,
    bits: u8,
) -> TermId {
    let mut low = terms.arena.extract(term, 0, bits);
    let mut initial: FxHashMap<SymbolId, TermId> = FxHashMap::default();
    for round in executions.iter().flat_map(|execution| execution.loops.iter().flatten()) {
        for round in round.rounds.iter().filter(|round| round.register.is_some()) {
            let Some(symbol) = terms.as_symbol(round.symbol) else { continue };
            if terms.arena.width(round.symbol) < bits {
                continue;
            }
            let step = terms.arena.sub(round.latch, round.symbol);
            let step = terms.arena.extract(step, 0, bits);
            if terms.arena.constant_value(step) == Some(0) {
                initial.insert(symbol, round.initial);
            }
        }
    }
    if initial.is_empty() {
        return low;
    }
    // What a value was when a loop was entered may be made of what goes round the loop around it.
    for _ in 0..MAX_NESTING {
        let entered = replaced(terms, &initial, low, bits);
        if entered == low {
            break;
        }
        low = entered;
    }
    low
}

/// A term in which the low bits of a symbol are those of what is given for it. Only where nothing else of
/// the symbol is used: its other bits are not the same.
fn replaced(
    terms: &mut Terms,
    initial: &FxHashMap<SymbolId, TermId>,
    low: TermId,
    bits: u8,
) -> TermId {
    let mut substitution = Substitution::new();
    substitution.transform(&mut terms.arena, low, &mut |arena, term| {
        let Node::Extract(inner, 0) = *arena.node(term) else { return None };
        let Node::Symbol(symbol) = *arena.node(inner) else { return None };
        let width = arena.width(term);
        let first = *initial.get(&symbol)?;
        (width <= bits).then(|| arena.extract(first, 0, width))
    })
}
