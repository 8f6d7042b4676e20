//! Natural loops and how they nest, and retreating edges that belong to no natural loop.

use typed_index_collections::{TiSlice, TiVec, ti_vec};

use super::block::{Block, BlockId, Edge};
use super::dominators::{DominatorTree, intervals};

/// A loop of one function.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct LoopId(pub u32);

table_ids!(LoopId);

/// A natural loop: all blocks from which a latch can be reached without passing the header.
#[derive(Debug)]
pub struct Loop {
    /// The one block by which it is entered.
    pub header: BlockId,
    /// The edges back to the header.
    pub latches: Vec<Edge>,
    exits: Vec<Edge>,
    /// The next loop around it.
    pub parent: Option<LoopId>,
    /// How many loops are around it.
    pub depth: u32,
}

/// All loops of a function.
#[derive(Debug, Default)]
pub struct LoopForest {
    /// The loops; a loop stands behind the loops around it.
    pub loops: TiVec<LoopId, Loop>,
    innermost: TiVec<BlockId, Option<LoopId>>,
    /// For each loop, where it and the loops within it start and end in a preorder walk.
    interval: TiVec<LoopId, (u32, u32)>,
    irreducible: TiVec<BlockId, bool>,
    /// Whether every loop's `exits` have been collected: not if there are more than `MAX_EXITS`.
    exits_are_known: bool,
}

/// If there are more ways out of loops than this, none is kept. An edge counts once for each loop that
/// it leaves.
const MAX_EXITS: usize = 1_000_000;

impl LoopForest {
    pub(super) fn new(blocks: &TiSlice<BlockId, Block>, dominators: &DominatorTree) -> LoopForest {
        let mut forest = LoopForest {
            loops: TiVec::new(),
            innermost: ti_vec![None; blocks.len()],
            interval: TiVec::new(),
            irreducible: ti_vec![false; blocks.len()],
            exits_are_known: true,
        };
        for (header, block) in blocks.iter_enumerated() {
            let retreating = block.predecessors.iter().copied().filter(|edge| edge.from >= header);
            let (latches, crossing): (Vec<Edge>, Vec<Edge>) =
                retreating.partition(|edge| dominators.dominates(header, edge.from));
            forest.irreducible[header] = !crossing.is_empty();
            if !latches.is_empty() {
                forest.loops.push(Loop {
                    header,
                    latches,
                    exits: Vec::new(),
                    parent: None,
                    depth: 0,
                });
            }
        }
        forest.find_blocks(blocks, dominators);
        for id in forest.loops.keys() {
            let around = forest.loops[id].parent.map(|parent| forest.get(parent).depth + 1);
            forest.loops[id].depth = around.unwrap_or(0);
        }
        let parents = forest.loops.iter().map(|one| one.parent);
        forest.interval = intervals(&parents.collect::<TiVec<LoopId, _>>());
        forest.find_exits(blocks);
        forest
    }

    /// Which blocks and loops each loop consists of. Headers come in reverse postorder, so from the
    /// back inner loops come first; a loop takes those in it as wholes, and each block is looked at
    /// once, however deep the loops nest.
    fn find_blocks(&mut self, blocks: &TiSlice<BlockId, Block>, dominators: &DominatorTree) {
        /// The outermost loop found so far around a loop; shortens the way for those who come next.
        fn outermost(above: &mut TiSlice<LoopId, LoopId>, id: LoopId) -> LoopId {
            let mut at = id;
            while above[at] != at {
                above[at] = above[above[at]];
                at = above[at];
            }
            at
        }
        let mut above: TiVec<LoopId, LoopId> = self.loops.keys().collect();
        for id in self.loops.keys().rev() {
            let header = self.loops[id].header;
            self.innermost[header] = Some(id);
            let latches = self.loops[id].latches.iter();
            let mut work: Vec<BlockId> = latches.map(|edge| edge.from).collect();
            while let Some(block) = work.pop() {
                let entry = match self.innermost[block] {
                    None => block,
                    Some(within) => {
                        let found = outermost(&mut above, within);
                        if found == id {
                            continue;
                        }
                        self.loops[found].header
                    }
                };
                // Irreducible regions can lead out of the header's subtree; those blocks are no part
                // of a natural loop.
                if !dominators.dominates(header, entry) {
                    continue;
                }
                match self.innermost[entry] {
                    None => self.innermost[entry] = Some(id),
                    Some(within) => {
                        let found = outermost(&mut above, within);
                        self.loops[found].parent = Some(id);
                        above[found] = id;
                    }
                }
                work.extend(blocks[entry].predecessors.iter().map(|edge| edge.from));
            }
        }
    }

    fn find_exits(&mut self, blocks: &TiSlice<BlockId, Block>) {
        let mut count = 0;
        for edge in blocks.iter().flat_map(|block| block.successors.iter().copied()) {
            let mut around = self.innermost(edge.from);
            while let Some(id) = around {
                if self.contains(id, edge.to) {
                    break;
                }
                count += 1;
                if count > MAX_EXITS {
                    self.exits_are_known = false;
                    return;
                }
                self.loops[id].exits.push(edge);
                around = self.get(id).parent;
            }
        }
    }

    /// A loop by its id.
    pub fn get(&self, id: LoopId) -> &Loop {
        &self.loops[id]
    }

    /// The edges that leave a loop; `None` in a function with too many of them.
    pub fn exits(&self, id: LoopId) -> Option<&[Edge]> {
        self.exits_are_known.then(|| &self.get(id).exits[..])
    }

    /// The innermost loop that contains a block.
    pub fn innermost(&self, block: BlockId) -> Option<LoopId> {
        self.innermost[block]
    }

    /// The loop that a block is the header of.
    pub fn headed_by(&self, block: BlockId) -> Option<LoopId> {
        self.innermost(block).filter(|&id| self.get(id).header == block)
    }

    /// Whether a block is entered by a retreating edge whose source it does not dominate.
    pub fn is_irreducible_entry(&self, block: BlockId) -> bool {
        self.irreducible[block]
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
        let (start, end) = self.interval[outer];
        inner.is_some_and(|inner| (start..end).contains(&self.interval[inner].0))
    }

    /// How many loops are around a place.
    pub fn depth(&self, place: Option<LoopId>) -> usize {
        place.map_or(0, |id| self.get(id).depth as usize + 1)
    }
}
