//! Where the lanes of a divergent branch meet again.
//!
//! The assembler takes the immediate post-dominator of the branch. A path that ends its threads
//! early (`exit`, `trap`, or a `ret` that is not the function's last) is left out of the graph. Lanes
//! on such a path never come to any meeting point; the others must not be kept apart because of
//! them.
//!
//! It could choose otherwise: any post-dominator, whichever ways out of the function it takes for
//! early ones. In such a point all lanes that get there arrive for the first time since the branch;
//! it may lie in the next iteration of a loop or far down. For branches within loops there are
//! more: see [`super::ways`].

use std::collections::BTreeMap;

use petgraph::algo::dominators::{Dominators, simple_fast};
use petgraph::graph::{DiGraph, NodeIndex};

use super::control::falls_through;
use super::ways::{Ways, within_loops};
use crate::interp::program::{AT_RETURN, Meeting, MicroOp, Op, Pc, Region};

/// The basic blocks of a function, edges reversed, so that post-dominators are dominators. One node
/// more stands for the end.
pub struct Graph {
    starts: Vec<Pc>,
    /// Behind the last micro-operation.
    end: Pc,
    pub edges: DiGraph<(), ()>,
}

/// Points among which a branch's is chosen at most, by ways out of the function and by ways within
/// loops each: functions of thousands of blocks have as many.
const MOST: usize = 64;

/// Writes the assembler's meeting point into every branch of a function.
pub fn annotate(code: &mut [MicroOp]) {
    let graph = Graph::new(code);
    let kept = last_return(code);
    let dominators = graph.post_dominators(kept.map(|pc| graph.block_of(pc)));
    let meeting = |pc: usize| {
        graph.up(&dominators, graph.block_of(pc)).map_or(AT_RETURN, |block| graph.starts[block])
    };
    let meets: Vec<(usize, Pc)> = branches(code).map(|pc| (pc, meeting(pc))).collect();
    for (pc, point) in meets {
        match &mut code[pc].op {
            Op::Branch { meet, .. } => *meet = point,
            Op::IndexedBranch(branch) => branch.meet = point,
            _ => {}
        }
    }
}

/// All points at which an assembler could let the lanes of each branch meet: the post-dominators of
/// its block if some ways out of the function count and the others do not. The nearest come first,
/// those for which the last return counts before the others. A `trap` counts only where there is no
/// other way out: no assembler takes the failure for the rule. Then come the points by ways within a
/// loop. Also returned is the code of each loop.
pub fn choices(code: &[MicroOp]) -> (BTreeMap<Pc, Vec<Meeting>>, Vec<Region>) {
    let graph = Graph::new(code);
    let mut found: BTreeMap<Pc, Vec<Meeting>> = BTreeMap::new();
    let returns = graph.returns(code);
    let last = last_return(code).map(|pc| graph.block_of(pc));
    let others = (0..graph.starts.len())
        .filter(|&block| is_way_out(&code[graph.end(block, code) - 1]))
        .filter(|&block| Some(block) != last);
    // If several ways out count, fewer points lie on all paths: no set of them has points of its own.
    for way_out in last.into_iter().chain(others) {
        let dominators = graph.post_dominators(Some(way_out));
        let traps = matches!(code[graph.end(way_out, code) - 1].op, Op::Trap);
        for pc in branches(code).filter(|&pc| !(traps && returns[graph.block_of(pc)])) {
            let points = found.entry(pc as Pc).or_default();
            let mut next = graph.up(&dominators, graph.block_of(pc));
            while let Some(block) = next.filter(|_| points.len() < MOST) {
                let point = Meeting { at: graph.starts[block], within: None };
                if !points.contains(&point) {
                    points.push(point);
                }
                next = graph.up(&dominators, block);
            }
        }
    }
    let (ways, regions) = within_loops(&graph);
    for pc in branches(code) {
        let points = found.entry(pc as Pc).or_default();
        let most = points.len() + MOST;
        for (ways, block) in ways
            .iter()
            .flat_map(|ways: &Ways| ways.places(graph.block_of(pc)).map(move |block| (ways, block)))
        {
            let point = Meeting { at: graph.starts[block], within: Some(ways.within) };
            if points.len() < most && !points.contains(&point) {
                points.push(point);
            }
        }
    }
    (found, regions)
}

impl Graph {
    fn new(code: &[MicroOp]) -> Graph {
        let starts = block_starts(code);
        let edges = DiGraph::with_capacity(starts.len() + 1, 2 * starts.len());
        let mut graph = Graph { edges, starts, end: code.len() as Pc };
        for _ in 0..=graph.starts.len() {
            graph.edges.add_node(());
        }
        for block in 0..graph.starts.len() {
            let end = graph.end(block, code);
            let last = &code[end - 1];
            let mut edge = |to: usize| {
                if to < code.len() {
                    let to =
                        NodeIndex::new(graph.starts.partition_point(|&s| s as usize <= to) - 1);
                    graph.edges.add_edge(to, NodeIndex::new(block), ());
                }
            };
            match &last.op {
                Op::Branch { target, .. } => edge(*target as usize),
                Op::IndexedBranch(branch) => {
                    branch.targets.iter().for_each(|&to| edge(to as usize))
                }
                _ => {}
            }
            if falls_through(last) {
                edge(end);
            }
        }
        graph
    }

    /// How many blocks there are.
    pub fn blocks(&self) -> usize {
        self.starts.len()
    }

    /// The code of some blocks.
    pub fn region(&self, blocks: &[bool]) -> Region {
        let end = |block: usize| self.starts.get(block + 1).copied().unwrap_or(self.end);
        let inside = (0..self.blocks()).filter(|&block| blocks[block]);
        Region::new(inside.map(|block| self.starts[block]..end(block)))
    }

    /// Whether some way from a block leads out of the function other than by `trap`.
    fn returns(&self, code: &[MicroOp]) -> Vec<bool> {
        let leads_out = |block: &usize| {
            let last = &code[self.end(*block, code) - 1];
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

    fn block_of(&self, pc: usize) -> usize {
        self.starts.partition_point(|&start| start as usize <= pc) - 1
    }

    /// Behind the last micro-operation of a block.
    fn end(&self, block: usize, code: &[MicroOp]) -> usize {
        self.starts.get(block + 1).map_or(code.len(), |&next| next as usize)
    }

    /// Post-dominators if one way out of the function counts.
    fn post_dominators(&self, way_out: Option<usize>) -> Dominators<NodeIndex> {
        let end = NodeIndex::new(self.starts.len());
        let mut edges = self.edges.clone();
        if let Some(block) = way_out {
            edges.add_edge(end, NodeIndex::new(block), ());
        }
        simple_fast(&edges, end)
    }

    /// The next block up in the tree of post-dominators.
    fn up(&self, dominators: &Dominators<NodeIndex>, block: usize) -> Option<usize> {
        let up = dominators.immediate_dominator(NodeIndex::new(block))?.index();
        (up < self.starts.len()).then_some(up)
    }
}

/// The micro-operations at which lanes can part.
fn branches(code: &[MicroOp]) -> impl Iterator<Item = usize> {
    (0..code.len()).filter(|&pc| matches!(code[pc].op, Op::Branch { .. } | Op::IndexedBranch(_)))
}

/// The return that counts although it may be one among many.
fn last_return(code: &[MicroOp]) -> Option<usize> {
    let at = code.iter().rposition(is_return)?;
    // The return that the decoder adds at the end counts only if something falls into it.
    if at == 0 || falls_through(&code[at - 1]) || is_target(code, at as Pc) {
        return Some(at);
    }
    code[..at].iter().rposition(is_return)
}

fn is_return(micro: &MicroOp) -> bool {
    matches!(micro.op, Op::Return)
}

fn is_way_out(micro: &MicroOp) -> bool {
    matches!(micro.op, Op::Return | Op::Exit | Op::Trap)
}

fn is_target(code: &[MicroOp], pc: Pc) -> bool {
    code.iter().any(|micro| match &micro.op {
        Op::Branch { target, .. } => *target == pc,
        Op::IndexedBranch(branch) => branch.targets.contains(&pc),
        _ => false,
    })
}

/// First micro-operations of the basic blocks, in order; 0 is one.
fn block_starts(code: &[MicroOp]) -> Vec<Pc> {
    let mut starts = vec![0];
    for (pc, micro) in code.iter().enumerate() {
        match &micro.op {
            Op::Branch { target, .. } => starts.extend([*target, pc as Pc + 1]),
            Op::IndexedBranch(branch) => {
                starts.extend(&branch.targets);
                starts.push(pc as Pc + 1);
            }
            Op::Return | Op::Exit | Op::Trap => starts.push(pc as Pc + 1),
            _ => {}
        }
    }
    starts.retain(|&start| (start as usize) < code.len());
    starts.sort_unstable();
    starts.dedup();
    starts
}
