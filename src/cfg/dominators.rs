//! The dominator tree: which blocks lie on every way to a block.

use petgraph::algo::dominators::simple_fast;
use petgraph::graph::{DiGraph, NodeIndex};

use super::graph::{Block, BlockId};

/// The dominator tree with constant-time queries.
#[derive(Debug)]
pub struct DominatorTree {
    immediate: Vec<Option<BlockId>>,
    /// Where a block's subtree starts and ends in a preorder walk.
    interval: Vec<(u32, u32)>,
}

impl DominatorTree {
    /// Computes the tree of blocks in reverse postorder whose first is the entry.
    pub(super) fn new(blocks: &[Block]) -> DominatorTree {
        let mut graph = DiGraph::<(), (), u32>::with_capacity(blocks.len(), blocks.len() * 2);
        for _ in blocks {
            graph.add_node(());
        }
        for edge in blocks.iter().flat_map(|block| &block.successors) {
            graph.add_edge(NodeIndex::new(edge.from.index()), NodeIndex::new(edge.to.index()), ());
        }
        let found = simple_fast(&graph, NodeIndex::new(0));
        let immediate: Vec<Option<BlockId>> = (0..blocks.len())
            .map(|block| {
                let dominator = found.immediate_dominator(NodeIndex::new(block))?;
                Some(BlockId(dominator.index() as u32))
            })
            .collect();
        let interval = intervals(&immediate);
        DominatorTree { immediate, interval }
    }

    /// The nearest block that lies on every way to `block`; `None` for the entry.
    pub fn immediate(&self, block: BlockId) -> Option<BlockId> {
        self.immediate[block.index()]
    }

    /// A block and its dominators, nearest first.
    pub fn chain(&self, block: BlockId) -> impl Iterator<Item = BlockId> + '_ {
        std::iter::successors(Some(block), |&b| self.immediate(b))
    }

    /// Whether every way from the entry to `b` leads through `a`; a block dominates itself.
    pub fn dominates(&self, a: BlockId, b: BlockId) -> bool {
        let ((start, end), (at, _)) = (self.interval[a.index()], self.interval[b.index()]);
        start <= at && at < end
    }
}

fn intervals(immediate: &[Option<BlockId>]) -> Vec<(u32, u32)> {
    // A dominator precedes what it dominates in reverse postorder, so sizes add up from the back
    // and positions are handed out from the front.
    let mut size = vec![1u32; immediate.len()];
    for block in (0..immediate.len()).rev() {
        if let Some(parent) = immediate[block] {
            size[parent.index()] += size[block];
        }
    }
    let mut interval = vec![(0, 0); immediate.len()];
    let mut next_free = vec![0u32; immediate.len()];
    for block in 0..immediate.len() {
        let start = match immediate[block] {
            None => 0,
            Some(parent) => {
                let start = next_free[parent.index()];
                next_free[parent.index()] += size[block];
                start
            }
        };
        interval[block] = (start, start + size[block]);
        next_free[block] = start + 1;
    }
    interval
}
