//! Moves in place of loads: from the register of a load of the same address, or from the register in
//! which a value has come round a loop.

use crate::rewrite::mention::Draft;
use crate::rewrite::plan::{KernelPlan, Transfer};

/// The move of one transfer; the register is written under the prefix `when` only.
pub(super) fn moved(transfer: &Transfer, when: &str) -> String {
    let Transfer { sent, destination, bits } = transfer;
    format!("{when}mov.b{bits} {destination}, {sent};")
}

/// Adds the edits for values that go round loops. They come behind those of other strategies: code in
/// front of a loop is executed after whichever version of the code before it ran.
pub(super) fn carry(plan: &KernelPlan<'_>, edits: &mut Vec<Draft>) {
    for carried in &plan.carried {
        edits.push(Draft { range: carried.span.clone(), code: carried.moves.clone() });
        for (at, code) in carried.latches.iter().chain([&carried.entry]) {
            edits.push(Draft::insert(*at, code.clone()));
        }
    }
}
