//! The code of a loop that stands in a row, without another loop in it, and is left behind its last instruction, or by
//! branches in front of it.

use crate::cfg::{BlockId, EdgeCondition, Flow, InstId, InstRange};
use crate::isa::Opcode;

/// A loop.
pub(super) struct Body {
    pub header: BlockId,
    /// Its instructions; the last one is the branch back.
    pub range: InstRange,
    /// The code that not each iteration executes which goes on to the next one.
    sometimes: Vec<InstRange>,
    /// The blocks.
    pub blocks: Vec<BlockId>,
    /// The branches in front of the last instruction that leave the loop.
    pub exits: Vec<InstId>,
    /// The block behind the loop.
    pub exit: BlockId,
}

impl Body {
    /// The loop with a header.
    pub(super) fn of(flow: &Flow<'_, '_>, header: BlockId) -> Option<Body> {
        let id = flow.loops.headed_by(header)?;
        let [back] = flow.loops.get(id).latches[..] else { return None };
        let latch = back.from;
        let (start, end) = (flow.block(header).first, flow.block(latch).end);
        let range = start.to(end);
        if flow.insts[end.before()].ast.form.opcode != Opcode::Bra {
            return None;
        }
        let (mut length, mut sometimes) = (0, Vec::new());
        let (mut blocks, mut exits) = (Vec::new(), Vec::new());
        let (mut exit, mut is_closed) = (None, true);
        for block in flow.block_ids().filter(|block| flow.loops.contains(id, *block)) {
            let own = flow.block(block);
            length += own.instructions().len();
            blocks.push(block);
            is_closed &= !own.leaves && flow.loops.innermost(block) == Some(id);
            is_closed &= own.instructions().all(|at| range.contains(&at));
            if !flow.dominators.dominates(block, latch) {
                sometimes.push(own.instructions());
            }
            for edge in &own.successors {
                let is_back = block == latch && edge.to == header;
                let is_out = block == latch && flow.block(edge.to).first == end;
                if is_out && edge.condition != EdgeCondition::Always {
                    exit = Some(edge.to);
                }
                // All other ways lead forwards within the loop, or are the taken ones of branches out of it.
                let is_within = flow.loops.contains(id, edge.to);
                let is_forward = flow.block(edge.to).first >= own.end;
                let last = own.end.before();
                let branch = &flow.insts[last];
                let is_exit = block != latch
                    && !is_within
                    && branch.ast.form.opcode == Opcode::Bra
                    && branch.guard.is_some()
                    && branch.targets[..] == [flow.block(edge.to).first];
                if is_exit {
                    exits.push(last);
                }
                is_closed &= is_back || is_out || is_exit || is_within && is_forward;
            }
        }
        let exit = exit.filter(|_| is_closed && length == range.len())?;
        exits.sort_unstable();
        Some(Body { header, range, sometimes, blocks, exits, exit })
    }

    /// Whether each way from the loop's head to an instruction leads past another one, which has no guard.
    pub(super) fn comes_before(&self, flow: &Flow<'_, '_>, first: InstId, then: InstId) -> bool {
        let of = |at: InstId| {
            let mut blocks = self.blocks.iter().copied();
            blocks.find(|block| flow.block(*block).instructions().contains(&at))
        };
        let (Some(a), Some(b)) = (of(first), of(then)) else { return false };
        flow.insts[first].guard.is_none() && first < then && flow.dominators.dominates(a, b)
    }

    /// Whether each iteration executes an instruction, before it leaves the loop.
    pub(super) fn is_sure(&self, flow: &Flow<'_, '_>, at: InstId) -> bool {
        let last = self.range.end.before();
        let ends = self.exits.iter().copied().chain([last]);
        ends.into_iter().all(|end| self.comes_before(flow, at, end))
    }

    /// Whether each iteration executes an instruction that goes on to the next one.
    pub(super) fn always(&self, at: InstId) -> bool {
        self.range.contains(&at) && !self.sometimes.iter().any(|range| range.contains(&at))
    }
}
