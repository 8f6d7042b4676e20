//! Versions of memory: the memory before a thread's own weak stores, and the memory that another lane
//! reads.
//!
//! A version is made by each instruction that may change a window: the thread's own stores, barriers,
//! effects. A load is a function of a version and an address.
//!
//! Two lanes that read the same bytes at the same version, and reconverge at a shuffle in between, read the
//! same value. That rests on the freedom from data races that the PTX memory model demands of weak
//! accesses. Say lane M reads first, then both shuffle, then lane L would read. A write by a third
//! thread is ordered with both reads. If it came between, lane M would have to release after its
//! read and lane L to acquire before its own, through a barrier, fence, atomic or call of theirs. Each
//! of these makes a new version, so lane M's comes behind the shuffle and lane L's before it; but lane
//! L's would have to see lane M's.

use rustc_hash::FxHashMap;

use super::execution::StoreRecord;
use crate::expr::{Node, TermId};
use crate::terms::{Function, Kind, Origin, Terms};

/// The version under a mark ([`Function::OtherLanesMemory`]), and whether it was marked.
pub(crate) fn unmarked(terms: &Terms, version: TermId) -> (TermId, bool) {
    match terms.applied(version) {
        Some((Function::OtherLanesMemory, operands)) => (operands[0], true),
        _ => (version, false),
    }
}

/// Whether a version of memory is the rewritten program's alone: the memory that some read-only load
/// saw although no instruction promises that it is read-only. Another lane has another such version.
pub(crate) fn is_own(terms: &Terms, version: TermId) -> bool {
    terms.as_symbol(version).is_some_and(|symbol| {
        matches!(terms.symbols.info(symbol).kind, Kind::Memory(_, Origin::RewrittenOnly(_)))
    })
}

/// The version of memory before the weak stores of a thread, which publish nothing.
pub(crate) fn before_stores(
    terms: &mut Terms,
    stores: &FxHashMap<TermId, StoreRecord>,
    version: TermId,
) -> TermId {
    before_stores_of(terms, &|version| stores.get(&version).copied(), version)
}

/// The same, where `record` returns the store that made a version.
pub(crate) fn before_stores_of(
    terms: &mut Terms,
    record: &dyn Fn(TermId) -> Option<StoreRecord>,
    start: TermId,
) -> TermId {
    let mut known: FxHashMap<TermId, TermId> = FxHashMap::default();
    let mut stack = vec![start];
    while let Some(&version) = stack.last() {
        terms.arena.charge(2);
        if known.contains_key(&version) {
            stack.pop();
            continue;
        }
        let found = if let Some(record) = record(version) {
            match known.get(&record.before) {
                Some(&found) => found,
                None => {
                    stack.push(record.before);
                    continue;
                }
            }
        } else if let Node::IfThenElse(condition, a, b) = *terms.arena.node(version) {
            match (known.get(&a), known.get(&b)) {
                (Some(&a), Some(&b)) => terms.arena.if_then_else(condition, a, b),
                (None, _) => {
                    stack.push(a);
                    continue;
                }
                _ => {
                    stack.push(b);
                    continue;
                }
            }
        } else {
            unmarked(terms, version).0
        };
        known.insert(version, found);
        stack.pop();
    }
    known[&start]
}
