//! Predictive commoning (strategy `reuse`): loop-carried values in registers, in place of loads that an earlier iteration
//! has performed.
//!
//! The recurrences of one loop are weighed together, since they share tests.

mod addresses;
mod carrying_loop;
mod no_alias;
mod plan;
mod recurrences;
mod slice;

use super::finder::{Finder, Rank, Weighed};
use super::footprint::{Accesses, Added, Footprint, Neighbours};
use super::group::{Group, Places, Price, Shape, shapes};
use super::pattern::Pattern;
use crate::cfg::{BlockId, InstId, RegisterId};
use crate::emulate::KernelTrace;
use crate::report::LoadReport;
use crate::reuse::{Limit, Unprofitable};
use crate::rewrite::{Part, Planner};
use crate::strategies::StrategyName;
use recurrences::carried;
use recurrences::{LoopCarriedReuse, Start};
use slice::{SameAddress, Slice, Tested};

/// The key of a test at the end of each iteration: the loop's entry, the iterations, the copies that
/// compute the one base, the register with the other.
type Test = (InstId, u32, Slice, RegisterId);

/// The test at the end of each iteration for a recurrence.
fn tested_always(recurrence: &LoopCarriedReuse) -> Option<Test> {
    match &recurrence.start {
        Start::Performed(Some(SameAddress { slice, source: Tested::Always(base), .. })) => {
            Some((recurrence.entry, recurrence.distance, slice.clone(), *base))
        }
        _ => None,
    }
}

/// The instructions of a test, divided among those that share it.
fn share(test: Option<&Test>, all: &[Option<Test>]) -> f64 {
    let Some(test) = test else { return 0.0 };
    let sharing = all.iter().flatten().filter(|other| *other == test).count();
    (test.2.len() + 2) as f64 / sharing.max(1) as f64
}

/// The pattern.
#[derive(Debug)]
pub(super) struct Carry;

impl Pattern for Carry {
    fn strategies(&self) -> &'static [StrategyName] {
        &[StrategyName::Reuse]
    }

    fn find(&self, finder: &mut Finder<'_, '_, '_, '_>, trace: &mut KernelTrace) {
        if !finder.allows(StrategyName::Reuse) {
            return;
        }
        let free = finder.free_loads(trace, Neighbours::Any);
        let recurrences = carried(finder.legality, trace, &free);
        let tests: Vec<_> = recurrences.iter().map(tested_always).collect();
        let shares = tests.iter().map(|test| share(test.as_ref(), &tests));
        let mut chosen = Vec::new();
        for (recurrence, share) in recurrences.into_iter().zip(shares) {
            match weigh(finder, trace, &recurrence, share) {
                Ok(price) => chosen.push((recurrence, price)),
                Err(unprofitable) => {
                    finder.decline(&[recurrence.load.inst], Rank::Carry, unprofitable)
                }
            }
        }
        chosen.truncate(finder.options.most);
        for (recurrence, price) in chosen {
            let blocks = blocks_of(finder, &recurrence);
            let footprint = Footprint::of(Accesses::Loads, vec![recurrence.load.inst]);
            let footprint = footprint.adding(Added::Code, blocks);
            finder.claim(Group {
                loop_carried: vec![recurrence.source],
                price,
                ..Group::new(StrategyName::Reuse, footprint, recurrence)
            });
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

impl Shape for LoopCarriedReuse {
    fn account(&self, _inst: InstId, places: &Places<'_, '_>, report: &mut LoadReport) {
        report.source_line = Some(places.line(self.source));
        report.iterations = Some(self.distance);
        let same = matches!(self.start, Start::Performed(Some(_))).then_some("same-address");
        let apart = (!self.apart.pairs.is_empty()).then_some("no-alias");
        let guards: Vec<String> = same.into_iter().chain(apart).map(str::to_owned).collect();
        report.guards = (!guards.is_empty()).then_some(guards);
    }
}

/// The blocks that get code for a loop-carried value.
fn blocks_of(finder: &Finder<'_, '_, '_, '_>, recurrence: &LoopCarriedReuse) -> Vec<BlockId> {
    let around =
        [recurrence.load.inst, recurrence.source, recurrence.entry, recurrence.entry.next()];
    let places = around.into_iter().chain(recurrence.latches.iter().copied());
    places.filter_map(|inst| finder.legality.block_of(inst)).collect()
}

/// Whether a loop-carried value takes fewer cycles than the load; `test` are the instructions of
/// a test in each iteration, or its share of one for several loads.
fn weigh(
    finder: &mut Finder<'_, '_, '_, '_>,
    trace: &mut KernelTrace,
    recurrence: &LoopCarriedReuse,
    test: f64,
) -> Result<Option<Price>, Unprofitable> {
    if !finder.is_weighed() {
        return Ok(None);
    }
    let words: u32 = recurrence.pieces.iter().map(|(_, to)| to.ty.bits().div_ceil(32)).sum();
    let (request, costs) = (finder.request(trace, &recurrence.load), &finder.options.costs);
    let cost_before = costs.load(&request) + costs.instructions(1);
    let mut limit = None;
    let cost_after = match recurrence.start {
        // The assembler lets the load fill the rotating register.
        Start::Loaded { .. } => costs.instructions(words * recurrence.distance),
        // A value that is not loaded takes a place in the queue all the same.
        Start::Performed(_) => {
            // Beside the first-level cache a load that is there under a predicate takes its time all the
            // same: in the simulator such marches over rows and planes took 1.00 to 1.19 times as long, and
            // less only where the assembler had unrolled all of a loop.
            limit = (!costs.allow_shuffles(&request)).then_some(Limit::Predicated);
            costs.instructions((words + 1) * recurrence.distance) + test * costs.instructions(1)
        }
    };
    let weighed = Weighed::new(cost_after, cost_before).limited(limit).of(&request);
    finder.pays(StrategyName::Reuse, weighed).map(Some)
}
