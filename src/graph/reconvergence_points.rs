//! Where an assembler may let lanes meet again that have parted at a branch.
//!
//! In: blocks and loops. Out: for each branch the places through which every way to some *end* leads.
//! An end is a way out of the function. Ends by `trap` count only where there is no other end: no
//! assembler takes the failure for the rule. For a branch within a loop each way out of the loop is an
//! end as well, and so is the loop's header; then only paths within the loop count, since the lanes
//! that leave the loop take themselves off the list of those that are waited for (`BREAK`).
//!
//! Where an outer loop cannot iterate without passing an inner one, ptxas may make one loop of the
//! two (seen in machine code where nothing happens between the two headers): lanes that go on in the
//! inner loop wait in front of its header for those that have begun the outer loop's next iteration.
//! So the next arrival at the inner header by paths within the outer loop is an end, too.

use typed_index_collections::{TiSlice, TiVec};

use super::block::{Block, BlockId, Edge};
use super::dominators::{DominatorTree, immediate_dominators};
use super::loops::{LoopForest, LoopId};
use super::reach::Reach;

/// More than this many ends times edges are not looked at; then nothing is known of the function.
const MAX_WORK: usize = 4_000_000;

/// Where paths from a branch end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    /// Out of the function behind this block.
    Leaving(BlockId),
    /// Out of the function anywhere: no end by itself. (A planted mistake.)
    Anywhere,
    /// At the next arrival at the header of a loop, by paths within that loop or one around it.
    Header(LoopId, LoopId),
    /// Out of a loop by this edge, by paths within the loop.
    Exit(LoopId, Edge),
}

impl End {
    /// The loop in which a branch must be.
    fn of(self) -> Option<LoopId> {
        match self {
            End::Leaving(_) | End::Anywhere => None,
            End::Header(id, _) | End::Exit(id, _) => Some(id),
        }
    }

    /// The loop by whose paths alone lanes come to the end.
    fn within(self) -> Option<LoopId> {
        match self {
            End::Leaving(_) | End::Anywhere => None,
            End::Header(_, id) | End::Exit(id, _) => Some(id),
        }
    }
}

/// The places on all paths to one end, at which lanes may meet.
pub(super) struct Paths {
    end: End,
    /// Immediate post-dominators: the first block that all paths from a block to the end have in common. The node
    /// behind those of the blocks stands for the end.
    common: TiVec<BlockId, Option<BlockId>>,
}

/// For each end the places through which all paths to it lead.
pub(super) struct ReconvergencePoints<'a> {
    blocks: &'a TiSlice<BlockId, Block>,
    loops: &'a LoopForest,
    paths: Vec<Paths>,
    /// Whether a block leads out of the function at all, and other than by `trap`.
    leads_out: TiVec<BlockId, bool>,
    returns: TiVec<BlockId, bool>,
}

impl<'a> ReconvergencePoints<'a> {
    /// The meeting places of a function, by end; `None` if the function is too large.
    pub(super) fn new(
        blocks: &'a TiSlice<BlockId, Block>,
        dominators: &DominatorTree,
        loops: &'a LoopForest,
    ) -> Option<ReconvergencePoints<'a>> {
        let leaving: Vec<BlockId> = blocks.keys().filter(|block| blocks[*block].leaves).collect();
        let mut ends: Vec<End> = leaving.iter().map(|&at| End::Leaving(at)).collect();
        for id in loops.loops.keys() {
            ends.push(End::Header(id, id));
            let merged = merged_with(dominators, loops, id);
            let merged = merged.filter(|_| !planted!(Bug::MergedLoops));
            ends.extend(merged.map(|outer| End::Header(id, outer)));
            ends.extend(loops.exits(id)?.iter().map(|&edge| End::Exit(id, edge)));
        }
        if planted!(Bug::WaysWithinLoops) {
            ends.retain(|end| end.of().is_none());
        } else if planted!(Bug::EarlyExits) {
            ends = vec![End::Anywhere];
        }
        let edges: usize = blocks.iter().map(|block| block.successors.len() + 1).sum();
        if ends.len().saturating_mul(edges) > MAX_WORK {
            return None;
        }
        let leads = |wanted: &dyn Fn(&Block) -> bool| {
            let targets = leaving.iter().copied().filter(|at| wanted(&blocks[*at]));
            let leads = Reach::to_any(blocks, targets, |_| true);
            blocks.keys().map(|block| leads.from(block)).collect()
        };
        Some(ReconvergencePoints {
            blocks,
            loops,
            paths: ends.into_iter().map(|end| Paths::new(blocks, loops, end)).collect(),
            leads_out: leads(&|_| true),
            returns: leads(&|block| !block.traps),
        })
    }

    /// The paths from the end of a branch to each end at which lanes that part there may go;
    /// `None` where they may meet anywhere, in an endless loop.
    pub(super) fn of(&self, branch: BlockId) -> Option<impl Iterator<Item = &Paths> + '_> {
        if !self.leads_out[branch] {
            return None;
        }
        let returns = self.returns[branch];
        Some(self.paths.iter().filter(move |paths| match (paths.end, paths.end.of()) {
            (End::Leaving(at), _) => !(returns && self.blocks[at].traps),
            (End::Anywhere, _) => true,
            (_, of) => of.is_some_and(|id| self.loops.contains(id, branch)),
        }))
    }
}

/// The outermost loop that an assembler might make one with this one: each cannot iterate without
/// passing the header.
fn merged_with(dominators: &DominatorTree, loops: &LoopForest, id: LoopId) -> Option<LoopId> {
    let header = loops.get(id).header;
    let passes = |outer: &LoopId| {
        loops.get(*outer).latches.iter().all(|latch| dominators.dominates(header, latch.from))
    };
    loops.around(loops.get(id).parent).take_while(passes).last()
}

impl Paths {
    fn new(blocks: &TiSlice<BlockId, Block>, loops: &LoopForest, end: End) -> Paths {
        let root = blocks.next_key();
        let mut reversed = Vec::new();
        let mut ends_with = |at: BlockId| reversed.push((root, at));
        let header = match end {
            End::Leaving(at) => {
                ends_with(at);
                None
            }
            End::Anywhere => {
                blocks.keys().filter(|at| blocks[*at].leaves).for_each(&mut ends_with);
                None
            }
            End::Header(id, _) => Some(loops.get(id).header),
            End::Exit(_, edge) => {
                ends_with(edge.from);
                None
            }
        };
        let inside = |block: BlockId| end.within().is_none_or(|id| loops.contains(id, block));
        for edge in blocks.iter().flat_map(|block| &block.successors) {
            if !inside(edge.from) || !inside(edge.to) {
                continue;
            }
            // The arrival at the header is the end; what leads away from it is where paths begin.
            let to = if header == Some(edge.to) { root } else { edge.to };
            reversed.push((to, edge.from));
        }
        Paths { end, common: immediate_dominators(blocks.len() + 1, root, &reversed) }
    }

    /// The places on all paths from the end of a branch, nearest first; none if no way leads to the end.
    pub(super) fn places(
        &self,
        loops: &LoopForest,
        branch: BlockId,
    ) -> impl Iterator<Item = BlockId> + use<'_> {
        let header = match self.end {
            End::Leaving(_) | End::Anywhere | End::Exit(..) => None,
            End::Header(id, _) => Some(loops.get(id).header),
        };
        let above = |at: BlockId| self.common[at];
        let root = self.common.last_key();
        std::iter::successors(above(branch), move |&at| above(at))
            .filter_map(move |at| if Some(at) == root { header } else { Some(at) })
    }

    /// The loop that counted paths stay within; `None` if every way counts.
    pub(super) fn within(&self) -> Option<LoopId> {
        self.end.within()
    }
}
