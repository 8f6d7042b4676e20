//! Loops that may carry values: their entries, the places where values are passed on, and the effects between.

use smallvec::SmallVec;

use crate::cfg::{BlockId, Flow, InstId, LoopId};
use crate::emulate::{Effect, KernelTrace, effect};
use crate::ptx::StateSpace;

/// A loop that may carry values.
pub(super) struct CarryingLoop {
    pub id: LoopId,
    /// The last instruction in front of the loop.
    pub entry: InstId,
    /// Whether the loop is entered by going on behind it.
    pub falls_in: bool,
    /// The back edges' branches. An iteration executes at most one of them, once.
    pub latches: SmallVec<[InstId; 1]>,
    /// Their blocks.
    pub latch_blocks: Vec<BlockId>,
    /// The blocks from which lanes leave the loop or go back to its header.
    pub ends: Vec<BlockId>,
    /// The loop's blocks.
    pub blocks: Vec<BlockId>,
    /// Whether nothing in an iteration may run for ever: there is no inner loop.
    pub runs_through: bool,
    /// The weak stores to global memory, by number of access.
    pub stores: Vec<usize>,
    /// Whether something else in the loop may change global memory, or orders others' changes.
    pub changes_memory: bool,
}

/// A loop that may carry values: one edge into it, behind or in front of whose last instruction code
/// is executed whenever the loop is entered.
pub(super) fn carrying_loop(
    flow: &Flow<'_, '_>,
    trace: &KernelTrace,
    id: LoopId,
) -> Option<CarryingLoop> {
    let one = flow.loops.get(id);
    let latch_blocks: Vec<BlockId> = one.latches.iter().map(|edge| edge.from).collect();
    let header = flow.block(one.header);
    let mut outside = header.predecessors.iter().filter(|edge| !latch_blocks.contains(&edge.from));
    let (Some(entry), None) = (outside.next(), outside.next()) else { return None };
    let from = flow.block(entry.from);
    // (A block without instructions is the function's start; its entry is not a place behind something.)
    let falls_in = header.first == from.end;
    let alone = from.successors.len() == 1;
    if !(alone || falls_in) || from.first == from.end || !trace.reachable[entry.from] {
        return None;
    }
    let blocks: Vec<BlockId> =
        flow.block_ids().filter(|&block| flow.loops.contains(id, block)).collect();
    trace.arena.charge(flow.blocks.len() as u64 / 4);
    let mut latches = SmallVec::new();
    for &block in &latch_blocks {
        latches.push(latch(flow, id, block, latch_blocks.len() == 1)?);
    }
    let leaves = |block: &&BlockId| {
        let here = flow.block(**block);
        here.leaves
            || here.successors.iter().any(|edge| !flow.loops.contains(id, edge.to))
            || latch_blocks.contains(*block)
    };
    let ends: Vec<BlockId> = blocks.iter().filter(leaves).copied().collect();
    let mut changes_memory = false;
    let mut untraced = 0_usize;
    for &block in &blocks {
        for inst in &flow.insts[flow.block(block).instructions().range()] {
            match effect(inst) {
                // They may end the lane, or wait for ever.
                Effect::Call | Effect::Opaque => return None,
                Effect::Atomic | Effect::Barrier => changes_memory = true,
                Effect::Store => untraced += 1,
                Effect::Load | Effect::Pure | Effect::Observe | Effect::Hint | Effect::Control => {}
            }
        }
    }
    let mut stores = Vec::new();
    for (index, access) in trace.accesses.iter().enumerate() {
        if !flow.loops.contains(id, access.block) {
            continue;
        }
        changes_memory |= access.strong.is_some();
        untraced -= usize::from(access.effect == Effect::Store);
        let elsewhere =
            matches!(access.space, StateSpace::Local | StateSpace::Param | StateSpace::Shared);
        if access.effect == Effect::Store && !elsewhere {
            // In an inner loop it is executed again and again, and a generic address is not a number that
            // could be compared with a global one.
            let is_plain = access.space == StateSpace::Global
                && access.address.is_some()
                && flow.loops.innermost(access.block) == Some(id);
            changes_memory |= !is_plain;
            stores.push(index);
        }
    }
    changes_memory |= untraced > 0;
    let runs_through = !flow.loops.loops.iter().any(|other| other.parent == Some(id));
    let (entry, id) = (from.end.before(), id);
    Some(CarryingLoop {
        id,
        entry,
        falls_in,
        latches,
        latch_blocks,
        ends,
        blocks,
        runs_through,
        stores,
        changes_memory,
    })
}

/// The branch at the end of a block that goes back to the header, if the code in front of it is executed once in an
/// iteration that ends there and in no other one.
fn latch(flow: &Flow<'_, '_>, id: LoopId, block: BlockId, alone: bool) -> Option<InstId> {
    // In an inner loop it would be executed again and again.
    let once = flow.loops.innermost(block) == Some(id);
    let header = flow.loops.get(id).header;
    let goes_on = |to: BlockId| to != header && flow.loops.contains(id, to);
    let ends = alone || !flow.block(block).successors.iter().any(|edge| goes_on(edge.to));
    let last = flow.block(block).instructions().next_back()?;
    let inst = &flow.insts[last];
    let goes_back = !inst.targets.is_empty() && effect(inst) == Effect::Control;
    (once && ends && goes_back).then_some(last)
}
