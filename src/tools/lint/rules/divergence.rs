//! `divergent-branch`.

use super::super::rule::{Level, Rule};
use super::super::subject::{Found, Subject};
use crate::cfg::{BlockId, EdgeCondition};
use crate::traffic::LANES;

/// Sides of fewer instructions are predicated by the assembler.
const LEAST_SIDE: usize = 8;

/// Branches that split every warp into two sides with work each.
pub(super) fn branches(subject: &Subject<'_, '_, '_>) -> Vec<Found> {
    let flow = subject.flow;
    let mut found = Vec::new();
    for split in &subject.traffic.splits {
        let block = flow.block(split.block);
        let side = |wanted: bool| {
            let edge = block.successors.iter().find(|edge| match edge.condition {
                EdgeCondition::Predicate(_, taken) => taken == wanted,
                _ => false,
            })?;
            (flow.block(edge.to).predecessors.len() == 1).then(|| weight(subject, edge.to))
        };
        // An edge without a condition of its own falls through.
        let (Some(taken), Some(other)) = (side(true), side(false)) else { continue };
        if taken.min(other) < LEAST_SIDE {
            continue;
        }
        let Some(inst) = block.instructions().next_back() else { continue };
        found.push(Found {
            rule: Rule::DivergentBranch,
            level: Level::Warning,
            inst,
            message: format!(
                "every warp executes both sides of this branch: {taken} instructions for {} lanes, then {other} for {}",
                split.taken,
                LANES as u32 - split.taken
            ),
            label: Some("the condition differs between the lanes of each warp".to_owned()),
            help: "let whole warps take one side: branch on `threadIdx.x / 32`, or sort the work by kind".to_owned(),
            waste: 0,
        });
    }
    found
}

/// Instructions of the blocks that are reached through one block alone.
fn weight(subject: &Subject<'_, '_, '_>, head: BlockId) -> usize {
    let flow = subject.flow;
    let below = flow.block_ids().filter(|&id| flow.dominators.dominates(head, id));
    below.map(|id| flow.block(id).instructions().len()).sum()
}
