//! Where the lanes of a divergent branch meet again: the immediate post-dominator of its block.
//!
//! A path that ends its threads early (`exit`, `trap`, or a `ret` that is not the function's last)
//! is left out of the graph. Lanes on such a path never come to any meeting point; the others must
//! not be kept apart because of them.

use petgraph::algo::dominators::simple_fast;
use petgraph::graph::{DiGraph, NodeIndex};

use super::control::falls_through;
use crate::interp::program::{AT_RETURN, MicroOp, Op, Pc};

/// Writes the meeting point into every branch of a function.
pub fn annotate(code: &mut [MicroOp]) {
    let starts = block_starts(code);
    let block_of = |pc: Pc| starts.partition_point(|&start| start <= pc) - 1;
    let last_return = code.iter().rposition(|micro| reaches_end(micro) && is_return(micro));
    // Edges are reversed, so that post-dominators are dominators.
    let mut graph = DiGraph::<(), ()>::with_capacity(starts.len() + 1, 2 * starts.len());
    let nodes: Vec<NodeIndex> = starts.iter().map(|_| graph.add_node(())).collect();
    let exit = graph.add_node(());
    let mut live_return = last_return;
    if let Some(at) = last_return {
        // The return that the decoder adds at the end counts only if something falls into it.
        let reachable = at == 0 || falls_through(&code[at - 1]) || is_target(code, at as Pc);
        if !reachable {
            live_return =
                code[..at].iter().rposition(|micro| reaches_end(micro) && is_return(micro));
        }
    }
    for (block, &start) in starts.iter().enumerate() {
        let end = starts.get(block + 1).map_or(code.len(), |&next| next as usize);
        let last = &code[end - 1];
        let mut edge = |to: Pc| {
            if (to as usize) < code.len() {
                graph.add_edge(nodes[block_of(to)], nodes[block], ());
            }
        };
        match &last.op {
            Op::Branch { target, .. } => edge(*target),
            Op::IndexedBranch(branch) => branch.targets.iter().for_each(|&target| edge(target)),
            _ => {}
        }
        if falls_through(last) {
            edge(end as Pc);
        }
        let returns = (start as usize..end).any(|pc| Some(pc) == live_return);
        if returns {
            graph.add_edge(exit, nodes[block], ());
        }
    }
    let dominators = simple_fast(&graph, exit);
    let meeting = |pc: usize| {
        let block = nodes[block_of(pc as Pc)];
        match dominators.immediate_dominator(block) {
            Some(node) if node != exit => starts[node.index()],
            _ => AT_RETURN,
        }
    };
    let meets: Vec<(usize, Pc)> = (0..code.len())
        .filter(|&pc| matches!(code[pc].op, Op::Branch { .. } | Op::IndexedBranch(_)))
        .map(|pc| (pc, meeting(pc)))
        .collect();
    for (pc, point) in meets {
        match &mut code[pc].op {
            Op::Branch { meet, .. } => *meet = point,
            Op::IndexedBranch(branch) => branch.meet = point,
            _ => {}
        }
    }
}

fn is_return(micro: &MicroOp) -> bool {
    matches!(micro.op, Op::Return)
}

fn reaches_end(micro: &MicroOp) -> bool {
    !matches!(micro.op, Op::Exit | Op::Trap)
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
