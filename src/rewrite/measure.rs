//! The paper's two instruments (CC '23, section 7): code that shows what loads and corner cases
//! cost, and computes wrong results.

use super::edit::Edit;
use super::names::Names;
use super::paper::{copies, exchange};
use super::plan::{KernelPlan, Strategy};

/// Removes covered loads.
pub(super) struct NoLoad;

impl Strategy for NoLoad {
    fn edits(&self, plan: &KernelPlan, _: &Names) -> Vec<Edit> {
        plan.replacements
            .iter()
            .map(|replacement| Edit { range: replacement.span.clone(), text: String::new() })
            .collect()
    }
}

/// Shuffles without the load for lanes that have no source lane.
pub(super) struct NoCorner;

impl Strategy for NoCorner {
    fn edits(&self, plan: &KernelPlan, names: &Names) -> Vec<Edit> {
        let mut words = plan.words;
        let mut edits = copies(plan);
        let mut mask: Option<(crate::cfg::BlockId, String)> = None;
        for replacement in &plan.replacements {
            let mut text = String::new();
            if replacement.covered.delta != 0
                && mask.as_ref().is_none_or(|(block, _)| *block != replacement.block)
            {
                let name = names.word(words);
                words += 1;
                text += &format!("activemask.b32 {name};\n\t");
                mask = Some((replacement.block, name));
            }
            let mask = mask.as_ref().map_or("", |(_, name)| name);
            text += &exchange(replacement, &replacement.destination, mask);
            edits.push(Edit { range: replacement.span.clone(), text });
        }
        edits.push(Edit::insert(plan.body, names.declare(0, words)));
        edits
    }
}
