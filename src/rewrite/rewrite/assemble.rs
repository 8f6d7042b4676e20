//! The code of a plan: the patterns' code, the versions, and the code at the function's start.
//!
//! The modes that measure are the paper's instruments (CC '23, section 7).

use super::mention::Draft;
use super::mode::Mode;
use super::plan::KernelPlan;
use super::versions;
use crate::verify::Kind;

/// The code for one function, with the kind of each change.
pub fn drafts(plan: &KernelPlan<'_>, mode: Mode) -> Vec<(Kind, Draft)> {
    match mode {
        Mode::Original => Vec::new(),
        Mode::NoLoad => {
            let removed = plan.parts.iter().flat_map(|part| part.left_out());
            removed.map(|range| (Kind::Values, Draft { range, code: String::new() })).collect()
        }
        Mode::Full | Mode::NoCorner => all(plan, mode),
    }
}

fn all(plan: &KernelPlan<'_>, mode: Mode) -> Vec<(Kind, Draft)> {
    let mut checks = plan.checks(mode);
    let (mut all, mut edits) = (Vec::new(), Vec::new());
    let mut add = |kind: Kind, edits: &mut Vec<Draft>| {
        all.extend(edits.drain(..).map(|draft| (kind, draft)));
    };
    for part in plan.parts.iter().filter(|part| part.leads()) {
        part.edits(plan, &mut checks, mode, &mut edits);
    }
    add(Kind::Values, &mut edits);
    // The register of a load that is shuffled may be copied, too: it has its value behind the shuffle.
    edits.extend(plan.copies.iter().map(|(at, code)| Draft::insert(*at, code.clone())));
    add(Kind::Fresh, &mut edits);
    // The tests come before the code that they guard, because it names their masks.
    let tests = versions::edits(plan, &mut checks, &mut edits);
    add(Kind::Versions, &mut edits);
    for part in plan.parts.iter().filter(|part| !part.leads()) {
        part.edits(plan, &mut checks, mode, &mut edits);
    }
    add(Kind::Values, &mut edits);
    let start: String = plan.parts.iter().map(|part| part.at_start()).collect();
    edits.push(Draft::insert(plan.body, checks.prologue() + &start + &tests));
    add(Kind::Fresh, &mut edits);
    all
}
