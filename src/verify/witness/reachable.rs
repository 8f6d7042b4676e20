//! Facts that hold in every reachable state, beyond those that the solver gets for proofs: a
//! counterexample that contradicts them is dropped.

use crate::expr::{Comparison, Node, SymbolId, TermId};
use crate::isa::{Axis, Special};
use crate::record::{Execution, LoopValue};
use crate::terms::{Kind, Terms};

/// The loop-carried registers of a program.
pub(crate) fn loop_values(execution: &Execution) -> impl Iterator<Item = &LoopValue> {
    let records = execution.loops.iter().flatten();
    records
        .flat_map(|record| record.values.iter().filter(|loop_value| loop_value.register.is_some()))
}

/// Each symbol of a loop's header has its first value.
pub(crate) fn first_iterations(terms: &mut Terms, execution: &Execution) -> Vec<TermId> {
    let mut facts = Vec::new();
    for record in execution.loops.iter().flatten() {
        facts.push(record.entry);
    }
    facts.extend(
        loop_values(execution)
            .map(|loop_value| terms.arena.equal(loop_value.symbol, loop_value.initial)),
    );
    facts
}

/// All 32 lanes can only be active in a warp that has 32 threads.
pub(crate) fn whole_warps(terms: &mut Terms) -> Vec<TermId> {
    let symbol = |terms: &mut Terms, kind: Kind| terms.symbol(kind, 32, None);
    let [x, y, z] = Axis::ALL.map(|axis| symbol(terms, Kind::Tid(axis)));
    let [dx, dy, dz] = Axis::ALL.map(|axis| symbol(terms, Kind::Uniform(Special::Ntid(axis))));
    let masks: Vec<SymbolId> = terms
        .symbols
        .iter()
        .filter(|(_, info)| matches!(info.kind, Kind::Mask(_)))
        .map(|(id, _)| id)
        .collect();
    let arena = &mut terms.arena;
    let plane = arena.mul(dy, z);
    let rows = arena.add(y, plane);
    let before = arena.mul(dx, rows);
    let linear = arena.add(x, before);
    let low = arena.constant(31, 32);
    let last = arena.or(linear, low);
    let area = arena.mul(dx, dy);
    let threads = arena.mul(area, dz);
    let full = arena.compare(Comparison::UnsignedLess, last, threads);
    let all = arena.constant(0xffff_ffff, 32);
    masks
        .into_iter()
        .map(|mask| {
            let mask = arena.symbol(mask, 32);
            let whole = arena.equal(mask, all);
            let partial = arena.not(whole);
            arena.or(partial, full)
        })
        .collect()
}

/// A block has at most 1024 threads.
pub(crate) fn block_size(terms: &mut Terms) -> Option<TermId> {
    let find = |axis: Axis| {
        let extent = Kind::Uniform(Special::Ntid(axis));
        terms
            .symbols
            .iter()
            .find_map(|(id, info)| (info.kind == extent).then_some((id, info.width)))
    };
    let extents: Vec<_> = Axis::ALL.into_iter().filter_map(find).collect();
    let arena = &mut terms.arena;
    let extents: Vec<TermId> =
        extents.into_iter().map(|(id, width)| arena.symbol(id, width)).collect();
    let threads = extents.into_iter().reduce(|product, extent| arena.mul(product, extent))?;
    let limit = arena.constant(1024, arena.width(threads));
    Some(arena.compare(Comparison::UnsignedLessEqual, threads, limit))
}

/// The symbols that terms are made of.
pub(crate) fn symbols(terms: &Terms, roots: &[TermId]) -> Vec<SymbolId> {
    let (mut seen, mut found) = (rustc_hash::FxHashSet::default(), Vec::new());
    let mut work = roots.to_vec();
    while let Some(term) = work.pop() {
        if !seen.insert(term) {
            continue;
        }
        if let Node::Symbol(symbol) = *terms.arena.node(term) {
            found.push(symbol);
        }
        work.extend(terms.arena.operands(term));
    }
    found
}
