//! One of the paper's two instruments (CC '23, section 7): covered loads are left out, which shows
//! what these loads cost. Computes wrong results.

use super::Strategy;
use crate::rewrite::mention::Draft;
use crate::rewrite::plan::KernelPlan;
use crate::rewrite::taps::WindowTap;

/// Removes covered loads.
pub(super) struct NoLoad;

impl Strategy for NoLoad {
    fn edits(&self, plan: &KernelPlan<'_>) -> Vec<Draft> {
        let covered = plan.replacements.iter().map(|replacement| &replacement.span);
        let others = plan.vectors.iter().flat_map(|vector| &vector.others).map(|(span, _)| span);
        let carried = plan.carried.iter().map(|carried| &carried.span);
        let taps = plan.windows.iter().flat_map(|window| &window.taps);
        let from_others = |tap: &&WindowTap| tap.values.iter().any(|value| value.distance != 0);
        let taps = taps.filter(from_others).map(|tap| &tap.span);
        let fields = plan.structs.iter().flat_map(|whole| &whole.fields[1..]);
        let fields = fields.map(|field| &field.span);
        let removed = covered.chain(others).chain(carried).chain(taps).chain(fields);
        removed.map(|span| Draft { range: span.clone(), code: String::new() }).collect()
    }
}
