//! The report of an array in shared memory.

use super::Decided;
use super::describe::Places;
use crate::report::{ArrayAccessReport, ArrayReport, Cost, Wavefronts};
use crate::reuse::shared::Placement;
use crate::select::ArrayFinding;

/// What was decided about an array.
pub(super) fn report(
    (source, origins): Places<'_>,
    decided: &Decided<'_, '_>,
    found: &ArrayFinding,
) -> ArrayReport {
    let ArrayFinding { array, placement, wavefronts, cost, refusal, .. } = found;
    let rounded = |number: f64| (100.0 * number).round() / 100.0;
    let line = |inst: u32| source.line(decided.flow.insts[inst as usize].ast.span.start);
    let each = array.accesses.iter().zip(wavefronts).map(|(access, &(before, after))| {
        let wavefronts = Wavefronts { before: rounded(before), after: rounded(after) };
        let source = origins.at(decided.flow.insts[access.inst as usize].ast.span);
        ArrayAccessReport { line: line(access.inst), source, bytes: access.bytes, wavefronts }
    });
    let sum = |of: fn(&(f64, f64)) -> f64| rounded(wavefronts.iter().map(of).sum());
    let all = Wavefronts { before: sum(|pair| pair.0), after: sum(|pair| pair.1) };
    ArrayReport {
        line: array.line,
        name: array.name.clone(),
        bytes: array.bytes,
        layout: (*placement != Placement::Same).then(|| placement.to_string()),
        wavefronts: array.refusal.is_none().then_some(all),
        accesses: each.collect(),
        cost: cost
            .map(|(strategy, load)| Cost { strategy: rounded(strategy), load: rounded(load) }),
        rule: refusal.as_ref().map(|refusal| refusal.rule().to_owned()),
        reason: refusal.as_ref().map(ToString::to_string),
    }
}
