//! Loads that take their value from a source only in some lanes: in those that went the way on which the
//! source stands, or that have stored nothing to the same bytes since.
//!
//! Chosen last, among the loads that found nothing that every lane has executed and that serve no other
//! load, so that no replacement is lost for one that works in some lanes only.

use rustc_hash::FxHashSet;

use super::{Options, StrategyName, Verdict};
use crate::emulate::KernelTrace;
use crate::reuse::{Load, Opportunities, Opportunity, Refusal};

/// Changes the verdicts about such loads; `name` is the strategy for a distance in lanes, if one is
/// allowed for the load.
pub(super) fn add(
    opportunities: &mut Opportunities<'_, '_, '_>,
    trace: &mut KernelTrace,
    (loads, verdicts): (&[usize], &mut [Verdict]),
    options: &Options,
    name: impl Fn(&mut Opportunities<'_, '_, '_>, &mut KernelTrace, &Load, i32) -> Option<StrategyName>,
) {
    let sources = |verdict: &Verdict| match verdict {
        Verdict::Covered(_, opportunity) => Some(opportunity.source),
        _ => None,
    };
    let mut serving: FxHashSet<u32> = verdicts.iter().filter_map(sources).collect();
    let mut covered: FxHashSet<u32> = FxHashSet::default();
    for (&index, verdict) in loads.iter().zip(&*verdicts) {
        if matches!(verdict, Verdict::Covered(..)) {
            covered.insert(trace.accesses[index].inst);
        }
    }
    for (&index, verdict) in loads.iter().zip(verdicts) {
        let inst = trace.accesses[index].inst;
        let may_be_asked =
            matches!(verdict, Verdict::Kept(Refusal::NotOnEveryPath(_) | Refusal::Between(..)));
        if !may_be_asked || serving.contains(&inst) {
            continue;
        }
        if covered.len() >= options.most {
            return;
        }
        let Ok(load) = opportunities.load(trace, index) else { continue };
        if opportunities.serves_already(&load) {
            continue;
        }
        let found = partner(opportunities, trace, &load, options, &covered, &name);
        if let Some((strategy, opportunity)) = found {
            serving.insert(opportunity.source);
            covered.insert(inst);
            *verdict = Verdict::Covered(strategy, opportunity);
        }
    }
}

/// The nearest such partner that is not replaced itself.
fn partner(
    opportunities: &mut Opportunities<'_, '_, '_>,
    trace: &mut KernelTrace,
    load: &Load,
    options: &Options,
    covered: &FxHashSet<u32>,
    name: impl Fn(&mut Opportunities<'_, '_, '_>, &mut KernelTrace, &Load, i32) -> Option<StrategyName>,
) -> Option<(StrategyName, Opportunity)> {
    // (Most loads may not be replaced in this way at all, and candidates take time to find.)
    if [0, 1].into_iter().all(|delta| name(opportunities, trace, load, delta).is_none()) {
        return None;
    }
    for candidate in opportunities.candidates(trace, load) {
        if trace.arena.is_nearly_spent() {
            return None;
        }
        if candidate.delta.unsigned_abs() > options.max_delta
            || covered.contains(&opportunities.source_of(candidate))
        {
            continue;
        }
        let Some(strategy) = name(opportunities, trace, load, candidate.delta) else { continue };
        if let Ok(opportunity) = opportunities.prove_asking(trace, candidate, load) {
            return Some((strategy, opportunity));
        }
    }
    None
}
