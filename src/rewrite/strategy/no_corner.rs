//! One of the paper's two instruments (CC '23, section 7): shuffles without the load for corner cases,
//! which shows what that load costs. Computes wrong results.

use super::paper::{copies, received};
use super::{Strategy, aos, reuse, stored, wide, window};
use crate::cfg::BlockId;
use crate::rewrite::checks::Checks;
use crate::rewrite::mention::Draft;
use crate::rewrite::plan::KernelPlan;

/// Shuffles without the load for lanes that have no source lane.
pub(super) struct NoCorner;

impl Strategy for NoCorner {
    fn edits(&self, plan: &KernelPlan<'_>) -> Vec<Draft> {
        let mut checks = Checks::of_rows(plan);
        let mut edits = copies(plan);
        let mut last: Option<(BlockId, String)> = None;
        for replacement in &plan.replacements {
            let mut code = String::new();
            let delta = replacement.covered.delta;
            if delta != 0 && last.as_ref().is_none_or(|(block, _)| *block != replacement.block) {
                let mask = checks.fresh.word();
                code += &format!("activemask.b32 {mask};\n\t");
                last = Some((replacement.block, mask));
            }
            let mask = last.as_ref().map_or("", |(_, mask)| mask);
            let when = replacement.guard.as_ref().map(|guard| format!("@{guard} "));
            let when = when.as_deref().unwrap_or("");
            let way = (delta, mask);
            let received = received(replacement, way, when, &mut checks.fresh, plan.planted);
            code += &received.join("\n\t");
            edits.push(Draft { range: replacement.span.clone(), code });
        }
        // A value that comes from the lane itself has no corner case.
        let tests = wide::edits(plan, &mut checks, &mut edits);
        window::edits(plan, &mut checks, &mut edits);
        aos::edits(plan, &mut checks, &mut edits);
        stored::edits(plan, &mut checks, &mut edits);
        reuse::carry(plan, &mut edits);
        edits.push(Draft::insert(plan.body, checks.prologue() + &tests));
        edits
    }
}
