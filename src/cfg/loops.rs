//! Natural loops and how they nest, and retreating edges that belong to no natural loop.

use super::dominators::DominatorTree;
use super::graph::{Block, BlockId, Edge};

/// A loop of one function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct LoopId(pub u32);

/// A natural loop: all blocks from which a latch can be reached without passing the header.
#[derive(Debug)]
pub struct Loop {
    /// The one block by which it is entered.
    pub header: BlockId,
    /// The edges back to the header.
    pub latches: Vec<Edge>,
    /// The edges that leave it.
    pub exits: Vec<Edge>,
    /// The next loop around it.
    pub parent: Option<LoopId>,
    /// How many loops are around it.
    pub depth: u32,
}

/// All loops of a function.
#[derive(Debug, Default)]
pub struct LoopForest {
    /// The loops; a loop stands behind the loops around it.
    pub loops: Vec<Loop>,
    innermost: Vec<Option<LoopId>>,
    irreducible: Vec<bool>,
}

impl LoopForest {
    pub(super) fn new(blocks: &[Block], dominators: &DominatorTree) -> LoopForest {
        let mut forest = LoopForest {
            loops: Vec::new(),
            innermost: vec![None; blocks.len()],
            irreducible: vec![false; blocks.len()],
        };
        for header in (0..blocks.len() as u32).map(BlockId) {
            let retreating = blocks[header.index()]
                .predecessors
                .iter()
                .copied()
                .filter(|edge| edge.from >= header);
            let (latches, crossing): (Vec<Edge>, Vec<Edge>) =
                retreating.partition(|edge| dominators.dominates(header, edge.from));
            forest.irreducible[header.index()] = !crossing.is_empty();
            if !latches.is_empty() {
                forest.add(header, latches, blocks, dominators);
            }
        }
        forest.find_exits(blocks);
        forest
    }

    /// Headers come in reverse postorder, so a loop is added after those around it and its blocks
    /// may be handed over to it.
    fn add(
        &mut self,
        header: BlockId,
        latches: Vec<Edge>,
        blocks: &[Block],
        dominators: &DominatorTree,
    ) {
        let id = LoopId(self.loops.len() as u32);
        let parent = self.innermost[header.index()];
        self.innermost[header.index()] = Some(id);
        let mut work: Vec<BlockId> = latches.iter().map(|edge| edge.from).collect();
        while let Some(block) = work.pop() {
            // Irreducible regions can lead out of the header's subtree; those blocks are no part
            // of a natural loop.
            if self.innermost[block.index()] == Some(id) || !dominators.dominates(header, block) {
                continue;
            }
            self.innermost[block.index()] = Some(id);
            work.extend(blocks[block.index()].predecessors.iter().map(|edge| edge.from));
        }
        let depth = parent.map_or(0, |around| self.get(around).depth + 1);
        self.loops.push(Loop { header, latches, exits: Vec::new(), parent, depth });
    }

    fn find_exits(&mut self, blocks: &[Block]) {
        for edge in blocks.iter().flat_map(|block| block.successors.iter().copied()) {
            let mut around = self.innermost(edge.from);
            while let Some(id) = around {
                if self.contains(id, edge.to) {
                    break;
                }
                self.loops[id.0 as usize].exits.push(edge);
                around = self.get(id).parent;
            }
        }
    }

    /// A loop by its id.
    pub fn get(&self, id: LoopId) -> &Loop {
        &self.loops[id.0 as usize]
    }

    /// The innermost loop that contains a block.
    pub fn innermost(&self, block: BlockId) -> Option<LoopId> {
        self.innermost[block.index()]
    }

    /// The loop that a block is the header of.
    pub fn headed_by(&self, block: BlockId) -> Option<LoopId> {
        self.innermost(block).filter(|&id| self.get(id).header == block)
    }

    /// Whether a block is entered by a retreating edge whose source it does not dominate.
    pub fn is_irreducible_entry(&self, block: BlockId) -> bool {
        self.irreducible[block.index()]
    }

    /// The loops around a place, innermost first.
    pub fn around(&self, innermost: Option<LoopId>) -> impl Iterator<Item = LoopId> + '_ {
        std::iter::successors(innermost, |&id| self.get(id).parent)
    }

    /// Whether a block belongs to a loop.
    pub fn contains(&self, id: LoopId, block: BlockId) -> bool {
        self.nested(self.innermost(block), id)
    }

    /// Whether `inner` is `outer` or lies within it.
    pub fn nested(&self, inner: Option<LoopId>, outer: LoopId) -> bool {
        // A loop stands behind those around it.
        self.around(inner).take_while(|&around| around >= outer).any(|around| around == outer)
    }

    /// How many loops are around a place.
    pub fn depth(&self, place: Option<LoopId>) -> usize {
        place.map_or(0, |id| self.get(id).depth as usize + 1)
    }
}
