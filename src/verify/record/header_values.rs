//! Terms of a loop's header, with the values of the loop's entry and with those of its latches.

use rustc_hash::{FxHashMap, FxHashSet};

use super::execution::{LoopRecord, LoopValue};
use crate::cfg::{LoopForest, LoopId};
use crate::expr::{Node, Substitution, SymbolId, TermId};
use crate::terms::Terms;

/// For each symbol of a loop's header, one of its values, chosen by `of`.
pub(crate) fn values_of(
    terms: &Terms,
    record: &LoopRecord,
    of: fn(&LoopValue) -> TermId,
) -> FxHashMap<SymbolId, TermId> {
    let symbols = record.values.iter();
    symbols
        .filter_map(|loop_value| Some((terms.as_symbol(loop_value.symbol)?, of(loop_value))))
        .collect()
}

/// A term of a loop's header with the values that the loop is entered with.
pub(crate) fn at_entry(terms: &mut Terms, record: &LoopRecord, term: TermId) -> TermId {
    let values = values_of(terms, record, |loop_value| loop_value.initial);
    substituted(terms, &values, term)
}

/// A term of a loop's header with the values of the back edge.
pub(crate) fn at_latch(terms: &mut Terms, record: &LoopRecord, term: TermId) -> TermId {
    let values = values_of(terms, record, |loop_value| loop_value.latch);
    substituted(terms, &values, term)
}

/// Whether a term depends on a loop's header alone: every part of it that changes in an iteration has a symbol of the
/// header. Only for such a term do [`at_entry`] and [`at_latch`] give its value there; the result of a barrier or an
/// atomic in the loop would stay that of the iteration before.
pub(crate) fn is_of_header(
    terms: &Terms,
    loops: &LoopForest,
    (id, record): (LoopId, &LoopRecord),
    term: TermId,
) -> bool {
    let own: FxHashSet<TermId> = record.values.iter().map(|loop_value| loop_value.symbol).collect();
    let (mut seen, mut work) = (FxHashSet::default(), vec![term]);
    while let Some(next) = work.pop() {
        if !seen.insert(next) {
            continue;
        }
        terms.arena.charge(2);
        match terms.arena.node(next) {
            Node::Symbol(symbol) => {
                if !own.contains(&next) && loops.nested(terms.symbols.info(*symbol).made_in, id) {
                    return false;
                }
            }
            _ => work.extend(terms.arena.operands(next)),
        }
    }
    true
}

fn substituted(terms: &mut Terms, values: &FxHashMap<SymbolId, TermId>, term: TermId) -> TermId {
    Substitution::new().apply(&mut terms.arena, term, &mut |_, symbol, own| {
        values.get(&symbol).copied().unwrap_or(own)
    })
}
