//! Where the lanes of a branch within a loop may meet if those that leave the loop are not waited for.
//!
//! An assembler may take lanes that leave a loop off the list of those that others wait for (`BREAK`).
//! Then only ways within the loop count: lanes may meet at any place through which all of their ways
//! lead to one exit, or to the next iteration. ptxas also makes one loop of two nested ones if the
//! outer one cannot iterate without the inner one; then the next arrival at the inner header counts
//! as an end, by ways within the outer loop.
//!
//! All this is computed from micro-operations alone, and shares nothing with [`mod@crate::cfg`], whose
//! belief about meeting places it checks.

use petgraph::Direction::Incoming;
use petgraph::algo::dominators::{Dominators, simple_fast};
use petgraph::graph::{DiGraph, NodeIndex};

use super::graph::Graph;
use crate::interp::program::Region;

/// If ends times blocks are more than this, the function gets none of these meeting points.
const MAX_WORK: usize = 1 << 22;

/// A natural loop, as a set of blocks.
struct Loop {
    header: usize,
    latches: Vec<usize>,
    contains: Vec<bool>,
}

/// The places through which all ways to one end lead.
pub(super) struct LoopPaths {
    /// The number of the loop whose ways count.
    pub within: usize,
    /// For each block whether lanes that part at its end may meet at these places.
    branches: Vec<bool>,
    common: Dominators<NodeIndex>,
    /// The node that stands for the end, and the block that begins at the end, if any.
    end: (NodeIndex, Option<usize>),
}

/// The places of every end of every loop, and the code of all loops.
pub(super) fn within_loops(graph: &Graph) -> (Vec<LoopPaths>, Vec<Region>) {
    let loops = natural_loops(graph);
    let dominators = graph.dominators();
    let mut work = 0;
    let mut found = Vec::new();
    for (number, outer) in loops.iter().enumerate() {
        let exits = (0..graph.blocks()).filter(|&block| outer.contains[block]).filter(|&block| {
            graph.edges.neighbors_directed(node(block), Incoming).any(|to| !outer.inside(to))
        });
        let mut ends: Vec<(&Loop, Option<usize>)> = exits.map(|exit| (outer, Some(exit))).collect();
        let made_one = loops.iter().filter(|inner| {
            let passes = |&latch: &usize| dominates(&dominators, inner.header, latch);
            outer.contains[inner.header] && outer.latches.iter().all(passes)
        });
        ends.extend(made_one.map(|inner| (inner, None)));
        work += ends.len() * graph.blocks();
        if work > MAX_WORK {
            return (Vec::new(), Vec::new());
        }
        for (of, exit) in ends {
            found.push(paths(graph, (number, outer), of, exit));
        }
    }
    let regions = loops.iter().map(|one| graph.region(&one.contains)).collect();
    (found, regions)
}

impl LoopPaths {
    /// The blocks at which lanes may meet that have parted at the end of `block`, nearest first.
    pub(super) fn places(&self, block: usize) -> impl Iterator<Item = usize> + '_ {
        let chain = self.branches[block].then(|| self.common.strict_dominators(node(block)));
        chain.flatten().into_iter().flatten().filter_map(|place| match place == self.end.0 {
            true => self.end.1,
            false => Some(place.index()),
        })
    }
}

impl Loop {
    fn inside(&self, block: NodeIndex) -> bool {
        self.contains.get(block.index()).is_some_and(|&inside| inside)
    }
}

fn node(block: usize) -> NodeIndex {
    NodeIndex::new(block)
}

fn dominates(dominators: &Dominators<NodeIndex>, above: usize, block: usize) -> bool {
    dominators.dominators(node(block)).is_some_and(|mut all| all.any(|one| one == node(above)))
}

/// The ways within a loop to an exit or, without one, to the next arrival at the header of loop `of`.
fn paths(
    graph: &Graph,
    (number, outer): (usize, &Loop),
    of: &Loop,
    exit: Option<usize>,
) -> LoopPaths {
    let end = node(graph.blocks());
    let mut backwards = DiGraph::<(), ()>::new();
    for _ in 0..=graph.blocks() {
        backwards.add_node(());
    }
    for edge in graph.edges.raw_edges() {
        // (The edges of the graph are reversed already.)
        let (to, from) = (edge.source(), edge.target());
        if outer.inside(to) && outer.inside(from) {
            let arrives = exit.is_none() && to == node(of.header);
            backwards.add_edge(if arrives { end } else { to }, from, ());
        }
    }
    if let Some(exit) = exit {
        backwards.add_edge(end, node(exit), ());
    }
    let place = exit.is_none().then_some(of.header);
    LoopPaths {
        within: number,
        branches: of.contains.clone(),
        common: simple_fast(&backwards, end),
        end: (end, place),
    }
}

/// All natural loops; loops that share a header are made one.
fn natural_loops(graph: &Graph) -> Vec<Loop> {
    let dominators = graph.dominators();
    let mut loops = Vec::new();
    for header in 0..graph.blocks() {
        let latches: Vec<usize> = graph
            .edges
            .neighbors(node(header))
            .map(NodeIndex::index)
            .filter(|&latch| dominates(&dominators, header, latch))
            .collect();
        // Each loop takes a line of as many entries as there are blocks: too much for functions of
        // thousands.
        if latches.is_empty() || loops.len() * graph.blocks() > MAX_WORK {
            continue;
        }
        let mut contains = vec![false; graph.blocks()];
        contains[header] = true;
        let mut work = latches.clone();
        while let Some(block) = work.pop() {
            if !std::mem::replace(&mut contains[block], true) {
                let before = graph.edges.neighbors(node(block)).map(NodeIndex::index);
                // (Unreachable code may lead into the loop.)
                work.extend(before.filter(|&block| dominates(&dominators, header, block)));
            }
        }
        loops.push(Loop { header, latches, contains });
    }
    loops
}
