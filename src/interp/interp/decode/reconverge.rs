//! Where the lanes of a divergent branch meet again.
//!
//! The assembler takes the immediate post-dominator of the branch. A path that ends its threads
//! early (`exit`, `trap`, or a `ret` that is not the function's last) is left out of the graph. Lanes
//! on such a path never come to any meeting point; the others must not be kept apart because of
//! them.
//!
//! It could choose otherwise: any post-dominator, with any of the ways out of the function left out as
//! early ones. At such a point all lanes that get there arrive for the first time since the branch;
//! the point may lie in the next iteration of a loop or far down. For branches within loops there are
//! more points: see [`super::paths`].

use std::collections::BTreeMap;

use typed_index_collections::TiSlice;

use super::graph::{Graph, falls_through, is_way_out};
use super::paths::{LoopPaths, within_loops};
use crate::interp::program::{AT_RETURN, MicroOp, Op, Pc, Reconvergence, Region};

/// The most points among which the meeting point of a branch is chosen, by ways out of the function
/// and again by ways within loops: functions of thousands of blocks have as many.
const MOST: usize = 64;

/// Writes the assembler's meeting point into every branch of a function.
pub(super) fn annotate(code: &mut TiSlice<Pc, MicroOp>) {
    let graph = Graph::new(code);
    let kept = last_return(code);
    let dominators = graph.post_dominators(kept.map(|pc| graph.block_of(pc)));
    let meeting = |pc: Pc| {
        graph.up(&dominators, graph.block_of(pc)).map_or(AT_RETURN, |block| graph.starts[block])
    };
    let meets: Vec<(Pc, Pc)> = branches(code).map(|pc| (pc, meeting(pc))).collect();
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
pub(super) fn choices(
    code: &TiSlice<Pc, MicroOp>,
) -> (BTreeMap<Pc, Vec<Reconvergence>>, Vec<Region>) {
    let graph = Graph::new(code);
    let mut found: BTreeMap<Pc, Vec<Reconvergence>> = BTreeMap::new();
    let returns = graph.returns(code);
    let last = last_return(code).map(|pc| graph.block_of(pc));
    let others = (0..graph.starts.len())
        .filter(|&block| is_way_out(graph.last(block, code)))
        .filter(|&block| Some(block) != last);
    // If several ways out count, fewer points lie on all ways: no set of several gives a point that
    // none of its members gives.
    for way_out in last.into_iter().chain(others) {
        let dominators = graph.post_dominators(Some(way_out));
        let traps = matches!(graph.last(way_out, code).op, Op::Trap);
        for pc in branches(code).filter(|&pc| !(traps && returns[graph.block_of(pc)])) {
            let points = found.entry(pc).or_default();
            let mut next = graph.up(&dominators, graph.block_of(pc));
            while let Some(block) = next.filter(|_| points.len() < MOST) {
                let point = Reconvergence { at: graph.starts[block], within: None };
                if !points.contains(&point) {
                    points.push(point);
                }
                next = graph.up(&dominators, block);
            }
        }
    }
    let (paths, regions) = within_loops(&graph);
    for pc in branches(code) {
        let points = found.entry(pc).or_default();
        let most = points.len() + MOST;
        for (paths, block) in paths.iter().flat_map(|paths: &LoopPaths| {
            paths.places(graph.block_of(pc)).map(move |block| (paths, block))
        }) {
            let point = Reconvergence { at: graph.starts[block], within: Some(paths.within) };
            if points.len() < most && !points.contains(&point) {
                points.push(point);
            }
        }
    }
    (found, regions)
}

/// The micro-operations at which lanes can part.
fn branches(code: &TiSlice<Pc, MicroOp>) -> impl Iterator<Item = Pc> {
    code.keys().filter(|&pc| matches!(code[pc].op, Op::Branch { .. } | Op::IndexedBranch(_)))
}

/// The return that counts although it may be one among many.
fn last_return(code: &TiSlice<Pc, MicroOp>) -> Option<Pc> {
    let at = code.rposition(is_return)?;
    // The return that the decoder adds at the end counts only if something falls into it.
    if at == Pc::ENTRY || falls_through(&code[at.before()]) || is_target(code, at) {
        return Some(at);
    }
    code[..at].rposition(is_return)
}

fn is_return(micro: &MicroOp) -> bool {
    matches!(micro.op, Op::Return)
}

fn is_target(code: &TiSlice<Pc, MicroOp>, pc: Pc) -> bool {
    code.iter().any(|micro| match &micro.op {
        Op::Branch { target, .. } => *target == pc,
        Op::IndexedBranch(branch) => branch.targets.contains(&pc),
        _ => false,
    })
}
