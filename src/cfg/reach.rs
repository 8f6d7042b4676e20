//! Which blocks lead to a block: reachability, walked backwards along the edges.

use super::block::{Block, BlockId};

/// The set of blocks from which some way leads to a target block, the target itself included.
pub(super) struct Reach(Vec<bool>);

impl Reach {
    /// The blocks from which any way leads to `target`.
    pub(super) fn new(blocks: &[Block], target: BlockId) -> Reach {
        Reach::within(blocks, target, |_| true)
    }

    /// The blocks from which a way leads to `target` that only passes blocks for which `may_pass` says
    /// so.
    pub(super) fn within(
        blocks: &[Block],
        target: BlockId,
        may_pass: impl Fn(BlockId) -> bool,
    ) -> Reach {
        Reach::to_any(blocks, [target], may_pass)
    }

    /// The blocks from which such a way leads to at least one of several `targets`.
    pub(super) fn to_any(
        blocks: &[Block],
        targets: impl IntoIterator<Item = BlockId>,
        may_pass: impl Fn(BlockId) -> bool,
    ) -> Reach {
        let mut leads = vec![false; blocks.len()];
        let mut work: Vec<BlockId> = targets.into_iter().collect();
        work.iter().for_each(|target| leads[target.index()] = true);
        while let Some(block) = work.pop() {
            for edge in &blocks[block.index()].predecessors {
                if may_pass(edge.from) && !std::mem::replace(&mut leads[edge.from.index()], true) {
                    work.push(edge.from);
                }
            }
        }
        Reach(leads)
    }

    /// Whether some way from the start of a block leads to the target.
    pub(super) fn from(&self, block: BlockId) -> bool {
        self.0[block.index()]
    }
}
