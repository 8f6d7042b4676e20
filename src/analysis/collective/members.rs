//! Which lanes are together at a network: the member masks of its shuffles, and warp instructions that other lanes of the
//! warp may execute meanwhile.

use rustc_hash::FxHashSet;

use super::chain::{Chain, Chains};
use super::value::ValueId;
use crate::cfg::{Arg, BlockId, EdgeCondition, Flow, Inst, InstId};
use crate::emulate::KernelTrace;
use crate::isa::{Opcode, Qualifier};

/// The function, and facts that the analysis needs.
pub struct Place<'p, 'm, 's> {
    /// Its control flow.
    pub flow: &'p Flow<'m, 's>,
    /// Whether it is a kernel: a function may be called by some lanes of a warp.
    pub is_kernel: bool,
    /// Its memory trace.
    pub trace: &'p KernelTrace,
    /// The line of an instruction.
    pub line: &'p dyn Fn(InstId) -> u32,
}

/// Whether the member mask of a shuffle is the constant of all lanes.
pub(super) fn has_all_members(chains: &Chains<'_, '_, '_>, chain: &Chain, at: InstId) -> bool {
    match chains.flow.insts[at].args.last() {
        Some(Arg::Constant(value)) => {
            value.as_integer().is_some_and(|value| value as u32 == u32::MAX)
        }
        Some(Arg::Register(register)) => {
            let from = chain.steps[&at].reads.iter().find(|(read, _)| read == register);
            let table = match from {
                Some((_, Some(from))) => {
                    let results = &chain.steps[from].results;
                    results.iter().find(|(result, _)| result == register).map(|(_, table)| table)
                }
                _ => chain.before.get(register),
            };
            let is_full =
                |value: &ValueId| chains.values.constant_of(*value) == Some(u64::from(u32::MAX));
            table.is_some_and(|table| table.iter().all(is_full))
        }
        _ => false,
    }
}

/// Whether an instruction is executed by the lanes of a warp together, whose number its mask says, or may lead to one.
fn is_of_warp(inst: &Inst<'_, '_>) -> bool {
    let form = &inst.ast.form;
    let is_block =
        matches!(form.opcode, Opcode::Bar | Opcode::Barrier) && !form.has(Qualifier::Warp);
    form.has(Qualifier::Sync) && !is_block || form.opcode == Opcode::Call
}

/// Whether all threads of the block wait for each other at an instruction: the barrier names no number of threads, and all
/// lanes of a warp execute the same one (PTX ISA, "barrier.sync": `.aligned`, as `bar.sync` is).
fn is_of_block(inst: &Inst<'_, '_>) -> bool {
    let form = &inst.ast.form;
    let is_aligned = form.opcode == Opcode::Bar
        || form.opcode == Opcode::Barrier && form.has(Qualifier::Aligned);
    is_aligned
        && !form.has_any(&[Qualifier::Warp, Qualifier::Arrive, Qualifier::Red])
        && inst.args.len() <= 1
}

/// A warp instruction that lanes may execute while others of their warp execute the chain: lanes that have been together
/// since the last barrier of the block part at a branch, and those that do not come to the chain come to that instruction
/// first. (A shuffle with the mask of all lanes waits for all: PTX ISA, "shfl.sync".) The last branch of a counted loop is
/// the same for all lanes.
pub(super) fn elsewhere(
    place: &Place<'_, '_, '_>,
    chain: &Chain,
    (first_of_network, is_counted): (InstId, bool),
) -> Option<InstId> {
    let flow = place.flow;
    // (At a warp instruction lanes may have met others at another one: PTX ISA, "shfl.sync", asks for the same qualifiers
    // and mask.)
    let waits_at = |at: InstId| {
        let inst = &flow.insts[at];
        inst.guard.is_none() && is_of_block(inst)
    };
    // Lanes that have waited for each other in the chain itself are together behind.
    if chain.insts.iter().take_while(|at| **at < first_of_network).any(|at| waits_at(*at)) {
        return None;
    }
    let own: FxHashSet<BlockId> = chain.blocks.iter().copied().collect();
    // The first instruction of a block at which lanes wait, and whether only those of the warp do.
    let waits = |block: BlockId| {
        let mut insts = flow.block(block).instructions();
        insts.find_map(|at| match &flow.insts[at] {
            inst if is_of_block(inst) && inst.guard.is_none() => Some((at, false)),
            inst => is_of_warp(inst).then_some((at, true)),
        })
    };
    let mut above: FxHashSet<BlockId> = FxHashSet::default();
    let first = chain.blocks[0];
    let mut work: Vec<BlockId> =
        flow.block(first).predecessors.iter().map(|edge| edge.from).collect();
    while let Some(block) = work.pop() {
        let has_barrier = || flow.block(block).instructions().any(waits_at);
        if above.insert(block) && !own.contains(&block) && !has_barrier() {
            work.extend(flow.block(block).predecessors.iter().map(|edge| edge.from));
        }
    }
    let mut above: Vec<BlockId> = above.into_iter().collect();
    above.sort_unstable();
    let parts = |block: &BlockId| {
        let successors = &flow.block(*block).successors;
        let branches = successors.iter().any(|edge| edge.condition != EdgeCondition::Always);
        let is_counted = is_counted && own.contains(block);
        successors.len() > 1
            && branches
            && !is_counted
            && !place.trace.is_uniform_branch(flow, *block)
    };
    let mut seen: FxHashSet<BlockId> = FxHashSet::default();
    let mut work: Vec<BlockId> = Vec::new();
    for block in above.into_iter().filter(parts) {
        work.extend(flow.block(block).successors.iter().map(|edge| edge.to));
    }
    while let Some(block) = work.pop() {
        if own.contains(&block) || !seen.insert(block) {
            continue;
        }
        match waits(block) {
            Some((at, true)) => return Some(at),
            Some((_, false)) => {}
            None => work.extend(flow.block(block).successors.iter().map(|edge| edge.to)),
        }
    }
    None
}
