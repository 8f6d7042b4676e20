//! Which blocks lead to a place.

use super::graph::{Block, BlockId};

/// The blocks from which some way leads to a target; the target is one.
pub(super) struct Reach(Vec<bool>);

impl Reach {
    /// Along ways that do not pass `without`, which itself leads nowhere.
    pub fn avoiding(blocks: &[Block], target: BlockId, without: Option<BlockId>) -> Reach {
        Reach::to_any(blocks, [target], without)
    }

    /// The same for any of several targets.
    pub fn to_any(
        blocks: &[Block],
        targets: impl IntoIterator<Item = BlockId>,
        without: Option<BlockId>,
    ) -> Reach {
        let mut leads = vec![false; blocks.len()];
        let mut work: Vec<BlockId> = targets.into_iter().collect();
        work.iter().for_each(|target| leads[target.index()] = true);
        while let Some(block) = work.pop() {
            for edge in &blocks[block.index()].predecessors {
                if Some(edge.from) != without
                    && !std::mem::replace(&mut leads[edge.from.index()], true)
                {
                    work.push(edge.from);
                }
            }
        }
        Reach(leads)
    }

    /// Whether some way from the start of a block leads to the target.
    pub fn from(&self, block: BlockId) -> bool {
        self.0[block.index()]
    }
}
