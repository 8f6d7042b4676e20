//! Accesses that fewer lanes than a warp has execute, where it is known which.
//!
//! The lanes are known if conditions on the lane alone decide them: each block on the way is entered by one edge
//! whose condition has a value per lane, or by all lanes that came to its dominator. Conditions that are the same for
//! the whole warp are taken to hold.

use super::bounds::Span;
use super::warps::Warps;
use crate::cfg::{BlockId, PostDominators};
use crate::emulate::Access;
use crate::expr::Facts;
use crate::lanes::Warp;

/// The lanes of one warp that execute an access, at least two and not all, and the cost of their request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Active {
    /// The lanes, a bit for each.
    pub lanes: u32,
    /// The number of the warp in its block; `None` if it holds for each warp.
    pub warp: Option<u64>,
    /// The sectors or wavefronts of the request.
    pub span: Span,
}

/// The lanes of the first warp that executes an access; of [`Warp::Row`] if they are the same in each warp. `None` if they
/// are not known.
pub(super) fn lanes(
    warps: &mut Warps<'_, '_, '_>,
    behind: &PostDominators,
    access: &Access,
    facts: &Facts,
) -> Option<(Warp, u32)> {
    let shape = warps.shape();
    if !is_decided_by_edges(warps, behind, access.block) {
        return None;
    }
    let literals = warps.context.trace.conditions(access, facts);
    let each = shape.is_linear().then_some(Warp::Row);
    let is_decided = |warp: Warp, warps: &mut Warps<'_, '_, '_>| {
        warps.are_decided(warp, access.block, &literals)
    };
    let mut candidates: Vec<Warp> =
        each.into_iter().filter(|&row| is_decided(row, warps)).collect();
    if candidates.is_empty() {
        candidates = warps.certain();
    }
    for warp in candidates {
        if !is_decided(warp, warps) {
            return None;
        }
        let lanes = warps.holding(warp, access.block, &literals);
        if lanes != 0 {
            return Some((warp, lanes));
        }
    }
    None
}

/// Whether the conditions of the edges that dominate a block are all that keeps a lane from it, in each iteration of
/// the loops around.
pub(super) fn is_decided_by_edges(
    warps: &Warps<'_, '_, '_>,
    behind: &PostDominators,
    block: BlockId,
) -> bool {
    let (flow, context) = (warps.flow, warps.context);
    let mut around = flow.loops.around(flow.loops.innermost(block));
    around.all(|id| context.uniformity.exits[id])
        && flow.dominators.chain(block).all(|at| {
            context.trace.arena.charge(1);
            match flow.block(at).predecessors[..] {
                [] => true,
                [edge] => {
                    flow.block(edge.from).successors.len() == 1
                        || context.trace.assumptions[at].is_some()
                }
                _ => behind.follows_dominator(flow, at),
            }
        })
}
