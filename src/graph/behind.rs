//! Post-dominators: which blocks lie on every way from a block out of the function.

use typed_index_collections::{TiSlice, TiVec, ti_vec};

use super::block::{Block, BlockId};
use super::graph::Flow;

/// For each block its immediate post-dominator: the nearest block on every way from there out of the function.
/// `None` where that is the end of the function, or where no way leads out.
#[derive(Debug)]
pub struct PostDominators(TiVec<BlockId, Option<BlockId>>);

impl PostDominators {
    /// Post-dominators of a function (Cooper, Harvey and Kennedy, "A simple, fast dominance algorithm", on the
    /// reversed graph; the node behind the blocks is the end).
    pub fn of(flow: &Flow<'_, '_>) -> PostDominators {
        let end = flow.blocks.next_key();
        let order = leaving_order(flow);
        let mut number = ti_vec![None; flow.blocks.len() + 1];
        number[end] = Some(order.len());
        order.iter().enumerate().for_each(|(at, block)| number[*block] = Some(at));
        let mut nearest = ti_vec![None; flow.blocks.len() + 1];
        nearest[end] = Some(end);
        let mut changed = true;
        while changed {
            changed = false;
            for block in order.iter().rev() {
                let mut common = flow.block(*block).leaves.then_some(end);
                for edge in &flow.block(*block).successors {
                    let to = edge.to;
                    if nearest[to].is_some() {
                        common =
                            Some(common.map_or(to, |known| meet(&nearest, &number, known, to)));
                    }
                }
                if common.is_some() && nearest[*block] != common {
                    nearest[*block] = common;
                    changed = true;
                }
            }
        }
        nearest.pop();
        PostDominators(nearest.into_iter().map(|one| one.filter(|at| *at != end)).collect())
    }

    /// The nearest block behind a block that every way out passes.
    pub fn immediate(&self, block: BlockId) -> Option<BlockId> {
        self.0[block]
    }

    /// Whether every way from a block's immediate dominator out of the function passes the block.
    pub fn follows_dominator(&self, flow: &Flow<'_, '_>, block: BlockId) -> bool {
        let Some(from) = flow.dominators.immediate(block) else { return true };
        let behind = std::iter::successors(self.immediate(from), |&at| self.immediate(at));
        behind.take(flow.blocks.len()).any(|at| at == block)
    }

    /// The blocks on ways from the successors of a block to its immediate post-dominator, that one left out.
    pub fn between(&self, flow: &Flow<'_, '_>, block: BlockId) -> Vec<BlockId> {
        let next = flow.block(block).successors.iter().map(|edge| edge.to);
        reached(&flow.blocks, next, self.immediate(block))
    }
}

/// The nearest common post-dominator of two nodes.
fn meet(
    nearest: &TiSlice<BlockId, Option<BlockId>>,
    number: &TiSlice<BlockId, Option<usize>>,
    mut a: BlockId,
    mut b: BlockId,
) -> BlockId {
    let end = BlockId(nearest.len() as u32 - 1);
    while a != b {
        let step = |at: BlockId| nearest[at].unwrap_or(end);
        match number[a] < number[b] {
            true => a = step(a),
            false => b = step(b),
        }
    }
    a
}

/// The blocks from which the end can be reached, in the postorder of a walk from the end backwards.
fn leaving_order(flow: &Flow<'_, '_>) -> Vec<BlockId> {
    let mut seen = ti_vec![false; flow.blocks.len()];
    let mut order = Vec::new();
    for end in flow.block_ids().filter(|block| flow.block(*block).leaves) {
        let mut stack = Vec::new();
        if !std::mem::replace(&mut seen[end], true) {
            stack.push((end, 0));
        }
        while let Some((block, next)) = stack.last_mut() {
            match flow.block(*block).predecessors.get(*next) {
                Some(edge) => {
                    *next += 1;
                    if !std::mem::replace(&mut seen[edge.from], true) {
                        stack.push((edge.from, 0));
                    }
                }
                None => {
                    order.push(*block);
                    stack.pop();
                }
            }
        }
    }
    order
}

/// The blocks that some blocks lead to, themselves included, without passing `stop`.
pub fn reached(
    blocks: &TiSlice<BlockId, Block>,
    from: impl IntoIterator<Item = BlockId>,
    stop: Option<BlockId>,
) -> Vec<BlockId> {
    let mut seen = ti_vec![false; blocks.len()];
    let mut work: Vec<BlockId> = from.into_iter().collect();
    let mut found = Vec::new();
    while let Some(block) = work.pop() {
        if Some(block) == stop || std::mem::replace(&mut seen[block], true) {
            continue;
        }
        found.push(block);
        work.extend(blocks[block].successors.iter().map(|edge| edge.to));
    }
    found
}
