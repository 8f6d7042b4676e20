//! Where the lanes of a warp may meet again in different iterations of a loop.
//!
//! Lanes that part at a branch meet again where all ways from it lead together: at its immediate
//! postdominator. That is where ptxas puts the end of its `BSSY`/`BSYNC` regions. If some of the ways
//! there take a back edge of a loop and others do not, the lanes that meet are in different
//! iterations of that loop:
//!
//! ```text
//! L: i += 1; @p(lane, i) bra L;   // "continue"
//!    use of i                     // all lanes wait here for the last one, each with its own i
//!    @q bra L;
//! ```
//!
//! In: blocks and loops. Out: for each branch the loops whose iterations it takes apart unless all
//! lanes take it the same way. Whether they do is not known here.
//!
//! Lanes that leave the function do not hold back the others, so postdominators are computed twice:
//! with all ways out of the function, and without those for which there is another way to go.

use petgraph::algo::dominators::simple_fast;
use petgraph::graph::{DiGraph, NodeIndex};
use rustc_hash::FxHashSet;

use super::graph::{Block, BlockId};
use super::loops::{LoopForest, LoopId};

/// Every `(branch, loop)` such that lanes which part at the block's end may meet in different
/// iterations of the loop.
pub(super) fn loops_taken_apart(blocks: &[Block], loops: &LoopForest) -> Vec<(BlockId, LoopId)> {
    let mut found = FxHashSet::default();
    if loops.loops.is_empty() {
        return Vec::new();
    }
    for early_exits in [true, false] {
        let meet = postdominators(blocks, early_exits);
        for branch in (0..blocks.len() as u32).map(BlockId) {
            let (true, Some(at)) =
                (blocks[branch.index()].successors.len() > 1, meet[branch.index()])
            else {
                continue;
            };
            for id in loops.around(loops.innermost(branch)) {
                if loops.contains(id, at)
                    && loops.get(id).header != at
                    && passes_back_edge(blocks, loops, id, branch, at)
                {
                    found.insert((branch, id));
                }
            }
        }
    }
    let mut found: Vec<(BlockId, LoopId)> = found.into_iter().collect();
    found.sort_unstable();
    found
}

/// Whether some way within the loop from the branch to the first arrival at `at` leads back to the
/// loop's header.
fn passes_back_edge(
    blocks: &[Block],
    loops: &LoopForest,
    id: LoopId,
    branch: BlockId,
    at: BlockId,
) -> bool {
    let header = loops.get(id).header;
    let mut seen = FxHashSet::default();
    let mut work = vec![branch];
    while let Some(block) = work.pop() {
        for edge in &blocks[block.index()].successors {
            if edge.to == header {
                return true;
            }
            if edge.to != at && loops.contains(id, edge.to) && seen.insert(edge.to) {
                work.push(edge.to);
            }
        }
    }
    false
}

/// The immediate postdominator of each block; `None` where that is the end of the function. Without
/// `early_exits` a way that ends the function at once counts only where there is no other one.
fn postdominators(blocks: &[Block], early_exits: bool) -> Vec<Option<BlockId>> {
    let ends = |block: &Block| block.successors.is_empty();
    let mut reversed = DiGraph::<(), (), u32>::with_capacity(blocks.len() + 1, blocks.len() * 2);
    for _ in 0..=blocks.len() {
        reversed.add_node(());
    }
    let end = NodeIndex::new(blocks.len());
    for (from, block) in blocks.iter().enumerate() {
        let from = NodeIndex::new(from);
        if ends(block) || block.leaves && early_exits {
            reversed.add_edge(end, from, ());
        }
        let stays = block.successors.iter().any(|edge| !ends(&blocks[edge.to.index()]));
        for edge in &block.successors {
            if early_exits || !stays || !ends(&blocks[edge.to.index()]) {
                reversed.add_edge(NodeIndex::new(edge.to.index()), from, ());
            }
        }
    }
    let found = simple_fast(&reversed, end);
    (0..blocks.len())
        .map(|block| found.immediate_dominator(NodeIndex::new(block)))
        .map(|node| node.filter(|&node| node != end).map(|node| BlockId(node.index() as u32)))
        .collect()
}
