//! The paper's rule: loads in program order; a load with a legal earlier partner is covered; a covered
//! load is never a source; it takes the uncovered partner at the smallest distance (CC '23, section 5).

use super::{Options, StrategyName, Verdict, asked};
use crate::emulate::KernelTrace;
use crate::reuse::{Load, Opportunities, Opportunity, Refusal};

/// The verdict about each of some loads, which come in program order.
pub(super) fn verdicts(
    opportunities: &mut Opportunities<'_, '_, '_>,
    trace: &mut KernelTrace,
    loads: &[usize],
    options: &Options,
) -> Vec<Verdict> {
    let mut replaced = 0;
    let mut decide = |index: usize| {
        let load = opportunities.load(trace, index)?;
        if replaced >= options.most {
            return Err(Refusal::Crowded(options.most));
        }
        match partner(opportunities, trace, &load, options) {
            Ok(opportunity) => {
                replaced += 1;
                Ok(opportunity)
            }
            Err(refusal) => {
                opportunities.offer(trace, load);
                Err(refusal)
            }
        }
    };
    let verdict = |index: &usize| match decide(*index) {
        Ok(opportunity) => Verdict::Covered(StrategyName::Paper, opportunity),
        Err(refusal) => Verdict::Kept(refusal),
    };
    let mut verdicts: Vec<Verdict> = loads.iter().map(verdict).collect();
    let always = |_: &mut Opportunities<'_, '_, '_>, _: &mut KernelTrace, _: &Load, _| {
        Some(StrategyName::Paper)
    };
    asked::add(opportunities, trace, (loads, &mut verdicts), options, always);
    verdicts
}

/// The nearest legal partner, or the reason why the nearest candidate is none.
fn partner(
    opportunities: &mut Opportunities<'_, '_, '_>,
    trace: &mut KernelTrace,
    load: &Load,
    options: &Options,
) -> Result<Opportunity, Refusal> {
    let mut refusal = None;
    for candidate in opportunities.candidates(trace, load) {
        if trace.arena.is_nearly_spent() {
            return Err(Refusal::Budget);
        }
        let legal = match candidate.delta {
            delta if delta.unsigned_abs() > options.max_delta => Err(Refusal::TooFar(delta)),
            _ => opportunities.prove(trace, candidate, load),
        };
        match legal {
            Ok(opportunity) => return Ok(opportunity),
            Err(reason) => refusal = refusal.or(Some(reason)),
        }
    }
    let gathered = opportunities.gathered(trace, load, options.max_delta);
    gathered.map_err(|reason| refusal.unwrap_or(reason))
}
