//! Arrays of structs (strategy `aos`): coalesced accesses and a transposition between lanes, in place of strided accesses.

mod cost;
mod fields;
mod loads;
mod plan;
mod stored;
mod stores;
mod structs;

use super::finder::{Finder, Rank};
use super::footprint::{Accesses, Added, Footprint, Neighbours, Room};
use super::group::{Group, Places, Price, Shape, shapes};
use super::pattern::Pattern;
use crate::cfg::InstId;
use crate::cost::Request;
use crate::emulate::KernelTrace;
use crate::report::{Decision, KernelReport, LoadReport};
use crate::reuse::{InBuild, NoWrap, Refusal};
use crate::rewrite::{Part, Planner};
use crate::strategies::StrategyName;
use stored::TransposeStores;
use stored::struct_stores;
use structs::TransposeLoads;
use structs::structs;

/// The pattern of loads.
#[derive(Debug)]
pub(super) struct Loads;

impl Pattern for Loads {
    fn strategies(&self) -> &'static [StrategyName] {
        &[StrategyName::Aos]
    }

    fn find(&self, finder: &mut Finder<'_, '_, '_, '_>, trace: &mut KernelTrace) {
        if !finder.allows(StrategyName::Aos) {
            return;
        }
        let free = finder.free_loads(trace, Neighbours::Nothing);
        for whole in structs(finder.legality, trace, &free) {
            let members: Vec<InstId> = whole.fields.iter().map(|field| field.load.inst).collect();
            if !finder.has_room(members.len()) {
                continue;
            }
            let paid = match finder.is_weighed() {
                false => Ok(None),
                true => {
                    let requests: Vec<Request> = whole
                        .fields
                        .iter()
                        .map(|field| finder.request(trace, &field.load))
                        .collect();
                    let wide = finder.allows(StrategyName::Wide);
                    let weighed = cost::of_loads(&finder.options.costs, &whole, &requests, wide);
                    finder.pays(StrategyName::Aos, weighed.each(members.len())).map(Some)
                }
            };
            match paid {
                Ok(price) => {
                    let footprint = Footprint::of(Accesses::Loads, members);
                    let footprint = footprint.adding(Added::Versions, vec![whole.block]);
                    finder
                        .claim(Group { price, ..Group::new(StrategyName::Aos, footprint, whole) });
                }
                Err(unprofitable) => finder.decline(&members, Rank::Struct, unprofitable),
            }
        }
    }

    fn plan(
        &self,
        chosen: &[&Group],
        planner: &mut Planner<'_, '_, '_, '_>,
    ) -> Option<Box<dyn Part>> {
        plan::loads(&shapes(chosen), planner)
    }
}

/// The pattern of stores.
#[derive(Debug)]
pub(super) struct Stores;

impl Pattern for Stores {
    fn strategies(&self) -> &'static [StrategyName] {
        &[StrategyName::Aos]
    }

    /// Claims the structs that are stored, none in blocks that get code for loop-carried values; those that are
    /// refused are listed.
    fn find(&self, finder: &mut Finder<'_, '_, '_, '_>, trace: &mut KernelTrace) {
        if !finder.allows(StrategyName::Aos) {
            return;
        }
        for whole in struct_stores(finder.legality, trace) {
            let (blocks, neighbours) = (vec![whole.block], Neighbours::NoCode);
            let members = whole.fields.iter().map(|field| field.inst).collect();
            let footprint = Footprint::of(Accesses::Stores, members)
                .adding(Added::Versions, blocks.clone())
                .within(Room { blocks, neighbours, ..Room::default() });
            if finder.conflicts(&footprint) {
                continue;
            }
            let (price, refusal) = match &whole.refusal {
                Some(refusal) => (None, Some(refusal.clone())),
                None if !finder.has_room(whole.fields.len()) => {
                    (None, Some(Refusal::Crowded(finder.options.most)))
                }
                None => match weigh_stores(finder, trace, &whole) {
                    Ok(price) => (price, None),
                    Err(refusal) => (None, Some(refusal)),
                },
            };
            let group = Group::new(StrategyName::Aos, footprint, whole);
            finder.claim(Group { price, refusal, ..group });
        }
    }

    fn plan(
        &self,
        chosen: &[&Group],
        planner: &mut Planner<'_, '_, '_, '_>,
    ) -> Option<Box<dyn Part>> {
        plan::stores(&shapes(chosen), planner)
    }
}

/// The guards in front of a transposition.
fn guards(places: &Places<'_, '_>, linear: bool, no_wrap: &[NoWrap], generic: bool) -> Vec<String> {
    let mut guards = places.warp_guards(linear, true, no_wrap);
    if generic {
        guards.push("global-address".to_owned());
    }
    guards.dedup();
    guards
}

impl Shape for TransposeLoads {
    fn account(&self, inst: InstId, places: &Places<'_, '_>, report: &mut LoadReport) {
        let first = &self.fields[0].load;
        report.source_line = places.line_of_other(first.inst, inst);
        report.guards = Some(guards(places, self.linear_lanes, &self.no_wrap, first.generic));
    }
}

impl Shape for TransposeStores {
    fn list(&self, group: &Group, places: &Places<'_, '_>, report: &mut KernelReport) {
        let first = self.fields.first().map_or(0, |field| places.line(field.inst));
        for field in &self.fields {
            let mut store = places.report_of(field.inst);
            store.bytes = field.values.len() as u32 * self.word_bits / 8;
            match &group.refusal {
                Some(refusal) => places.keep(&mut store, refusal),
                None => {
                    let generic = self.request.generic;
                    store.decision = Decision::By(group.strategy);
                    store.source_line = Some(first).filter(|first| *first != store.line);
                    store.guards = Some(guards(places, self.linear_lanes, &self.no_wrap, generic));
                    store.cost = group.price.map(Price::cost);
                }
            }
            report.stores.push(store);
        }
    }
}

/// The cost of a struct's stores, if they are weighed. `auto` does not choose such structs: no model has the
/// second-level cache's handling of partial sectors.
fn weigh_stores(
    finder: &mut Finder<'_, '_, '_, '_>,
    trace: &mut KernelTrace,
    whole: &TransposeStores,
) -> Result<Option<Price>, Refusal> {
    if !finder.is_weighed() {
        return Ok(None);
    }
    let stride = finder.legality.lane_stride(trace, &whole.request);
    let (cost_after, cost_before) = cost::of_stores(&finder.options.costs, whole, stride);
    let fields = whole.fields.len() as f64;
    let each = |cycles: f64| (100.0 * cycles / fields).round() as u32;
    let price = Price { cost_after: each(cost_after), cost_before: each(cost_before) };
    let unprofitable = finder.unprofitable_at(StrategyName::Aos, price);
    Err(match cost_after < cost_before {
        true => Refusal::ByNameOnly(unprofitable, InBuild::Left),
        false => Refusal::DoesNotPay(unprofitable),
    })
}
