//! `loop-invariant-load`, `reloaded-after-store`, `sum-in-memory`: values that accesses through another pointer forbid to
//! keep.

use super::super::rule::{Level, Rule};
use super::super::subject::{Found, Subject};
use crate::cfg::LoopId;
use crate::emulate::{Access, Effect};
use crate::expr::{Node, SymbolId, TermId};

/// Longer addresses are not looked at.
const MAX_TERMS: usize = 2_000;

/// Bodies of more accesses are not looked at.
const MAX_ACCESSES: usize = 4_000;

/// Loads that read the same address in each iteration of a loop that stores through another pointer.
pub(super) fn invariant(subject: &Subject<'_, '_, '_>) -> Vec<Found> {
    let (trace, loops) = (subject.trace, &subject.flow.loops);
    if trace.accesses.len() > MAX_ACCESSES {
        return Vec::new();
    }
    let mut found = Vec::new();
    for traffic in &subject.traffic.accesses {
        let load = subject.access(traffic);
        let Some(around) = loops.innermost(load.block).filter(|_| is_weak_load(load)) else {
            continue;
        };
        let (Some(address), Some(own)) = (load.address, subject.pointer(load)) else { continue };
        if !is_invariant(subject, address, around) {
            continue;
        }
        let inside = || trace.accesses.iter().filter(|one| loops.contains(around, one.block));
        if inside().any(Subject::synchronises) {
            continue;
        }
        let stores: Vec<&Access> =
            inside().filter(|one| one.effect == Effect::Store && Subject::is_global(one)).collect();
        let others =
            stores.iter().all(|store| subject.pointer(store).is_some_and(|pointer| pointer != own));
        let Some(store) = stores.first().filter(|_| others) else { continue };
        found.push(Found {
            rule: Rule::LoopInvariantLoad,
            level: Level::Warning,
            inst: traffic.inst,
            message: format!(
                "this load reads the same address in each iteration: the store at {} may change the value",
                subject.place(store.inst)
            ),
            label: Some(aliases(subject, own, store)),
            help: "declare the pointers `__restrict__`, or load the value into a local variable in front of the loop"
                .to_owned(),
            waste: 0,
        });
    }
    found
}

/// Stores to the same address in each iteration of a loop that accesses memory through another pointer, too: a sum that is
/// kept in memory.
pub(super) fn sums(subject: &Subject<'_, '_, '_>) -> Vec<Found> {
    let (trace, flow) = (subject.trace, subject.flow);
    if trace.accesses.len() > MAX_ACCESSES {
        return Vec::new();
    }
    let mut found = Vec::new();
    for traffic in &subject.traffic.accesses {
        let store = subject.access(traffic);
        let is_plain = store.effect == Effect::Store && store.strong.is_none();
        let is_global = Subject::is_global(store) && store.guard.is_none();
        let around = flow.loops.innermost(store.block).filter(|_| is_plain && is_global);
        let (Some(around), Some(address)) = (around, store.address) else { continue };
        let latches = &flow.loops.get(around).latches;
        let is_always =
            latches.iter().all(|latch| flow.dominators.dominates(store.block, latch.from));
        let Some(own) = subject.pointer(store).filter(|_| is_always) else { continue };
        let mut inside = trace.accesses.iter().filter(|one| flow.loops.contains(around, one.block));
        if !is_invariant(subject, address, around) || inside.clone().any(Subject::synchronises) {
            continue;
        }
        let is_same = |one: &&Access| one.address == Some(address) && one.bytes() == store.bytes();
        let mut others = inside.clone().filter(|one| Subject::is_global(one) && !is_same(one));
        let is_other = |one: &Access| subject.pointer(one).is_some_and(|pointer| pointer != own);
        let (Some(other), true) = (others.clone().find(|one| !one.read_only), others.all(is_other))
        else {
            continue;
        };
        // (A value that nothing of the loop has read before is not a sum.)
        let sums = |value: &TermId| !is_invariant(subject, *value, around);
        if !store.values.iter().flatten().any(sums)
            && !inside.any(|one| is_same(&one) && is_weak_load(one))
        {
            continue;
        }
        found.push(Found {
            rule: Rule::SumInMemory,
            level: Level::Warning,
            inst: traffic.inst,
            message: format!(
                "each iteration stores to the same address: the {} at {} may access the same bytes",
                if other.effect == Effect::Load { "load" } else { "store" },
                subject.place(other.inst)
            ),
            label: Some(aliases(subject, own, other)),
            help: "keep the value in a local variable, and store it behind the loop".to_owned(),
            waste: 0,
        });
    }
    found
}

/// Loads of an address that was loaded before in the same block, with a store through another pointer between.
pub(super) fn reloaded(subject: &Subject<'_, '_, '_>) -> Vec<Found> {
    let mut accesses: Vec<&Access> = subject.trace.accesses.iter().collect();
    if accesses.len() > MAX_ACCESSES {
        return Vec::new();
    }
    accesses.sort_by_key(|access| access.inst);
    let mut found = Vec::new();
    for (at, load) in accesses.iter().enumerate() {
        let (true, Some(address)) = (is_weak_load(load), load.address) else { continue };
        let Some(own) = subject.pointer(load) else { continue };
        let mut stores: Vec<&Access> = Vec::new();
        for before in accesses[..at].iter().rev() {
            if before.block != load.block || Subject::synchronises(before) {
                break;
            }
            let same = before.address == Some(address) && before.bytes() == load.bytes();
            if before.effect == Effect::Store && Subject::is_global(before) {
                if subject.pointer(before).is_none_or(|pointer| pointer == own) {
                    break;
                }
                stores.push(before);
            } else if same && is_weak_load(before) && before.guard.is_none() {
                if let Some(store) = stores.last() {
                    found.push(finding(subject, load, before, store, own));
                }
                break;
            }
        }
    }
    found
}

fn finding(
    subject: &Subject<'_, '_, '_>,
    load: &Access,
    before: &Access,
    store: &Access,
    own: SymbolId,
) -> Found {
    Found {
        rule: Rule::ReloadedAfterStore,
        level: Level::Warning,
        inst: load.inst,
        message: format!(
            "the value that was loaded at {} is loaded again: the store at {} may have changed it",
            subject.place(before.inst),
            subject.place(store.inst)
        ),
        label: Some(aliases(subject, own, store)),
        help: "declare the pointers `__restrict__`, or keep the value in a local variable"
            .to_owned(),
        waste: 0,
    }
}

/// "param_0 and param_1 may point to the same bytes".
fn aliases(subject: &Subject<'_, '_, '_>, own: SymbolId, store: &Access) -> String {
    let name = |symbol: SymbolId| {
        let terms = subject.trace.arena.terms();
        let mut meant = terms.filter(|&term| subject.symbol(term) == Some(symbol));
        meant.next().map_or_else(String::new, |term| subject.term(term))
    };
    let other = subject.pointer(store).map(&name).unwrap_or_default();
    format!("{} and {other} may point to the same bytes", name(own))
}

fn is_weak_load(access: &Access) -> bool {
    access.is_global_load() && access.strong.is_none() && !access.read_only
}

/// Whether a term has one value in all iterations of a loop.
fn is_invariant(subject: &Subject<'_, '_, '_>, root: TermId, around: LoopId) -> bool {
    let (trace, loops) = (subject.trace, &subject.flow.loops);
    let mut open = vec![root];
    let mut seen = std::collections::BTreeSet::new();
    while let Some(term) = open.pop() {
        if !seen.insert(term) {
            continue;
        }
        if seen.len() > MAX_TERMS {
            return false;
        }
        if let Node::Symbol(symbol) = *trace.arena.node(term)
            && loops.nested(trace.symbols.info(symbol).created_in, around)
        {
            return false;
        }
        open.extend(trace.arena.operands(term));
    }
    true
}
