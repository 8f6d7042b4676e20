//! The code of all strategies together, for everything that was chosen in one function.

use super::{Strategy, aos, bank, paper, reuse, stored, wide, window};
use crate::rewrite::checks::Checks;
use crate::rewrite::mention::Draft;
use crate::rewrite::plan::KernelPlan;

/// All strategies, each where it was chosen.
pub(super) struct Full;

impl Strategy for Full {
    fn edits(&self, plan: &KernelPlan<'_>) -> Vec<Draft> {
        let mut checks = Checks::new(plan);
        let mut edits = Vec::new();
        for replacement in &plan.replacements {
            paper::replace(replacement, &mut checks, &mut edits);
        }
        // The register of a load that is shuffled may be copied, too: it has its value behind the shuffle.
        edits.extend(paper::copies(plan));
        // The tests come first: the shuffles of a row name the mask that its test has found.
        let tests = wide::edits(plan, &mut checks, &mut edits);
        window::edits(plan, &mut checks, &mut edits);
        aos::edits(plan, &mut checks, &mut edits);
        stored::edits(plan, &mut checks, &mut edits);
        reuse::carry(plan, &mut edits);
        bank::edits(plan, &mut edits);
        edits.push(Draft::insert(plan.body, checks.prologue() + &tests));
        edits
    }
}
