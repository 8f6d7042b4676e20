//! A group of one load that takes its value from another load, and its entry in the report.

use crate::cfg::InstId;
use crate::patterns::finder::Finder;
use crate::patterns::footprint::{Accesses, Footprint};
use crate::patterns::group::{Group, Places, Price, Shape};
use crate::report::{Decision, LoadReport};
use crate::reuse::{Guards, LegalReuse, Load};
use crate::strategies::StrategyName;

/// A load that takes its value from another one.
pub(super) fn group(
    finder: &Finder<'_, '_, '_, '_>,
    load: &Load,
    name: StrategyName,
    legal_reuse: LegalReuse,
    price: Option<Price>,
) -> Group {
    let mut footprint = Footprint::of(Accesses::Loads, vec![load.inst]);
    if legal_reuse.guards != Guards::default() {
        let places = [load.inst, legal_reuse.source];
        footprint.checks = places.iter().filter_map(|&at| finder.legality.block_of(at)).collect();
    }
    Group { price, ..Group::new(name, footprint, legal_reuse) }
}

impl Shape for LegalReuse {
    fn account(&self, _inst: InstId, places: &Places<'_, '_>, report: &mut LoadReport) {
        let moved = report.decision == Decision::By(StrategyName::Reuse);
        report.source_line = Some(places.line(self.source));
        report.delta = (!moved).then_some(self.delta);
        report.guards = Some(pair_guards(places, &self.guards));
    }
}

/// The guards under which a load takes its value from another one.
fn pair_guards(places: &Places<'_, '_>, guards: &Guards) -> Vec<String> {
    let flow = places.flow;
    let mut names = places.warp_guards(guards.linear_lanes, guards.whole_warp, &guards.no_wrap);
    if let Some((register, negated)) = guards.source_active {
        let register = &flow.registers[register];
        let sign = if negated { "!" } else { "" };
        names.push(format!("source-active {sign}{register}"));
    }
    if guards.source_executed.is_some() {
        names.push("source-executed".to_owned());
    }
    if !guards.no_alias_checks.is_empty() {
        names.push("stores-apart".to_owned());
    }
    if guards.global_address {
        names.push("global-address".to_owned());
    }
    for claim in &guards.same_index {
        let stride_one = if claim.stride_one { "+1" } else { "" };
        names.push(format!("same-row {}{stride_one}", flow.registers[claim.register]));
    }
    if let Some(bytes) = guards.address_delta {
        names.push(format!("bytes-apart {bytes}"));
    }
    names
}
