//! The basic blocks of decoded code.
//!
//! In: the micro-operations of a function. Out: its blocks, the edges between them, and which block
//! lies on all ways to another. Computed from micro-operations alone; shares nothing with
//! [`mod@crate::cfg`].

use petgraph::algo::dominators::{Dominators, simple_fast};
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::Reversed;
use typed_index_collections::TiSlice;

use crate::interp::program::{Guard, MicroOp, Op, Pc, Region};

/// The basic blocks of a function, with edges reversed, so that post-dominators are dominators. One
/// more node stands for the end of the function.
pub(crate) struct Graph {
    /// First micro-operations of the blocks, in ascending order.
    pub starts: Vec<Pc>,
    /// One past the last micro-operation.
    end: Pc,
    /// An edge from each block to the blocks in front of it. The end has none until a way out is chosen
    /// ([`Graph::post_dominators`]).
    pub edges: DiGraph<(), ()>,
}

impl Graph {
    /// The graph of a function's code.
    pub(crate) fn new(code: &TiSlice<Pc, MicroOp>) -> Graph {
        let starts = block_starts(code);
        let edges = DiGraph::with_capacity(starts.len() + 1, 2 * starts.len());
        let mut graph = Graph { edges, starts, end: code.next_key() };
        for _ in 0..=graph.starts.len() {
            graph.edges.add_node(());
        }
        for block in 0..graph.starts.len() {
            let (end, last) = (graph.end(block), graph.last(block, code));
            let mut edge = |to: Pc| {
                if to < graph.end {
                    let to = NodeIndex::new(graph.block_of(to));
                    graph.edges.add_edge(to, NodeIndex::new(block), ());
                }
            };
            match &last.op {
                Op::Branch { target, .. } => edge(*target),
                Op::IndexedBranch(branch) => branch.targets.iter().for_each(|&to| edge(to)),
                _ => {}
            }
            if falls_through(last) {
                edge(end);
            }
        }
        graph
    }

    /// How many blocks there are.
    pub(crate) fn blocks(&self) -> usize {
        self.starts.len()
    }

    /// The micro-operations of the blocks whose entry in `blocks` is true.
    pub(crate) fn region(&self, blocks: &[bool]) -> Region {
        let inside = (0..self.blocks()).filter(|&block| blocks[block]);
        Region::new(inside.map(|block| self.starts[block]..self.end(block)))
    }

    /// For each block whether some way from it leads out of the function other than by `trap`.
    pub(crate) fn returns(&self, code: &TiSlice<Pc, MicroOp>) -> Vec<bool> {
        let leads_out = |block: &usize| {
            let last = self.last(*block, code);
            is_way_out(last) && !matches!(last.op, Op::Trap)
        };
        let mut returns = vec![false; self.blocks()];
        let mut work: Vec<usize> = (0..self.blocks()).filter(leads_out).collect();
        while let Some(block) = work.pop() {
            if !std::mem::replace(&mut returns[block], true) {
                work.extend(self.edges.neighbors(NodeIndex::new(block)).map(NodeIndex::index));
            }
        }
        returns
    }

    /// The block in which a micro-operation stands.
    pub(crate) fn block_of(&self, pc: Pc) -> usize {
        self.starts.partition_point(|&start| start <= pc) - 1
    }

    /// One past the last micro-operation of a block.
    pub(crate) fn end(&self, block: usize) -> Pc {
        self.starts.get(block + 1).copied().unwrap_or(self.end)
    }

    /// The last micro-operation of a block.
    pub(crate) fn last<'c>(&self, block: usize, code: &'c TiSlice<Pc, MicroOp>) -> &'c MicroOp {
        &code[self.end(block).before()]
    }

    /// Post-dominators if only the way out by block `way_out` counts, or no way out at all.
    pub(crate) fn post_dominators(&self, way_out: Option<usize>) -> Dominators<NodeIndex> {
        let end = NodeIndex::new(self.starts.len());
        let mut edges = self.edges.clone();
        if let Some(block) = way_out {
            edges.add_edge(end, NodeIndex::new(block), ());
        }
        simple_fast(&edges, end)
    }

    /// The next block up in the tree of post-dominators.
    pub(crate) fn up(&self, dominators: &Dominators<NodeIndex>, block: usize) -> Option<usize> {
        let up = dominators.immediate_dominator(NodeIndex::new(block))?.index();
        (up < self.starts.len()).then_some(up)
    }

    /// Dominators, by ways from the function's first micro-operation.
    pub(crate) fn dominators(&self) -> Dominators<NodeIndex> {
        simple_fast(Reversed(&self.edges), NodeIndex::new(0))
    }
}

/// Whether control can go on behind a micro-operation, and whether the operation ends the threads of
/// its lanes.
pub(super) fn falls_through(micro: &MicroOp) -> bool {
    let unconditional = micro.guard == Guard::Always;
    !(unconditional
        && matches!(
            micro.op,
            Op::Branch { .. } | Op::IndexedBranch(_) | Op::Return | Op::Exit | Op::Trap
        ))
}

/// Whether lanes leave the function at this micro-operation.
pub(super) fn is_way_out(micro: &MicroOp) -> bool {
    matches!(micro.op, Op::Return | Op::Exit | Op::Trap)
}

/// The first micro-operations of the basic blocks, in order; that of the function is among them.
fn block_starts(code: &TiSlice<Pc, MicroOp>) -> Vec<Pc> {
    let mut starts = vec![Pc::ENTRY];
    for (pc, micro) in code.iter_enumerated() {
        match &micro.op {
            Op::Branch { target, .. } => starts.extend([*target, pc.next()]),
            Op::IndexedBranch(branch) => {
                starts.extend(&branch.targets);
                starts.push(pc.next());
            }
            Op::Return | Op::Exit | Op::Trap => starts.push(pc.next()),
            _ => {}
        }
    }
    starts.retain(|&start| start < code.next_key());
    starts.sort_unstable();
    starts.dedup();
    starts
}
