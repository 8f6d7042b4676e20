//! Which addresses equal others some iterations later.
//!
//! In: the addresses of a loop's loads. Out: for each load the sources that may have read its bytes in an earlier
//! iteration: first those that provably have, the nearest first. Candidates are found by evaluating all addresses for
//! small values of all symbols, for which no index wraps around.

use crate::cfg::{Flow, InstId, LoopId};
use crate::emulate::{KernelTrace, SymbolInfo, SymbolKind};
use crate::expr::{Node, Substitution, SymbolId, TermId, Valuation};
use crate::lanes::mixed;
use crate::reuse::Load;

/// The maximum number of iterations over which a value is carried.
pub(super) const MAX_ITERATIONS: u32 = 4;

/// Assignments tried.
const ROUNDS: u64 = 4;

/// A source that may have read a load's bytes.
pub(super) struct Candidate {
    /// The number of the source.
    pub source: usize,
    /// Distance in iterations.
    pub distance: u32,
    /// Whether the addresses are equal; otherwise they are as long as nothing wraps around.
    pub equal: bool,
    /// Whether their difference is the same in every iteration.
    pub keeps: bool,
}

/// An address and its values in all rounds.
type Evaluated = (TermId, Vec<u64>);

/// Addresses of a loop's loads, now and some iterations later.
pub(super) struct Later {
    id: LoopId,
    /// For each source its instruction, its address, and the values of that in all rounds.
    sources: Vec<(InstId, Evaluated)>,
    /// For each load its instruction, and its address 1, 2, ... iterations later with its values; nothing where
    /// the address depends on more than the iteration, or does not depend on it.
    loads: Vec<(InstId, Vec<Evaluated>)>,
}

impl Later {
    pub(super) fn new(
        flow: &Flow<'_, '_>,
        trace: &mut KernelTrace,
        id: LoopId,
        loads: &[&Load],
        sources: &[&Load],
    ) -> Later {
        let addresses: Vec<Vec<TermId>> =
            loads.iter().map(|load| iterations_later(flow, trace, id, load.address)).collect();
        let mut roots: Vec<TermId> = addresses.iter().flatten().copied().collect();
        roots.extend(sources.iter().map(|source| source.address));
        let mut valuation = Valuation::new(&trace.arena, roots.iter().copied());
        let mut values = vec![Vec::new(); roots.len()];
        for round in 0..ROUNDS {
            valuation.assign(|symbol| small(round, symbol, trace.symbols.info(symbol)));
            for (values, &root) in values.iter_mut().zip(&roots) {
                values.push(valuation.value(root));
            }
        }
        let mut values = roots.into_iter().zip(values);
        let loads = loads
            .iter()
            .zip(addresses)
            .map(|(load, later)| (load.inst, values.by_ref().take(later.len()).collect()))
            .collect();
        let sources = sources
            .iter()
            .zip(values)
            .map(|(source, (term, of))| (source.inst, (term, of)))
            .collect();
        Later { id, sources, loads }
    }

    /// The sources that may have read a load's bytes, by the load's number.
    pub(super) fn candidates(
        &self,
        flow: &Flow<'_, '_>,
        trace: &mut KernelTrace,
        load: usize,
    ) -> Vec<Candidate> {
        let (inst, later) = &self.loads[load];
        let mut found = Vec::new();
        for (distance, (address, values)) in (1..).zip(later) {
            trace.arena.charge(1 + self.sources.len() as u64);
            for (number, (source, (own, of))) in self.sources.iter().enumerate() {
                if of != values || source == inst {
                    continue;
                }
                let equal = own == address;
                let keeps = equal || keeps(flow, trace, self.id, *address, *own);
                found.push(Candidate { source: number, distance, equal, keeps });
            }
        }
        found.sort_by_key(|one| (!one.equal, !one.keeps, one.distance));
        found
    }
}

/// Whether all symbols in a term are of some kind.
fn are_all(
    trace: &KernelTrace,
    term: TermId,
    mut is_such: impl FnMut(&SymbolInfo) -> bool,
) -> bool {
    let (mut work, mut seen) = (vec![term], rustc_hash::FxHashSet::default());
    while let Some(term) = work.pop() {
        if !seen.insert(term) {
            continue;
        }
        trace.arena.charge(2);
        if let Node::Symbol(symbol) = *trace.arena.node(term)
            && !is_such(trace.symbols.info(symbol))
        {
            return false;
        }
        work.extend(trace.arena.operands(term));
    }
    true
}

/// Whether the difference of two addresses is the same in every iteration.
pub(super) fn keeps(
    flow: &Flow<'_, '_>,
    trace: &mut KernelTrace,
    id: LoopId,
    a: TermId,
    b: TermId,
) -> bool {
    let difference = trace.arena.sub(a, b);
    are_all(trace, difference, |info| {
        info.kind != SymbolKind::Iteration(id) && !flow.loops.nested(info.created_in, id)
    })
}

/// An address as it is 1, 2, ... iterations later, if it depends on the iteration and on nothing else that
/// iterations change.
pub(super) fn iterations_later(
    flow: &Flow<'_, '_>,
    trace: &mut KernelTrace,
    id: LoopId,
    address: TermId,
) -> Vec<TermId> {
    let stays = |info: &SymbolInfo| {
        info.kind == SymbolKind::Iteration(id) || !flow.loops.nested(info.created_in, id)
    };
    if !are_all(trace, address, stays) {
        return Vec::new();
    }
    let KernelTrace { arena, symbols, .. } = trace;
    let later = (1..=MAX_ITERATIONS).map(|distance| {
        Substitution::new().apply(arena, address, &mut |arena, symbol, term| match symbols
            .info(symbol)
            .kind
            == SymbolKind::Iteration(id)
        {
            true => arena.add_constant(term, u64::from(distance)),
            false => term,
        })
    });
    let later: Vec<TermId> = later.collect();
    if later[0] == address { Vec::new() } else { later }
}

/// Values so small that products and sums of a few do not wrap around: sizes far above the numbers of threads and
/// iterations, so that no bounds check fails; pointers far apart.
fn small(round: u64, symbol: SymbolId, info: &SymbolInfo) -> u64 {
    let mixed = mixed(round, symbol, 0);
    match info.kind {
        SymbolKind::Iteration(_) => mixed & 7,
        _ if info.width == 64 => (mixed & 0xf_ffff) << 12,
        SymbolKind::Parameter { .. } => 1000 + (mixed & 0x1f),
        _ => 1 + (mixed & 7),
    }
}
