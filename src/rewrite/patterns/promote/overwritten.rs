//! Stores of one block to the same bytes: the last one overwrites the others.
//!
//! In: the trace of one function. Out: [`Overwritten`] groups. All stores of a group write the same bytes under one
//! guard predicate, and between the first and the last there are only arithmetic and loads. So the last one alone leaves
//! the same memory behind, if no load in between reads those bytes. Where that is not proved of a load,
//! its address is compared with the stores' in front of the first store, with the untouched statements on the other
//! side.

use crate::loops::{AddressStep, Steps};
use crate::reuse::{Legality, PlainStore, Refusal, is_apart};
use rustc_hash::FxHashMap;

use crate::cfg::{Arg, Base, BlockId, InstId};
use crate::emulate::{Effect, KernelTrace, definitions, effect};
use crate::ptx::StateSpace;

/// The most loads that are compared.
const MAX_TESTED: usize = 32;

/// Stores to the same bytes, all overwritten by the last one.
#[derive(Clone, Debug)]
pub(super) struct Overwritten {
    /// The stores in program order.
    pub stores: Vec<PlainStore>,
    /// The block that they stand in.
    pub block: BlockId,
    /// The instructions that compute the bases of the compared addresses, in front of the first store.
    pub steps: Vec<AddressStep>,
    /// The loads that must read none of the stores' bytes.
    pub tested: Vec<TestedLoad>,
    /// Why the stores stay, if they have to.
    pub refusal: Option<Refusal>,
}

/// A load whose address is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TestedLoad {
    /// The instruction.
    pub inst: InstId,
    /// The step that computes the base of its address; `None` if the register holds it in front of the first store.
    pub base: Option<usize>,
    /// The bytes that it reads.
    pub bytes: u32,
}

/// The groups that the function's stores fall into, in program order.
pub(super) fn overwritten(
    legality: &mut Legality<'_, '_, '_>,
    trace: &mut KernelTrace,
) -> Vec<Overwritten> {
    if legality.options.strict || legality.observes_lanes || legality.is_irreducible() {
        return Vec::new();
    }
    let mut runs: Vec<Vec<PlainStore>> = Vec::new();
    for store in legality.plain_stores(trace) {
        if trace.arena.is_nearly_spent() {
            break;
        }
        trace.arena.charge(8);
        match runs.last_mut().filter(|run| overwrites(legality, trace, run, &store)) {
            Some(run) => run.push(store),
            None => runs.push(vec![store]),
        }
    }
    let at: FxHashMap<InstId, usize> =
        trace.accesses.iter().enumerate().map(|(index, one)| (one.inst, index)).collect();
    let runs = runs.into_iter().filter(|run| run.len() > 1);
    runs.map(|stores| as_group(legality, trace, stores, &at)).collect()
}

/// Whether a store overwrites all bytes of the last store of a run, with nothing in between but arithmetic and
/// loads.
fn overwrites(
    legality: &Legality<'_, '_, '_>,
    trace: &mut KernelTrace,
    run: &[PlainStore],
    store: &PlainStore,
) -> bool {
    let Some(last) = run.last() else { return false };
    let block = |one: &PlainStore| trace.accesses[one.access.access].block;
    block(last) == block(store)
        && last.is_followed_by(store)
        && (last.ty.bits() == store.ty.bits() || planted!(Bug::OverwrittenInPart))
        && last.values.len() == store.values.len()
        && last.access.guard == store.access.guard
        && legality.same_modifiers(&last.access, &store.access)
        && same_place(legality, last.access.inst, store.access.inst)
        && trace.arena.constant_difference(store.access.address, last.access.address) == Some(0)
        && legality.parts(trace, last.access.inst, store).is_none()
}

/// Whether two stores name one base and offset, and nothing between them writes the base.
fn same_place(legality: &Legality<'_, '_, '_>, from: InstId, to: InstId) -> bool {
    let insts = &legality.flow().insts;
    let place = |inst: InstId| match insts[inst].args.first() {
        Some(Arg::Memory { base: Base::Register(base), offset, .. }) => Some((*base, *offset)),
        _ => None,
    };
    let between = &insts[from.next()..to];
    place(from).is_some_and(|(base, _)| {
        place(from) == place(to) && !between.iter().any(|inst| definitions(inst).contains(&base))
    })
}

fn as_group(
    legality: &Legality<'_, '_, '_>,
    trace: &mut KernelTrace,
    stores: Vec<PlainStore>,
    at: &FxHashMap<InstId, usize>,
) -> Overwritten {
    let block = trace.accesses[stores[0].access.access].block;
    let mut group =
        Overwritten { stores, block, steps: Vec::new(), tested: Vec::new(), refusal: None };
    group.refusal = test_loads(legality, trace, &mut group, at).err();
    group
}

/// Finds the loads between the stores, and what compares their addresses.
fn test_loads(
    legality: &Legality<'_, '_, '_>,
    trace: &mut KernelTrace,
    group: &mut Overwritten,
    at: &FxHashMap<InstId, usize>,
) -> Result<(), Refusal> {
    let flow = legality.flow();
    let first = group.stores[0].access.clone();
    let last = group.stores.last().map_or(first.inst, |store| store.access.inst);
    trace.arena.charge(u64::from(last.since(first.inst)));
    let mut steps = Steps::in_front_of(flow, first.inst);
    for inst in first.inst.next().to(last) {
        if effect(&flow.insts[inst]) != Effect::Load {
            continue;
        }
        let parted = || legality.parted(&flow.insts[inst]);
        let index = at.get(&inst).copied().ok_or_else(parted)?;
        if is_apart(trace, index, &first) {
            continue;
        }
        let load = &trace.accesses[index];
        let (bytes, address) = (load.bytes(), load.address.ok_or_else(parted)?);
        let comparable = load.strong.is_none()
            && !first.generic
            && load.space == StateSpace::Global
            && bytes > 0
            && trace.arena.width(address) == 64
            && group.tested.len() < MAX_TESTED;
        if !comparable {
            return Err(parted());
        }
        // A load that certainly reads the stored bytes needs the store.
        if trace.arena.constant_difference(address, first.address).is_some() {
            if planted!(Bug::OverwrittenRead) {
                continue;
            }
            return Err(parted());
        }
        let base = match flow.insts[inst].args.get(1) {
            Some(Arg::Memory { base: Base::Register(base), rest, .. }) if rest.is_empty() => *base,
            _ => return Err(parted()),
        };
        let base = steps.of(base, inst).ok_or_else(parted)?;
        group.tested.push(TestedLoad { inst, base, bytes });
    }
    group.steps = steps.found;
    Ok(())
}
