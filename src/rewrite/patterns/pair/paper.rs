//! The paper's rule: loads in program order; a load with a legal earlier partner is covered; a covered
//! load is never a source; it takes the uncovered partner at the smallest distance (CC '23, section 5).

use super::group::group;
use super::runtime_checked;
use crate::emulate::KernelTrace;
use crate::patterns::finder::Finder;
use crate::reuse::{LegalReuse, Load, Offers, Refusal};
use crate::strategies::StrategyName;

/// Decides about each load.
pub(super) fn find(
    finder: &mut Finder<'_, '_, '_, '_>,
    offers: &mut Offers,
    trace: &mut KernelTrace,
) {
    for &index in finder.loads {
        let load = match finder.legality.load(trace, index) {
            Ok(load) => load,
            Err(refusal) => {
                finder.keep(trace.accesses[index].inst, refusal);
                continue;
            }
        };
        if !finder.has_room(1) {
            finder.keep(load.inst, Refusal::Crowded(finder.options.most));
            continue;
        }
        match partner(finder, offers, trace, &load) {
            Ok(legal_reuse) => {
                let group = group(finder, &load, StrategyName::Paper, legal_reuse, None);
                finder.claim(group);
            }
            Err(refusal) => {
                finder.keep(load.inst, refusal);
                offers.offer(finder.legality, trace, load);
            }
        }
    }
    runtime_checked::find(finder, offers, trace, |_, _, _, _| Some(StrategyName::Paper));
}

/// The nearest legal partner, or the reason why the nearest candidate is none.
fn partner(
    finder: &mut Finder<'_, '_, '_, '_>,
    offers: &mut Offers,
    trace: &mut KernelTrace,
    load: &Load,
) -> Result<LegalReuse, Refusal> {
    let mut refusal = None;
    for candidate in offers.candidates(finder.legality, trace, load) {
        if trace.arena.is_nearly_spent() {
            return Err(Refusal::Budget);
        }
        let legal = match candidate.delta {
            delta if delta.unsigned_abs() > finder.options.max_delta => Err(Refusal::TooFar(delta)),
            _ => offers.prove(finder.legality, trace, candidate, load),
        };
        match legal {
            Ok(legal_reuse) => return Ok(legal_reuse),
            Err(reason) => refusal = refusal.or(Some(reason)),
        }
    }
    let gathered = offers.gathered(finder.legality, trace, load, finder.options.max_delta);
    gathered.map_err(|reason| refusal.unwrap_or(reason))
}
