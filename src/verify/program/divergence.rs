//! Temporal divergence of the rewritten program alone: lanes that may be in different iterations of a loop, for a
//! reason that the original does not have.

use typed_index_collections::{TiVec, ti_vec};

use super::align::Alignment;
use super::prepared::Program;
use crate::cfg::{Divergence, LoopId};

/// For each loop, whether something in the rewritten program may take lanes into different iterations
/// although nothing in the original does.
pub(crate) fn new_divergence(
    original: &Program<'_, '_>,
    rewritten: &Program<'_, '_>,
    alignment: &Alignment,
) -> TiVec<LoopId, bool> {
    let mut newly = ti_vec![false; original.flow.loops.loops.len()];
    for apart in &rewritten.flow.temporal_divergence {
        newly[apart.of] |= same_divergence(original, rewritten, alignment, apart).is_none();
    }
    newly
}

/// The original's reason for a temporal divergence of the rewritten program; `None` if the original has no such
/// reason.
pub(crate) fn same_divergence(
    original: &Program<'_, '_>,
    rewritten: &Program<'_, '_>,
    alignment: &Alignment,
    apart: &Divergence,
) -> Option<Divergence> {
    let mut all =
        original.flow.temporal_divergence.iter().filter(|other| other.of == apart.of).copied();
    let Some(branch) = apart.branch else { return all.find(|other| other.branch.is_none()) };
    let matched = alignment.matched[rewritten.flow.block(branch).end.before()]?;
    all.find(|other| {
        other.branch.is_some_and(|block| original.flow.block(block).end == matched.next())
    })
}
