//! Dead store elimination within a block (strategy `promote`): of several stores to the same bytes only the last one is
//! performed.
//!
//! Where a load between the stores may read their bytes, a run-time alias check compares addresses in front of the first store, once for
//! each base of loads: either all stores but the last are left out, or everything stands as it was.

mod overwritten;

use super::finder::{Finder, Weighed};
use super::footprint::{Accesses, Added, Footprint, Neighbours, Room};
use super::group::{Group, Places, Price, Shape, shapes};
use super::pattern::Pattern;
use crate::bytes::ByteRange;
use crate::cfg::{Arg, Base, InstId};
use crate::cost::Request;
use crate::emulate::KernelTrace;
use crate::ptx::Scanned;
use crate::ptx::write::{Code, Reg};
use crate::report::{Decision, KernelReport};
use crate::reuse::Unprofitable;
use crate::rewrite::{Condition, Draft, Part, Planner, Prepared};
use crate::strategies::StrategyName;
use overwritten::Overwritten;
use overwritten::overwritten;

/// Instructions of the branch on a test and of the one behind the rewritten version.
const BRANCHES: u32 = 2;

/// Instructions of a comparison of two addresses of 64 bits: three, each in two halves.
const COMPARISON: u32 = 6;

/// The pattern.
#[derive(Debug)]
pub(super) struct Promote;

impl Pattern for Promote {
    fn strategies(&self) -> &'static [StrategyName] {
        &[StrategyName::Promote]
    }

    /// A load and a store that a loop may repeat.
    fn wants(&self, body: &Scanned<'_>) -> bool {
        body.global_loads > 0 && body.repeats_stores()
    }

    /// Claims the stores that pay, and lists those that stay; none in code that other patterns have changed.
    fn find(&self, finder: &mut Finder<'_, '_, '_, '_>, trace: &mut KernelTrace) {
        if !finder.allows(StrategyName::Promote) {
            return;
        }
        for found in overwritten(finder.legality, trace) {
            let footprint = footprint(finder, &found);
            if finder.conflicts(&footprint) {
                continue;
            }
            let (price, refusal) =
                finder.judged(found.refusal.as_ref(), found.stores.len(), |finder| {
                    weigh(finder, trace, &found)
                });
            let group = Group::new(StrategyName::Promote, footprint, found);
            finder.claim(Group { price, refusal, ..group });
        }
    }

    fn plan(
        &self,
        chosen: &[&Group],
        planner: &mut Planner<'_, '_, '_, '_>,
    ) -> Option<Box<dyn Part>> {
        let groups: Vec<&Overwritten> = shapes(chosen);
        let mut prepared = Prepared::default();
        for group in groups {
            planner.promote(group, &mut prepared);
        }
        prepared.part()
    }
}

/// What some stores take: no other pattern has put code into the block, or replaces an access between the stores.
fn footprint(finder: &Finder<'_, '_, '_, '_>, found: &Overwritten) -> Footprint {
    let insts = found.stores.iter().map(|store| store.access.inst);
    let all: Vec<InstId> = insts.collect();
    let (blocks, tested) = (vec![found.block], !found.tested.is_empty());
    let insts = match (all.first(), all.last()) {
        (Some(first), Some(last)) if !tested => first.to(last.next()),
        _ => finder.legality.flow().block(found.block).instructions(),
    };
    let footprint = Footprint::of(Accesses::Stores, all[..all.len() - 1].to_vec()).lane_by_lane();
    let footprint = match tested {
        true => footprint.adding(Added::Versions, blocks.clone()),
        false => footprint,
    };
    let neighbours = Neighbours::Nothing;
    footprint.within(Room { blocks, neighbours, insts: vec![insts], ..Room::default() })
}

/// Whether the last store and the test take fewer cycles than all stores. (All go on to the second-level cache.)
fn weigh(
    finder: &mut Finder<'_, '_, '_, '_>,
    trace: &mut KernelTrace,
    group: &Overwritten,
) -> Result<Option<Price>, Unprofitable> {
    if !finder.is_weighed() {
        return Ok(None);
    }
    let access = &group.stores[0].access;
    let stride = finder.legality.lane_stride(trace, access);
    let costs = &finder.options.costs;
    let request = Request { stride, bytes: access.bytes as u32, lanes: 32, past_l1: true };
    let one = costs.load(&request) + costs.instructions(1);
    let kept = group.stores.len() as f64 * one;
    let test = match bases(finder, group) {
        0 => 0.0,
        bases => {
            let steps = 2 * group.steps.len() as u32;
            costs.instructions(COMPARISON * bases + steps + BRANCHES) + costs.version_cycles
        }
    };
    let weighed = Weighed::new(one + test, kept).of(&request);
    let loads = group.stores.len() as u32;
    let paid = finder.pays(StrategyName::Promote, weighed);
    paid.map(Some).map_err(|unprofitable| Unprofitable { loads, ..unprofitable })
}

/// How many bases of loads are compared with the stores'.
fn bases(finder: &Finder<'_, '_, '_, '_>, group: &Overwritten) -> u32 {
    let insts = &finder.legality.flow().insts;
    let base = |inst: InstId| match insts[inst].args.get(1) {
        Some(Arg::Memory { base: Base::Register(base), .. }) => Some(*base),
        _ => None,
    };
    let mut found = Vec::new();
    for load in &group.tested {
        let key = (load.base, load.base.is_none().then(|| base(load.inst)).flatten());
        if !found.contains(&key) {
            found.push(key);
        }
    }
    found.len() as u32
}

impl Shape for Overwritten {
    fn list(&self, group: &Group, places: &Places<'_, '_>, report: &mut KernelReport) {
        let last = self.stores.last().map_or(0, |store| places.line(store.access.inst));
        for member in &self.stores[..self.stores.len() - 1] {
            let mut store = places.report_of(member.access.inst);
            store.bytes = member.access.bytes as u32;
            match &group.refusal {
                Some(refusal) => places.keep(&mut store, refusal),
                None => {
                    let tested = (!self.tested.is_empty()).then(|| "stores-apart".to_owned());
                    store.decision = Decision::By(group.strategy);
                    store.source_line = Some(last);
                    store.guards = Some(tested.into_iter().collect());
                    store.cost = group.price.map(Price::cost);
                }
            }
            report.stores.push(store);
        }
    }
}

/// Loads from one base that are compared with the stores together.
struct Row {
    base: String,
    /// The bytes that they read, from the base on.
    read: ByteRange,
}

impl Planner<'_, '_, '_, '_> {
    /// Adds the code for a group.
    fn promote(&mut self, group: &Overwritten, prepared: &mut Prepared) {
        let Some(last) = group.stores.len().checked_sub(1) else { return };
        for (index, store) in group.stores.iter().enumerate() {
            let kept = if planted!(Bug::OverwrittenFirst) { 0 } else { last };
            if index != kept {
                let range = self.span(store.access.inst);
                prepared.drafts.push(Draft { range, code: String::new() });
            }
        }
        if group.tested.is_empty() || planted!(Bug::OverwrittenUntested) {
            return;
        }
        let mut setup = Code::in_front();
        let results = self.copied_steps(&group.steps, &mut setup);
        let mut rows: Vec<Row> = Vec::new();
        for load in &group.tested {
            let (own, _) = self.address(load.inst);
            let base = load.base.map_or(own, |step| results[step].clone());
            let read = self.bytes_at(load.inst, load.bytes);
            let hull = |row: &Row| row.read.hull(read).filter(|_| row.base == base);
            match rows.iter_mut().find_map(|row| hull(row).map(|hull| (row, hull))) {
                Some((row, hull)) => row.read = hull,
                None => rows.push(Row { base, read }),
            }
        }
        let mut known: Option<Reg> = None;
        for row in &rows {
            known = Some(self.compared(group, row, known, &mut setup));
        }
        let (first, last) = (group.stores[0].access.inst, group.stores[last].access.inst);
        if let Some(holds) = known {
            self.add_version(
                first.to(last.next()),
                Condition::NoAlias {
                    setup: setup.text,
                    holds: holds.into(),
                    multiples: Vec::new(),
                },
            );
        }
    }

    /// The test that loads read none of the stored bytes, in conjunction with the tests before.
    fn compared(
        &mut self,
        group: &Overwritten,
        row: &Row,
        known: Option<Reg>,
        setup: &mut Code,
    ) -> Reg {
        let store = &group.stores[0].access;
        let (base, _) = self.address(store.inst);
        let mut test = self.bytes_at(store.inst, store.bytes as u32).separation(row.read);
        test.both -= i64::from(planted!(Bug::OverwrittenByteLess));
        setup.apart(&mut self.plan.fresh, [&base, &row.base], test, known.as_deref())
    }
}
