//! Which instructions read the result of an instruction.
//!
//! In: the control flow of a function. Out: the readers of one result, along all paths up to where the register is
//! written again.

use rustc_hash::FxHashSet;

use crate::cfg::{BlockId, Flow, InstId, RegisterId};
use crate::emulate::{definitions, reads};

/// The most instructions that are looked at for one result.
const MAX_LOOKED_AT: usize = 1 << 16;

/// The block that an instruction stands in, if it can be reached.
pub fn block_of(flow: &Flow<'_, '_>, inst: InstId) -> Option<BlockId> {
    flow.block_ids().find(|id| flow.block(*id).instructions().contains(&inst))
}

/// The instructions that may read the value that an instruction has written into a register; `None` if there are too
/// many, or one of them may do more with it than read.
pub(super) fn readers(
    flow: &Flow<'_, '_>,
    inst: InstId,
    register: RegisterId,
) -> Option<Vec<InstId>> {
    readers_before(flow, inst, register, None)
}

/// The same, up to an instruction that writes the register whatever its guard says.
pub(super) fn readers_before(
    flow: &Flow<'_, '_>,
    inst: InstId,
    register: RegisterId,
    writes: Option<InstId>,
) -> Option<Vec<InstId>> {
    readers_from(flow, (block_of(flow, inst)?, inst.next()), register, writes)
}

/// The instructions that may read a register's value at the head of a block.
pub(super) fn readers_behind(
    flow: &Flow<'_, '_>,
    block: BlockId,
    register: RegisterId,
) -> Option<Vec<InstId>> {
    readers_from(flow, (block, flow.block(block).first), register, None)
}

fn readers_from(
    flow: &Flow<'_, '_>,
    start: (BlockId, InstId),
    register: RegisterId,
    writes: Option<InstId>,
) -> Option<Vec<InstId>> {
    let mut found = Vec::new();
    let mut looked_at = 0;
    let mut seen: FxHashSet<BlockId> = FxHashSet::default();
    let mut work = vec![start];
    while let Some((block, from)) = work.pop() {
        let mut is_over = false;
        for at in from.to(flow.block(block).end) {
            let other = &flow.insts[at];
            looked_at += 1;
            if looked_at > MAX_LOOKED_AT {
                return None;
            }
            if reads(other).contains(&register) && !found.contains(&at) {
                found.push(at);
            }
            let always = other.guard.is_none() || writes == Some(at);
            if definitions(other).contains(&register) && always {
                is_over = true;
                break;
            }
        }
        if !is_over {
            for edge in &flow.block(block).successors {
                if seen.insert(edge.to) {
                    work.push((edge.to, flow.block(edge.to).first));
                }
            }
        }
    }
    found.sort_unstable();
    Some(found)
}
