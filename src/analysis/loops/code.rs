//! Loops that stand in a row in the text, without another loop in them, with one entry. They are left behind their last
//! instruction, and possibly by branches in front of it.

use super::sums::Sums;
use crate::cfg::{Arg, BlockId, EdgeCondition, Flow, InstId, InstRange, LoopId, RegisterId};
use crate::emulate::definitions;
use crate::isa::{Opcode, Special};

/// Why a loop keeps a value in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoopShape {
    /// Several branches lead back to its head.
    #[error("several branches lead back to the loop's head")]
    Latches,
    /// Another loop stands in it.
    #[error("another loop stands in the loop")]
    Inner,
    /// Its code does not stand in a row.
    #[error("the loop's code does not stand in a row")]
    Scattered,
    /// It has several entries, or is entered by a jump.
    #[error("the loop is entered by a jump")]
    Entries,
    /// It is left elsewhere than behind its last instruction.
    #[error("the loop is left elsewhere than behind its last instruction")]
    Exits,
    /// It stands in several scopes.
    #[error("the loop stands in several scopes")]
    Scopes,
    /// No other access in it may touch the value.
    #[error("nothing else in the loop may touch the stored bytes")]
    Untested,
    /// Other replacements change it or other code of the function.
    #[error("other replacements in this function change the loop, or ask which lanes are together")]
    Taken,
}

/// The code of a loop.
#[derive(Clone, Debug)]
pub struct LoopCode {
    /// Its header.
    pub header: BlockId,
    /// The blocks.
    pub blocks: Vec<BlockId>,
    /// The instructions; the last one is the branch back.
    pub range: InstRange,
    /// The branches in front of the last instruction that leave the loop.
    pub exits: Vec<InstId>,
    /// The instructions that not each iteration executes which goes on to the next one.
    sometimes: Vec<InstRange>,
}

impl LoopCode {
    /// Whether each iteration executes an instruction that goes on to the next one.
    pub fn always(&self, at: InstId) -> bool {
        !self.sometimes.iter().any(|range| range.contains(&at))
    }

    /// Whether each iteration executes an instruction without a guard, and does so before it leaves the loop.
    pub fn is_sure(&self, flow: &Flow<'_, '_>, at: InstId) -> bool {
        self.always(at)
            && flow.insts[at].guard.is_none()
            && self.exits.iter().all(|exit| self.comes_before(flow, at, *exit))
    }

    /// Whether each way from the loop's head to an instruction leads past another one, which has no guard.
    pub fn comes_before(&self, flow: &Flow<'_, '_>, first: InstId, then: InstId) -> bool {
        let block = |inst: InstId| {
            let mut blocks = self.blocks.iter().copied();
            blocks.find(|block| flow.block(*block).instructions().contains(&inst))
        };
        let (Some(of_first), Some(of_then)) = (block(first), block(then)) else { return false };
        first < then
            && flow.insts[first].guard.is_none()
            && flow.dominators.dominates(of_first, of_then)
    }

    /// The sums of its registers.
    pub fn sums<'f, 'm, 's>(&self, flow: &'f Flow<'m, 's>) -> Sums<'f, 'm, 's> {
        Sums::of_code(flow, self.range.start, self.sometimes.clone())
    }

    /// The instructions that write a register.
    pub fn writers(&self, flow: &Flow<'_, '_>, register: RegisterId) -> Vec<InstId> {
        let writes = |at: &InstId| definitions(&flow.insts[*at]).contains(&register);
        self.range.clone().filter(writes).collect()
    }

    /// The code of a loop.
    ///
    /// # Errors
    /// Its shape.
    pub fn of(flow: &Flow<'_, '_>, id: LoopId) -> Result<LoopCode, LoopShape> {
        let one = flow.loops.get(id);
        let [back] = one.latches[..] else { return Err(LoopShape::Latches) };
        let (header, latch) = (flow.block(one.header), flow.block(back.from));
        let range = header.first.to(latch.end);
        let (blocks, exits, sometimes) = (Vec::new(), Vec::new(), Vec::new());
        let mut code = LoopCode { header: one.header, blocks, range, exits, sometimes };
        let mut length = 0;
        for block in flow.block_ids().filter(|block| flow.loops.contains(id, *block)) {
            let own = flow.block(block);
            if flow.loops.innermost(block) != Some(id) {
                return Err(LoopShape::Inner);
            }
            let leaves = |edge: &&crate::cfg::Edge| !flow.loops.contains(id, edge.to);
            let mut out = own.successors.iter().filter(leaves);
            if block != back.from && (own.leaves || out.clone().next().is_some()) {
                // (Code that never comes back does not belong to the loop: one way of a branch goes on.)
                let last = &flow.insts[own.end.before()];
                let to = out.next().map(|edge| flow.block(edge.to).first);
                let is_branch = last.ast.form.opcode == Opcode::Bra && last.guard.is_some();
                if own.leaves || !is_branch || to != last.targets.first().copied() {
                    return Err(LoopShape::Exits);
                }
                code.exits.push(own.end.before());
            }
            let leads_out = |edge: &crate::cfg::Edge| !flow.loops.contains(id, edge.to);
            let is_back = |to: BlockId| block == back.from && to == one.header;
            let forward = |edge: &crate::cfg::Edge| {
                is_back(edge.to) || leads_out(edge) || flow.block(edge.to).first >= own.end
            };
            let is_within = own.instructions().all(|at| code.range.contains(&at));
            if !is_within || !own.successors.iter().all(forward) {
                return Err(LoopShape::Scattered);
            }
            length += own.instructions().len();
            if !flow.dominators.dominates(block, back.from) {
                code.sometimes.push(own.instructions());
            }
            code.blocks.push(block);
        }
        if length != code.range.len() {
            return Err(LoopShape::Scattered);
        }
        code.has_ends(flow, back.from)?;
        Ok(code)
    }

    /// Whether a loop is entered from the code in front of it, and left to the code behind it.
    fn has_ends(&self, flow: &Flow<'_, '_>, latch: BlockId) -> Result<(), LoopShape> {
        let header = flow.block(self.header);
        let mut entries = header.predecessors.iter().filter(|edge| edge.from != latch);
        let (Some(entry), None) = (entries.next(), entries.next()) else {
            return Err(LoopShape::Entries);
        };
        let before = flow.block(entry.from);
        let last = header.first.0.checked_sub(1).map(InstId);
        let Some(last) = last.filter(|last| before.instructions().contains(last)) else {
            return Err(LoopShape::Entries);
        };
        let jumps = flow.insts[last].targets.contains(&header.first);
        if jumps || entry.condition == EdgeCondition::Index {
            return Err(LoopShape::Entries);
        }
        let branch = &flow.insts[self.range.end.before()];
        let is_behind = |edge: &crate::cfg::Edge| flow.block(edge.to).first == self.range.end;
        let falls = flow.block(latch).successors.iter().any(is_behind);
        let has_code = self.range.end < flow.insts.next_key();
        if !falls
            || !has_code
            || branch.ast.form.opcode != Opcode::Bra
            || branch.targets[..] != [header.first]
        {
            return Err(LoopShape::Exits);
        }
        let place = |inst: InstId| flow.insts[inst].ast.span.start as usize;
        let scope = flow.scopes.scope_at(place(last));
        if self.range.clone().any(|inst| flow.scopes.scope_at(place(inst)) != scope) {
            return Err(LoopShape::Scopes);
        }
        Ok(())
    }
}

/// Whether an operand is a special register whose value may be another one a moment later, such as a clock.
pub fn is_observed(arg: &Arg<'_>) -> bool {
    use Special::{
        Ctaid, Laneid, LanemaskEq, LanemaskGe, LanemaskGt, LanemaskLe, LanemaskLt, Nctaid, Ntid,
        Tid,
    };
    match arg {
        Arg::Special(
            Tid(_) | Ntid(_) | Ctaid(_) | Nctaid(_) | Laneid | LanemaskEq | LanemaskGe | LanemaskGt
            | LanemaskLe | LanemaskLt,
        ) => false,
        Arg::Special(_) => true,
        Arg::Vector(all) => all.iter().any(is_observed),
        _ => false,
    }
}
