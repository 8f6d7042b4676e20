//! The code of a loop that stands in a row, without another loop in it, and is left behind its last instruction alone.

use crate::cfg::{BlockId, EdgeCondition, Flow, InstId, InstRange};
use crate::isa::Opcode;

/// A loop.
pub(super) struct Body {
    pub header: BlockId,
    /// Its instructions; the last one is the branch back.
    pub range: InstRange,
    /// The code that not each iteration executes.
    sometimes: Vec<InstRange>,
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
        let (mut exit, mut is_closed) = (None, true);
        for block in flow.block_ids().filter(|block| flow.loops.contains(id, *block)) {
            let own = flow.block(block);
            length += own.instructions().len();
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
                // All other ways lead forwards within the loop.
                let is_within = flow.loops.contains(id, edge.to);
                let is_forward = flow.block(edge.to).first >= own.end;
                is_closed &= is_back || is_out || is_within && is_forward;
            }
        }
        let exit = exit.filter(|_| is_closed && length == range.len())?;
        Some(Body { header, range, sometimes, exit })
    }

    /// Whether each iteration executes an instruction.
    pub(super) fn always(&self, at: InstId) -> bool {
        self.range.contains(&at) && !self.sometimes.iter().any(|range| range.contains(&at))
    }
}
