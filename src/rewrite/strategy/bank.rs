//! Arrays in shared memory laid out anew: declarations, and new addresses in front of accesses.

use crate::rewrite::edit::Edit;
use crate::rewrite::plan::KernelPlan;

/// Adds the edits for arrays.
pub(super) fn edits(plan: &KernelPlan<'_>, edits: &mut Vec<Edit>) {
    let changes = plan.arrays.iter();
    edits.extend(changes.map(|(range, text)| Edit { range: range.clone(), text: text.clone() }));
}
