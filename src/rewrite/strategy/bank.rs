//! Arrays in shared memory laid out anew: declarations, and new addresses in front of accesses.

use crate::rewrite::mention::Draft;
use crate::rewrite::plan::KernelPlan;

/// Adds the edits for arrays.
pub(super) fn edits(plan: &KernelPlan<'_>, edits: &mut Vec<Draft>) {
    let changes = plan.arrays.iter();
    edits.extend(changes.map(|(range, text)| Draft { range: range.clone(), code: text.clone() }));
}
