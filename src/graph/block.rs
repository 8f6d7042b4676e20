//! Basic blocks and the edges between them. The graph is made of them in `graph`; every other file of
//! this folder reads it.

use smallvec::SmallVec;

use super::inst::{InstId, InstRange};
use super::register::RegisterId;
use super::warp::Members;

/// A basic block. Blocks are numbered in reverse postorder from the entry, which is block 0, so
/// along every edge that is not a retreating edge the number rises. Unreachable code has no block.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct BlockId(pub u32);

table_ids!(BlockId);

/// When an edge is taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EdgeCondition {
    /// Always.
    Always,
    /// If this predicate register, read at the end of the block, is true (or false).
    Predicate(RegisterId, bool),
    /// If the index operand of the `brx.idx` at the block's end selects it.
    Index,
}

/// One edge of the graph. (A *way* is one edge or several in a row.)
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Edge {
    /// Where it starts.
    pub from: BlockId,
    /// Where it leads.
    pub to: BlockId,
    /// When it is taken.
    pub condition: EdgeCondition,
}

/// A maximal run of instructions that is entered at its first and left behind its last.
#[derive(Debug, Default)]
pub struct Block {
    /// The first instruction.
    pub first: InstId,
    /// The place behind the last one.
    pub end: InstId,
    /// The edges out of the block. One that leaves the function has none, or one for the lanes that
    /// stay.
    pub successors: SmallVec<[Edge; 2]>,
    /// The edges into the block.
    pub predecessors: SmallVec<[Edge; 2]>,
    /// Whether lanes may leave the function at the block's end.
    pub leaves: bool,
    /// Whether that is by `trap`.
    pub traps: bool,
    /// Whether the block's last instruction may bring lanes together, and which.
    pub(super) synchronises: Option<Members>,
}

impl Block {
    /// Whether lanes may wait for others somewhere in the block (at its end: an instruction that waits ends a block).
    pub fn may_wait(&self) -> bool {
        self.synchronises.is_some()
    }
}

impl Block {
    /// The block's instructions.
    pub fn instructions(&self) -> InstRange {
        self.first.to(self.end)
    }
}
