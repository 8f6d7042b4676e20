//! Loads of bytes that another load has read some iterations before: the loop carries the value in registers.
//!
//! In: loads of one natural loop. Out: [`LoopCarriedReuse`] recurrences, each from a load to the one whose value of an
//! earlier iteration it needs. Two conditions are necessary for such a pair:
//!
//! - **The addresses are equal**: the load's address `distance` iterations later is the source's address now. If the
//!   difference of two addresses is loop-invariant, they are equal in all iterations if they are in one. If the
//!   difference is only zero as long as no index wraps around, it is computed and tested in front of the loop; if it is
//!   not even proved to be loop-invariant, since an index may wrap around in some iteration, it is tested in each of
//!   them ([`SameAddress`]).
//! - **The first iterations**, which get no value from an earlier one, have a way to get it: [`Start`].
//!
//! No store in the loop may change the bytes that both read, or a test in front of the loop has to show that none does
//! ([`NoAlias`]). Values in front of the loop are computed by copies of the instructions that compute them in the loop
//! ([`Slice`]).

use crate::reuse::{Element, Legality, Load, pieces};
use smallvec::SmallVec;

use super::addresses::Later;
use super::carrying_loop::{CarryingLoop, carrying_loop};
use super::no_alias::{NoAlias, apart};
use super::slice::{SameAddress, Slice, Slicer};
use crate::cfg::{BlockId, Flow, InstId};
use crate::emulate::KernelTrace;

/// A load that is served by an iteration before.
#[derive(Clone, Debug)]
pub(super) struct LoopCarriedReuse {
    /// The load.
    pub load: Load,
    /// The instruction of the load whose value of an iteration before it is.
    pub source: InstId,
    /// Distance in iterations: 1 to `MAX_ITERATIONS`.
    pub distance: u32,
    /// For each element of the load the element of the source load that stands for it.
    pub pieces: Vec<(Element, Element)>,
    /// The last instruction in front of the loop.
    pub entry: InstId,
    /// Whether control falls through from that instruction into the loop: then the code in front of the loop goes
    /// behind it. Otherwise the instruction is a branch to the loop, and the code goes in front of it.
    pub falls_in: bool,
    /// The branches back to the loop's header. Values are passed on in front of each.
    pub latches: SmallVec<[InstId; 1]>,
    /// The behaviour of the first iterations.
    pub start: Start,
    /// The stores of the loop that must not overlap the bytes that both read; if a test of that in front of the loop
    /// fails, every iteration performs the load.
    pub apart: NoAlias,
}

/// The behaviour of the iterations that no value has been passed on to yet.
#[derive(Clone, Debug)]
pub(super) enum Start {
    /// They find the value of a load in front of the loop, at an address that is computed there. Only over one
    /// iteration, and only where every way into the loop performs that load anyway: every iteration
    /// performs it, no lane leaves before it has, and nothing before it may run for ever.
    Loaded {
        /// The instructions that compute the address.
        slice: Slice,
        /// The step whose result is the base of the address; none: the register that the load names.
        base: Option<usize>,
    },
    /// They perform the load themselves; and so do all others if a test in front of the loop fails.
    Performed(Option<SameAddress>),
}

/// The recurrences between loads of one loop; each load has one at most.
pub(super) fn carried(
    legality: &mut Legality<'_, '_, '_>,
    trace: &mut KernelTrace,
    loads: &[Load],
) -> Vec<LoopCarriedReuse> {
    let mut found = Vec::new();
    let flow = legality.flow();
    for id in flow.loops.loops.keys() {
        let innermost =
            |load: &&Load| flow.loops.innermost(trace.accesses[load.access].block) == Some(id);
        let here: Vec<Load> = loads.iter().filter(innermost).cloned().collect();
        trace.arena.charge(1 + loads.len() as u64 / 8);
        if here.len() < 2 || trace.arena.is_nearly_spent() {
            continue;
        }
        let Some(carrying_loop) = carrying_loop(flow, trace, id) else { continue };
        found.extend(recurrences(flow, trace, &carrying_loop, &here));
    }
    found.sort_by_key(|carried: &LoopCarriedReuse| carried.load.inst);
    found
}

/// The recurrences of one loop.
fn recurrences(
    flow: &Flow<'_, '_>,
    trace: &mut KernelTrace,
    carrying_loop: &CarryingLoop,
    loads: &[Load],
) -> Vec<LoopCarriedReuse> {
    let block = |trace: &KernelTrace, load: &Load| trace.accesses[load.access].block;
    let everywhere = |here: BlockId, ends: &[BlockId]| {
        planted!(Bug::CarriedSometimes)
            || ends.iter().all(|&end| flow.dominators.dominates(here, end))
    };
    let unchanged = |load: &&Load| {
        trace.accesses[load.access].read_only
            || !carrying_loop.changes_memory
            || planted!(Bug::CarriedOverStores)
    };
    let steady = |load: &&Load| load.guard.is_none() && !load.generic;
    let steady: Vec<&Load> = loads.iter().filter(steady).filter(unchanged).collect();
    let sources: Vec<&Load> = steady
        .iter()
        .copied()
        .filter(|load| everywhere(block(trace, load), &carrying_loop.latch_blocks))
        .collect();
    if sources.is_empty() || steady.len() < 2 {
        return Vec::new();
    }
    let later = Later::new(flow, trace, carrying_loop.id, &steady, &sources);
    let slicer = Slicer::new(flow, carrying_loop);
    let mut found = Vec::new();
    for (number, load) in steady.iter().enumerate() {
        let always = everywhere(block(trace, load), &carrying_loop.ends);
        for candidate in later.candidates(flow, trace, number) {
            let source = sources[candidate.source];
            let pieces = pieces(source, load, 0).and_then(|pieces| {
                pieces.iter().map(|piece| Some((*piece.whole()?, piece.to))).collect()
            });
            let Some(pieces) = pieces else { continue };
            let distance = candidate.distance;
            let is_safe = [source, load].iter().any(|one| trace.accesses[one.access].read_only)
                || planted!(Bug::CarriedOverStores);
            let apart = match is_safe {
                true => Some(NoAlias::default()),
                false => apart(flow, trace, (carrying_loop, &slicer), (source, load, distance)),
            };
            let Some(apart) = apart else { continue };
            let loaded = always
                && carrying_loop.runs_through
                && candidate.equal
                && distance == 1
                && apart.pairs.is_empty();
            let start = match loaded {
                true => slicer
                    .address(trace, load.inst, 0)
                    .map(|(slice, base)| Start::Loaded { slice, base }),
                false if candidate.equal => Some(Start::Performed(None)),
                false if candidate.keeps => slicer
                    .same_address(trace, (load.inst, distance), source.inst)
                    .map(|test| Start::Performed(Some(test))),
                false => slicer
                    .same_address_later(trace, (load.inst, distance), source.inst)
                    .map(|test| Start::Performed(Some(test))),
            };
            let Some(start) = start else { continue };
            found.push(LoopCarriedReuse {
                load: (*load).clone(),
                source: source.inst,
                distance,
                pieces,
                entry: carrying_loop.entry,
                falls_in: carrying_loop.falls_in,
                latches: carrying_loop.latches.clone(),
                start,
                apart,
            });
            break;
        }
    }
    found
}
