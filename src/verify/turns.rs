//! Terms of a loop's header, as they are where the loop is entered and where it comes round.

use rustc_hash::FxHashMap;

use super::execution::{LoopRecord, Round};
use super::symbols::Terms;
use crate::expr::{Substitution, SymbolId, TermId};

/// For each symbol of a loop's header one of its values.
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

/// A term of a loop's header with the values that come round.
pub(super) fn at_latch(terms: &mut Terms, record: &LoopRecord, term: TermId) -> TermId {
    let values = values_of(terms, record, |round| round.latch);
    substituted(terms, &values, term)
}

fn substituted(terms: &mut Terms, values: &FxHashMap<SymbolId, TermId>, term: TermId) -> TermId {
    Substitution::new().apply(&mut terms.arena, term, &mut |_, symbol, own| {
        values.get(&symbol).copied().unwrap_or(own)
    })
}
