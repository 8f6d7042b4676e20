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

/// The place behind an instruction, if it can be reached.
pub(super) fn behind(flow: &Flow<'_, '_>, inst: InstId) -> Option<(BlockId, InstId)> {
    Some((block_of(flow, inst)?, inst.next()))
}

/// The instructions that may read the value that a register has at a place, up to `writes` and to those that write it again
/// without a guard. `None` without a place, and where more than `MAX_LOOKED_AT` instructions would be looked at.
pub(super) fn readers(
    flow: &Flow<'_, '_>,
    start: Option<(BlockId, InstId)>,
    register: RegisterId,
    writes: Option<InstId>,
) -> Option<Vec<InstId>> {
    let mut found = Vec::new();
    let mut looked_at = 0;
    let mut seen: FxHashSet<BlockId> = FxHashSet::default();
    let mut work = vec![start?];
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
