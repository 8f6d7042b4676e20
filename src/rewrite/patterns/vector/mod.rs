//! SLP vectorisation of loads: one vector load for several loads of consecutive bytes (strategy `wide`).

mod in_turns;
mod plan;

pub(super) use in_turns::InTurns;

use super::finder::{Finder, Rank, Weighed};
use super::footprint::{Accesses, Added, Footprint, Neighbours};
use super::group::{Group, Places, Price, Shape, alignment, shapes};
use super::joined::packed;
use super::pattern::Pattern;
use crate::cfg::InstId;
use crate::cost::Request;
use crate::emulate::KernelTrace;
use crate::report::LoadReport;
use crate::reuse::{Assumed, Limit, Unprofitable, VectorGroup};
use crate::rewrite::{Part, Planner};
use crate::strategies::StrategyName;

/// Instructions of a test of alignment and of the branch on it.
const TEST: u32 = 3;

/// Use a vector load only if it costs at most this fraction of the loads it replaces. With a larger fraction two loads
/// gain nothing in the simulator: complex doubles take 0.99 to 1.09, structs of two words 1.01 to 1.07 times as long
/// (`openacc-bench/results/strategies.md`).
const VECTOR_SHARE: f64 = 0.5;

/// Cycles that a vector load must save a warp if alignment is tested for it, the first-level cache serves the loads
/// of an architecture whose shuffles share its pipe, and nobody compares the machine code afterwards. Groups that save 12 gain where that pipe is the bottleneck and
/// lose as much where memory is: 0.94 to 1.05 times as long; groups that save 24 take 0.83 to 1.02
/// (`openacc-bench/results/strategies.md`).
const TESTED_SAVES: f64 = 16.0;

/// The pattern.
#[derive(Debug)]
pub(super) struct Vector;

impl Pattern for Vector {
    fn strategies(&self) -> &'static [StrategyName] {
        &[StrategyName::Wide]
    }

    fn find(&self, finder: &mut Finder<'_, '_, '_, '_>, trace: &mut KernelTrace) {
        if !finder.allows(StrategyName::Wide) {
            return;
        }
        let free = finder.free_loads(trace, Neighbours::NoVersions);
        for found in finder.legality.adjacent(trace, &free) {
            let members: Vec<InstId> = found.members.iter().map(|load| load.inst).collect();
            if !finder.has_room(members.len()) {
                continue;
            }
            match weigh(finder, trace, &found) {
                Ok(price) => {
                    let block = trace.accesses[found.members[0].access].block;
                    let added = match found.multiples.is_empty() {
                        true => Added::Nothing,
                        false => Added::Versions,
                    };
                    let footprint = Footprint::of(Accesses::Loads, members)
                        .lane_by_lane()
                        .adding(added, vec![block]);
                    finder
                        .claim(Group { price, ..Group::new(StrategyName::Wide, footprint, found) });
                }
                Err(unprofitable) => finder.decline(&members, Rank::Vector, unprofitable),
            }
        }
    }

    fn plan(
        &self,
        chosen: &[&Group],
        planner: &mut Planner<'_, '_, '_, '_>,
    ) -> Option<Box<dyn Part>> {
        plan::plan(&shapes(chosen), planner)
    }
}

impl Shape for VectorGroup {
    fn is_invariant(&self) -> bool {
        true
    }

    fn account(&self, inst: InstId, places: &Places<'_, '_>, report: &mut LoadReport) {
        report.source_line = places.line_of_other(self.members[0].inst, inst);
        report.guards = Some(self.multiples.iter().map(alignment).collect());
    }
}

/// Whether a vector load takes fewer cycles than the loads that it replaces.
fn weigh(
    finder: &mut Finder<'_, '_, '_, '_>,
    trace: &mut KernelTrace,
    group: &VectorGroup,
) -> Result<Option<Price>, Unprofitable> {
    if !finder.is_weighed() {
        return Ok(None);
    }
    let mut weighed = weighed(finder, trace, group);
    if !group.multiples.is_empty() {
        weighed.cost_after += finder.options.costs.instructions(TEST);
        let saved = weighed.cost_before - weighed.cost_after;
        weighed.limit = limit(&weighed).or(limit_of_tested(finder, trace, group, saved));
    }
    let paid = finder.pays(StrategyName::Wide, weighed);
    paid.map(Some)
        .map_err(|unprofitable| Unprofitable { loads: group.members.len() as u32, ..unprofitable })
}

/// The cost of a vector load without a test, and of the loads that it replaces.
fn weighed(
    finder: &mut Finder<'_, '_, '_, '_>,
    trace: &mut KernelTrace,
    group: &VectorGroup,
) -> Weighed {
    let mut requests: Vec<Request> =
        group.members.iter().map(|load| finder.request(trace, load)).collect();
    // Lanes whose vectors do not overlap are at least a vector apart, and so are their parts.
    let unknown = requests.iter().any(|request| request.stride.is_none());
    for request in &mut requests {
        request.stride = request.stride.or(Some(group.bytes));
    }
    let costs = &finder.options.costs;
    let each = |request: &Request| costs.load(request) + costs.instructions(1);
    let cost_before = requests.iter().map(each).sum();
    let vector = Request { bytes: group.bytes as u32, ..requests[0] };
    let unpack = packed(group).map_or(0, |packed| packed.to_unpack(group.elements.len()));
    let cost_after = each(&vector) + costs.instructions(unpack);
    let assumed = unknown.then_some(Assumed::VectorApart);
    let weighed = Weighed { assumed, ..Weighed::new(cost_after, cost_before) };
    Weighed { limit: limit(&weighed), ..weighed }
}

/// The limit for vectors that save too small a part of their loads.
fn limit(weighed: &Weighed) -> Option<Limit> {
    let is_above = weighed.cost_after > weighed.cost_before * VECTOR_SHARE;
    is_above.then_some(Limit::Share((100.0 * VECTOR_SHARE) as u32))
}

/// The limit for vectors whose alignment is tested and which save some cycles, with other accesses behind the same test.
fn limit_of_tested(
    finder: &mut Finder<'_, '_, '_, '_>,
    trace: &mut KernelTrace,
    group: &VectorGroup,
    saved: f64,
) -> Option<Limit> {
    let request = finder.request(trace, &group.members[0]);
    let stride = request.stride.or(Some(group.bytes));
    let vector = Request { bytes: group.bytes as u32, stride, ..request };
    let has_to_save = !finder.options.costs.allow_shuffles(&vector) && !finder.options.is_checked;
    (has_to_save && saved < TESTED_SAVES).then_some(Limit::Tested((100.0 * TESTED_SAVES) as u32))
}
