//! Where an assembler may let lanes meet again that have parted at a branch.
//!
//! In: blocks and loops. Out: for each branch the places through which every way to some *end* leads.
//! An end is a way out of the function, and, for a branch within a loop, the loop's header: ways that
//! leave the loop do not count then. Ends by `trap` count only where there is no other: no assembler
//! takes the failure for the rule.

use petgraph::algo::dominators::{Dominators, simple_fast};
use petgraph::graph::{DiGraph, NodeIndex};

use super::graph::{Block, BlockId};
use super::loops::{LoopForest, LoopId};
use super::reach::Reach;

/// More than this many ends times edges are not looked at; then nothing is known of the function.
const MAX_WORK: usize = 4_000_000;

/// Where ways end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    /// Out of the function behind this block.
    Leaving(BlockId),
    /// At the next arrival at a loop's header.
    Header(LoopId),
}

/// The places on all ways to one end.
struct Ways {
    end: End,
    /// Dominators of the reversed graph: what all ways from a block to the end have in common.
    common: Dominators<NodeIndex>,
    /// The node that stands for the end.
    root: NodeIndex,
}

/// For each end the places through which all ways to it lead.
pub(super) struct Meetings<'a> {
    blocks: &'a [Block],
    loops: &'a LoopForest,
    ways: Vec<Ways>,
    /// Whether a block leads out of the function at all, and other than by `trap`.
    leads_out: Vec<bool>,
    returns: Vec<bool>,
}

impl<'a> Meetings<'a> {
    /// Of a function; `None` if it is too large.
    pub fn new(blocks: &'a [Block], loops: &'a LoopForest) -> Option<Meetings<'a>> {
        let all = || (0..blocks.len() as u32).map(BlockId);
        let leaving: Vec<BlockId> = all().filter(|block| blocks[block.index()].leaves).collect();
        let headers = (0..loops.loops.len() as u32).map(|id| End::Header(LoopId(id)));
        let ends: Vec<End> = leaving.iter().map(|&at| End::Leaving(at)).chain(headers).collect();
        let edges: usize = blocks.iter().map(|block| block.successors.len() + 1).sum();
        if ends.len().saturating_mul(edges) > MAX_WORK {
            return None;
        }
        let leads = |wanted: &dyn Fn(&Block) -> bool| {
            let targets = leaving.iter().copied().filter(|at| wanted(&blocks[at.index()]));
            let leads = Reach::to_any(blocks, targets, None);
            all().map(|block| leads.from(block)).collect()
        };
        Some(Meetings {
            blocks,
            loops,
            ways: ends.into_iter().map(|end| Ways::new(blocks, loops, end)).collect(),
            leads_out: leads(&|_| true),
            returns: leads(&|block| !block.traps),
        })
    }

    /// All places at which lanes that part at the end of a branch may meet, as far as they lie on all
    /// ways to an end, each end's in the order in which ways pass them; `None` where it may be
    /// anywhere, in an endless loop.
    pub fn of(&self, branch: BlockId) -> Option<impl Iterator<Item = Vec<BlockId>> + '_> {
        if !self.leads_out[branch.index()] {
            return None;
        }
        let returns = self.returns[branch.index()];
        let ends = self.ways.iter().filter(move |ways| match ways.end {
            End::Leaving(at) => !(returns && self.blocks[at.index()].traps),
            End::Header(id) => self.loops.contains(id, branch),
        });
        Some(ends.map(move |ways| ways.places(self.loops, branch)))
    }
}

impl Ways {
    fn new(blocks: &[Block], loops: &LoopForest, end: End) -> Ways {
        let mut reversed =
            DiGraph::<(), (), u32>::with_capacity(blocks.len() + 1, blocks.len() * 2);
        for _ in 0..=blocks.len() {
            reversed.add_node(());
        }
        let root = NodeIndex::new(blocks.len());
        let header = match end {
            End::Leaving(at) => {
                reversed.add_edge(root, NodeIndex::new(at.index()), ());
                None
            }
            End::Header(id) => Some(loops.get(id).header),
        };
        for edge in blocks.iter().flat_map(|block| &block.successors) {
            // The arrival at the header is the end; what leads away from it is where ways begin.
            let to = if header == Some(edge.to) { root } else { NodeIndex::new(edge.to.index()) };
            reversed.add_edge(to, NodeIndex::new(edge.from.index()), ());
        }
        Ways { end, common: simple_fast(&reversed, root), root }
    }

    /// The places on all ways from the end of a branch, nearest first; none if no way leads to the end.
    fn places(&self, loops: &LoopForest, branch: BlockId) -> Vec<BlockId> {
        let chain = self.common.strict_dominators(NodeIndex::new(branch.index()));
        let header = match self.end {
            End::Leaving(_) => None,
            End::Header(id) => Some(loops.get(id).header),
        };
        chain
            .into_iter()
            .flatten()
            .filter_map(|node| match node == self.root {
                true => header,
                false => Some(BlockId(node.index() as u32)),
            })
            .collect()
    }
}

/// All places at which lanes that part at the end of a branch may meet again as control flow has it,
/// sorted; `None` where it may be anywhere, or the function is too large.
pub fn meeting_places(
    blocks: &[Block],
    loops: &LoopForest,
    branch: BlockId,
) -> Option<Vec<BlockId>> {
    let meetings = Meetings::new(blocks, loops)?;
    let mut places: Vec<BlockId> = meetings.of(branch)?.flatten().collect();
    places.sort_unstable();
    places.dedup();
    Some(places)
}
