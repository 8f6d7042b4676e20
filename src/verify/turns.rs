//! Terms of a loop's header, with the values of the loop's entry and with those of its latches.

use rustc_hash::FxHashMap;

use super::execution::{LoopRecord, Round};
use super::symbols::Terms;
use crate::expr::{Substitution, SymbolId, TermId};

/// For each symbol of a loop's header, one of its values, chosen by `of`.
pub(super) fn values_of(
    terms: &Terms,
    record: &LoopRecord,
    of: fn(&Round) -> TermId,
) -> FxHashMap<SymbolId, TermId> {
    let symbols = record.rounds.iter();
    symbols.filter_map(|round| Some((terms.as_symbol(round.symbol)?, of(round)))).collect()
}

/// A term of a loop's header with the values that the loop is entered with.
pub(super) fn at_entry(terms: &mut Terms, record: &LoopRecord, term: TermId) -> TermId {
    let values = values_of(terms, record, |round| round.initial);
    substituted(terms, &values, term)
}

/// A term of a loop's header with the values that go round the loop.
pub(super) fn at_latch(terms: &mut Terms, record: &LoopRecord, term: TermId) -> TermId {
    let values = values_of(terms, record, |round| round.latch);
    substituted(terms, &values, term)
}

fn substituted(terms: &mut Terms, values: &FxHashMap<SymbolId, TermId>, term: TermId) -> TermId {
    Substitution::new().apply(&mut terms.arena, term, &mut |_, symbol, own| {
        values.get(&symbol).copied().unwrap_or(own)
    })
}
