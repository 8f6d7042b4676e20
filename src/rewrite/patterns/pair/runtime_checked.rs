//! Loads that take their value from a source only in some lanes: in those that went the way on which the
//! source stands, or that have stored nothing to the same bytes since.
//!
//! Chosen last, among the loads that found nothing that every lane has executed and that serve no other
//! load, so that no replacement is lost for one that works in some lanes only.

use rustc_hash::FxHashSet;

use super::group::group;
use super::weigh;
use crate::cfg::InstId;
use crate::emulate::KernelTrace;
use crate::patterns::finder::Finder;
use crate::reuse::{LegalReuse, Load, Offers, Refusal};
use crate::strategies::StrategyName;

/// Claims such loads; `name` is the strategy for a distance in lanes, if one is allowed for the load.
pub(super) fn find(
    finder: &mut Finder<'_, '_, '_, '_>,
    offers: &mut Offers,
    trace: &mut KernelTrace,
    name: impl Fn(&mut Finder<'_, '_, '_, '_>, &mut KernelTrace, &Load, i32) -> Option<StrategyName>,
) {
    let (mut covered, mut serving) = (FxHashSet::default(), FxHashSet::default());
    for (group, legal_reuse) in finder.own::<LegalReuse>() {
        covered.extend(group.members().iter().copied());
        serving.insert(legal_reuse.source);
    }
    let mut chosen = Vec::new();
    for &index in finder.loads {
        let inst = trace.accesses[index].inst;
        let may_be_asked = matches!(
            finder.refusal_of(inst),
            Some(Refusal::NotOnEveryPath(_) | Refusal::Between(..))
        );
        if !may_be_asked || serving.contains(&inst) {
            continue;
        }
        if covered.len() >= finder.options.most {
            break;
        }
        let Ok(load) = finder.legality.load(trace, index) else { continue };
        if finder.legality.serves_already(&load) {
            continue;
        }
        if let Some((strategy, legal_reuse)) =
            partner(finder, offers, trace, &load, &covered, &name)
        {
            serving.insert(legal_reuse.source);
            covered.insert(inst);
            chosen.push((load, strategy, legal_reuse));
        }
    }
    for (load, name, legal_reuse) in chosen {
        match weigh(finder, trace, &load, name, &legal_reuse) {
            Ok(price) => {
                let group = group(finder, &load, name, legal_reuse, price);
                finder.claim(group);
            }
            Err(refusal) => finder.keep(load.inst, refusal),
        }
    }
}

/// The nearest such partner that is not replaced itself.
fn partner(
    finder: &mut Finder<'_, '_, '_, '_>,
    offers: &mut Offers,
    trace: &mut KernelTrace,
    load: &Load,
    covered: &FxHashSet<InstId>,
    name: impl Fn(&mut Finder<'_, '_, '_, '_>, &mut KernelTrace, &Load, i32) -> Option<StrategyName>,
) -> Option<(StrategyName, LegalReuse)> {
    // (Most loads may not be replaced in this way at all, and candidates take time to find.)
    if [0, 1].into_iter().all(|delta| name(finder, trace, load, delta).is_none()) {
        return None;
    }
    for candidate in offers.candidates(finder.legality, trace, load) {
        if trace.arena.is_nearly_spent() {
            return None;
        }
        if candidate.delta.unsigned_abs() > finder.options.max_delta
            || covered.contains(&offers.source_of(candidate))
        {
            continue;
        }
        let Some(strategy) = name(finder, trace, load, candidate.delta) else { continue };
        if let Ok(legal_reuse) = offers.look(finder.legality, trace, candidate, load, true) {
            return Some((strategy, legal_reuse));
        }
    }
    None
}
