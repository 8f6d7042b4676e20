//! Which blocks lead to a block: reachability, walked backwards along the edges.

use typed_index_collections::{TiSlice, TiVec, ti_vec};

use super::block::{Block, BlockId};

/// The set of blocks from which some way leads to a target block, the target itself included.
pub(super) struct Reach(TiVec<BlockId, bool>);

impl Reach {
    /// The blocks from which any way leads to `target`.
    pub(super) fn new(blocks: &TiSlice<BlockId, Block>, target: BlockId) -> Reach {
        Reach::within(blocks, target, |_| true)
    }

    /// The blocks from which a way leads to `target` that only passes blocks for which `may_pass` says
    /// so.
    pub(super) fn within(
        blocks: &TiSlice<BlockId, Block>,
        target: BlockId,
        may_pass: impl Fn(BlockId) -> bool,
    ) -> Reach {
        Reach::to_any(blocks, [target], may_pass)
    }

    /// The blocks from which such a way leads to at least one of several `targets`.
    pub(super) fn to_any(
        blocks: &TiSlice<BlockId, Block>,
        targets: impl IntoIterator<Item = BlockId>,
        may_pass: impl Fn(BlockId) -> bool,
    ) -> Reach {
        let mut leads = ti_vec![false; blocks.len()];
        let mut work: Vec<BlockId> = targets.into_iter().collect();
        work.iter().for_each(|target| leads[*target] = true);
        while let Some(block) = work.pop() {
            for edge in &blocks[block].predecessors {
                if may_pass(edge.from) && !std::mem::replace(&mut leads[edge.from], true) {
                    work.push(edge.from);
                }
            }
        }
        Reach(leads)
    }

    /// Whether some way from the start of a block leads to the target.
    pub(super) fn from(&self, block: BlockId) -> bool {
        self.0[block]
    }
}
