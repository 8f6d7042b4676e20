//! One of the paper's two instruments (CC '23, section 7): covered loads are left out, which shows
//! what they cost. Computes wrong results.

use super::Strategy;
use crate::rewrite::edit::Edit;
use crate::rewrite::plan::KernelPlan;

/// Removes covered loads.
pub(super) struct NoLoad;

impl Strategy for NoLoad {
    fn edits(&self, plan: &KernelPlan<'_>, _: &str) -> Vec<Edit> {
        plan.replacements
            .iter()
            .map(|replacement| Edit { range: replacement.span.clone(), text: String::new() })
            .collect()
    }
}
