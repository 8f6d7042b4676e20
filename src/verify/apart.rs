//! Loops of which control flow may take the lanes of a warp into different iterations: where the
//! rewritten program does so for a reason that the original has not.

use super::align::Alignment;
use super::program::Program;
use crate::cfg::Apart;

/// For each loop, whether something in the rewritten program may take lanes into different iterations,
/// where nothing in the original does.
pub(super) fn newly_apart(
    original: &Program<'_, '_>,
    rewritten: &Program<'_, '_>,
    alignment: &Alignment,
) -> Vec<bool> {
    let mut newly = vec![false; original.flow.loops.loops.len()];
    for apart in &rewritten.flow.taken_apart {
        newly[apart.of.0 as usize] |= same_apart(original, rewritten, alignment, apart).is_none();
    }
    newly
}

/// The reason why a loop of the original is taken apart that corresponds to `apart`, which is one
/// of the rewritten program; `None` if the original has no such reason.
pub(super) fn same_apart(
    original: &Program<'_, '_>,
    rewritten: &Program<'_, '_>,
    alignment: &Alignment,
    apart: &Apart,
) -> Option<Apart> {
    let mut all = original.flow.taken_apart.iter().filter(|other| other.of == apart.of).copied();
    let Some(branch) = apart.branch else { return all.find(|other| other.branch.is_none()) };
    let matched = alignment.matched[rewritten.flow.block(branch).end as usize - 1]?;
    all.find(|other| {
        other
            .branch
            .is_some_and(|block| original.flow.block(block).end.checked_sub(1) == Some(matched))
    })
}
