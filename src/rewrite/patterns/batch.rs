//! Code motion of loads in front of stores that may alias (strategy `batch`), so that memory serves them together.
//!
//! A run-time alias check stands in front of the block's loads, or of the loop (loop versioning): either the loads are performed in front of the
//! first store, or the statements run unchanged. In the place of a load stands a copy of its value, which the assembler
//! removes.

use std::collections::BTreeMap;

use super::finder::{Finder, Weighed};
use super::footprint::{Accesses, Added, Footprint, Neighbours, Room};
use super::group::{Group, Places, Price, Shape, alignment, shapes};
use super::joined::{element_type, has_place, packed, weigh_stores};
use super::pattern::Pattern;
use super::text::without_type;
use crate::cfg::InstId;
use crate::cost::{Request, SECTOR, guessed_executions};
use crate::emulate::KernelTrace;
use crate::isa::Qualifier::Gt;
use crate::isa::ScalarType::U64;
use crate::ptx::Operand;
use crate::ptx::write::{Code, Reg, memory, op, vector};
use crate::report::LoadReport;
use crate::reuse::{Addend, Batched, Distance, MovedLoad, Refusal, Unprofitable, VectorGroup};
use crate::rewrite::{Condition, Draft, Part, Planner, Prepared};
use crate::strategies::StrategyName;

/// Instructions of the branch on a test and of the one behind the rewritten version.
const BRANCHES: u32 = 2;

/// Instructions of an addition or comparison of 64 bits.
const HALVES: u32 = 2;

/// The pattern.
#[derive(Debug)]
pub(super) struct Batch;

impl Pattern for Batch {
    fn strategies(&self) -> &'static [StrategyName] {
        &[StrategyName::Batch]
    }

    /// Claims the loads that pay; none in code that other patterns have changed.
    fn find(&self, finder: &mut Finder<'_, '_, '_, '_>, trace: &mut KernelTrace) {
        if !finder.allows(StrategyName::Batch) {
            return;
        }
        let mut all = finder.legality.batched(trace);
        all.retain(|found| !finder.conflicts(&footprint(finder, found, Vec::new())));
        // (A search for this strategy alone weighs it with its vectors.)
        let mut stores = match finder.options.strategies.allow(StrategyName::Wide) {
            true => join(finder, trace, &mut all),
            false => Vec::new(),
        };
        for (at, found) in all.into_iter().enumerate() {
            let (price, refusal) = match finder.has_room(found.moved.len()) {
                false => (None, Some(Refusal::Crowded(finder.options.most))),
                true => match weigh(finder, trace, &found) {
                    Ok(price) => (price, None),
                    Err(unprofitable) => (None, Some(Refusal::DoesNotPay(unprofitable))),
                },
            };
            let joined = found.vectors.iter().flat_map(|vector| &vector.members);
            let moved = found.moved.iter().map(|one| &one.load);
            let mut members: Vec<InstId> = moved.chain(joined).map(|load| load.inst).collect();
            members.sort_unstable();
            members.dedup();
            if let Some(refusal) = &refusal {
                members.iter().for_each(|&inst| finder.keep(inst, refusal.clone()));
            }
            let footprint = footprint(finder, &found, members);
            let group = Group::new(StrategyName::Batch, footprint, found);
            let own = finder.claim(Group { price, refusal, ..group });
            for (_, group) in stores.extract_if(.., |(of, _)| *of == at).filter(|_| own.is_some()) {
                finder.claim(Group { within: own, ..group });
            }
        }
    }

    fn plan(
        &self,
        chosen: &[&Group],
        planner: &mut Planner<'_, '_, '_, '_>,
    ) -> Option<Box<dyn Part>> {
        let groups: Vec<&Batched> = shapes(chosen);
        let mut prepared = Prepared::default();
        for group in groups {
            planner.batch(group, &mut prepared);
        }
        prepared.part()
    }
}

/// Finds the vectors of each group, and gives the groups of stores that are vectors in the versions of others, by the
/// numbers of these. (The pattern of vector stores writes the code of all groups of that shape.)
fn join(
    finder: &mut Finder<'_, '_, '_, '_>,
    trace: &mut KernelTrace,
    all: &mut [Batched],
) -> Vec<(usize, Group)> {
    for found in all.iter_mut() {
        let vectors = finder.legality.vectors_of_batch(trace, found);
        // Without a load that is moved it is a vector without the group.
        let moved = |vector: &VectorGroup| found.moved.iter().any(|one| vector.has(one.load.inst));
        let is_wanted = |one: &VectorGroup| packed(one).is_none() && moved(one);
        found.vectors = vectors.into_iter().filter(is_wanted).collect();
    }
    let groups: Vec<&Batched> = all.iter().collect();
    let mut stores = Vec::new();
    for (at, found) in finder.legality.vectors_of_stores(trace, &groups) {
        let members: Vec<InstId> = found.members.iter().map(|store| store.access.inst).collect();
        if !has_place(finder, &found) || !finder.has_room(all[at].moved.len() + members.len()) {
            continue;
        }
        if let Ok(price) = weigh_stores(finder, trace, &found) {
            all[at].end =
                all[at].end.max(members.iter().max().map_or(InstId(0), |last| last.next()));
            all[at].multiples.extend(found.multiples.iter().cloned());
            let footprint = Footprint::of(Accesses::Stores, members).lane_by_lane();
            stores.push((at, Group { price, ..Group::new(StrategyName::Wide, footprint, found) }));
        }
    }
    for found in all {
        found.multiples.extend(found.vectors.iter().flat_map(|vector| &vector.multiples).cloned());
        found.multiples.sort();
        found.multiples.dedup();
    }
    stores
}

/// What a batch takes: no other pattern has put code into the block, or replaces an access there.
fn footprint(finder: &Finder<'_, '_, '_, '_>, found: &Batched, members: Vec<InstId>) -> Footprint {
    let (blocks, neighbours) = (vec![found.block], Neighbours::Nothing);
    let insts = vec![finder.legality.flow().block(found.block).instructions()];
    let added = if found.has_versions() { Added::Versions } else { Added::Nothing };
    Footprint::of(Accesses::Loads, members)
        .lane_by_lane()
        .adding(added, blocks.clone())
        .within(Room { blocks, neighbours, insts, ..Room::default() })
}

/// Whether the tests take fewer cycles than the waits. While a warp waits for memory, the others of the multiprocessor
/// have work, so a wait costs each of them its share of the time until memory answers. Where lanes are sectors apart, a load
/// of neighbouring bytes finds its sector in the cache unless it is the first one there. (Performed together, such loads miss
/// it one by one: `d_boxfilter_x_global` in openacc-bench/results/gpu.md.)
///
/// Vectors take fewer cycles than their loads besides.
fn weigh(
    finder: &mut Finder<'_, '_, '_, '_>,
    trace: &mut KernelTrace,
    group: &Batched,
) -> Result<Option<Price>, Unprofitable> {
    if !finder.is_weighed() {
        return Ok(None);
    }
    let (mut scalars, mut vectors) = (Vec::new(), Vec::new());
    for vector in &group.vectors {
        let of = |load| {
            let request = finder.request(trace, load);
            // Lanes whose vectors do not overlap are at least a vector apart.
            Request { stride: request.stride.or(Some(vector.bytes)), ..request }
        };
        let loads: Vec<Request> = vector.members.iter().map(of).collect();
        vectors.push(Request { bytes: vector.bytes as u32, ..loads[0] });
        scalars.extend(loads);
    }
    let waits = group.waits(|one| {
        let stride = finder.request(trace, &one.load).stride;
        let is_spread = stride.is_none_or(|stride| stride.abs() >= SECTOR);
        let apart = one.apart.filter(|_| is_spread).map(|apart| apart as f64 / SECTOR as f64);
        apart.map_or(1.0, |share| share.min(1.0))
    });
    let costs = &finder.options.costs;
    let requests = |of: &[Request]| -> f64 {
        of.iter().map(|request| costs.load(request) + costs.instructions(1)).sum()
    };
    let version = |tested: u32| costs.instructions(tested + BRANCHES) + costs.version_cycles;
    let cost_before = waits * finder.wait() + requests(&scalars);
    let cost_after = requests(&vectors)
        + match group.has_versions() {
            false => 0.0,
            true => match &group.in_front {
                None => version(tested(&group.tests)),
                Some(tests) => version(parts(tests)) / guessed_executions(1),
            },
        };
    let loads = group.moved.len() as u32;
    let paid = finder
        .pays(StrategyName::Batch, Weighed::new(cost_after, cost_before).each(group.moved.len()));
    paid.map(Some).map_err(|unprofitable| Unprofitable { loads, ..unprofitable })
}

/// Instructions of tests that are made in each iteration.
fn tested(tests: &[Distance]) -> u32 {
    parts(tests.iter().filter(|test| test.varies))
}

/// Instructions of tests.
fn parts<'t>(tests: impl IntoIterator<Item = &'t Distance>) -> u32 {
    tests.into_iter().map(|test| HALVES * (test.parts.len() as u32 + 1)).sum()
}

impl Shape for Batched {
    fn is_invariant(&self) -> bool {
        self.tests.is_empty() || self.in_front.is_some()
    }

    fn account(&self, _inst: InstId, places: &Places<'_, '_>, report: &mut LoadReport) {
        let tested = (!self.tests.is_empty()).then(|| "stores-apart".to_owned());
        report.source_line = Some(places.line(self.place));
        report.guards =
            Some(tested.into_iter().chain(self.multiples.iter().map(alignment)).collect());
    }
}

impl Planner<'_, '_, '_, '_> {
    /// Adds the code for a group.
    fn batch(&mut self, group: &Batched, prepared: &mut Prepared) {
        if group.has_versions() {
            self.version_of_batch(group);
        }
        let mut early = Code::in_front();
        let results = self.copied_steps(&group.steps, &mut early);
        for one in &group.moved {
            let joined = group.vectors.iter().find(|vector| vector.has(one.load.inst));
            if joined.is_none() {
                let copies = self.loaded_early(one, &results, &mut early);
                prepared.drafts.push(Draft { range: self.span(one.load.inst), code: copies });
            }
        }
        for vector in &group.vectors {
            self.loaded_together(group, vector, &results, &mut early, prepared);
        }
        prepared.drafts.push(Draft::insert(self.span(group.place).start, early.text));
    }

    /// Plans the test in front of a group's loads, or in front of the loop around them.
    fn version_of_batch(&mut self, group: &Batched) {
        let range = group.test.to(group.end);
        if group.tests.is_empty() {
            return self.add_aligned_version(range, group.multiples.clone());
        }
        let tested = |planner: &mut Self, known: Option<Reg>, setup: &mut Code| {
            let tests = group.in_front.iter().flatten();
            tests.fold(known, |known, test| Some(planner.excluded(test, &[], known, setup)))
        };
        if self.test_in_front(group.test, &group.multiples, tested) {
            return;
        }
        let mut setup = Code::in_front();
        let results = self.copied_steps(&group.measured, &mut setup);
        let mut known = None;
        for test in &group.tests {
            known = Some(self.excluded(test, &results, known, &mut setup));
        }
        let Some(holds) = known else { return };
        let (setup, holds, multiples) = (setup.text, holds.into(), group.multiples.clone());
        self.add_version(range, Condition::NoAlias { setup, holds, multiples });
    }

    /// The test that a sum lies outside of an interval, in conjunction with the tests before.
    fn excluded(
        &mut self,
        test: &Distance,
        steps: &[String],
        known: Option<Reg>,
        setup: &mut Code,
    ) -> Reg {
        let sum = self.plan.fresh.bits(64);
        let mut begun = false;
        for (part, factor) in &test.parts {
            let value = match part {
                Addend::Register(register) => self.name(*register),
                Addend::Step(step) => steps[*step].clone(),
            };
            match (begun, factor) {
                (false, 1) => setup.put(op!(Mov.B64), &[&sum, &value]),
                (false, factor) => setup.put(op!(Mul.Lo.S64), &[&sum, &value, factor]),
                (true, 1) => setup.put(op!(Add.S64), &[&sum, &sum, &value]),
                (true, -1) => setup.put(op!(Sub.S64), &[&sum, &sum, &value]),
                (true, factor) => setup.put(op!(Mad.Lo.S64), &[&sum, &value, factor, &sum]),
            }
            begun = true;
        }
        let above = test.least.wrapping_neg();
        setup.put(op!(Add.S64), &[&sum, &sum, &above]);
        setup.compare(&mut self.plan.fresh, (Gt, U64), [&sum, &test.more], known.as_deref())
    }

    /// A load into new registers; gives the copies that stand where it stood.
    fn loaded_early(&mut self, one: &MovedLoad, steps: &[String], early: &mut Code) -> String {
        let inst = &self.flow.insts[one.load.inst];
        let guard = self.guard(one.load.guard);
        let mut copies = Vec::new();
        let mut names: Vec<String> = Vec::new();
        for register in &self.trace.accesses[one.load.access].registers {
            let Some(register) = register else {
                names.push("_".to_owned());
                continue;
            };
            let bits = self.flow.registers[*register].ty.bits();
            let fresh = self.plan.fresh.bits(bits);
            copies.push(format!("{guard}mov.b{bits} {}, {fresh};", self.name(*register)));
            names.push(fresh.into());
        }
        let loaded = match inst.ast.operands.first() {
            Some(Operand::Vector(..)) => format!("{{{}}}", names.join(", ")),
            _ => names.join(""),
        };
        let place = self.early_place(one, steps);
        let rest = inst.ast.operands.get(2..).unwrap_or_default();
        let more = match (rest.first(), rest.last()) {
            (Some(first), Some(last)) => {
                let range = first.span().start as usize..last.span().end as usize;
                format!(", {}", self.plan.copied(range))
            }
            _ => String::new(),
        };
        early.line(&format!("{guard}{} {loaded}, {place}{more};", inst.ast.opcode.text));
        copies.join("\n\t")
    }

    /// The address operand of a load where it is performed early, if its base is in a register there.
    fn early_place(&self, one: &MovedLoad, steps: &[String]) -> String {
        let (base, offset) = self.address(one.load.inst);
        match one.base {
            Some(step) if !planted!(Bug::BatchAddressLate) => memory(&steps[step], offset),
            _ => memory(&base, offset),
        }
    }

    /// One vector for loads of a group, in the place of the first of them, or with the others that are performed early.
    fn loaded_together(
        &mut self,
        group: &Batched,
        joined: &VectorGroup,
        steps: &[String],
        early: &mut Code,
        prepared: &mut Prepared,
    ) {
        let mut copies: BTreeMap<InstId, Vec<String>> = BTreeMap::new();
        let mut names: Vec<String> = Vec::new();
        for (element, inst) in &joined.elements {
            let bits = element.register_bits;
            let fresh = self.plan.fresh.bits(bits);
            let copy = format!("mov.b{bits} {}, {fresh};", self.name(element.register));
            copies.entry(*inst).or_default().push(copy);
            names.push(fresh.into());
        }
        let first = &joined.members[0];
        let opcode = without_type(self.flow.insts[first.inst].ast.opcode.text);
        let moved = group.moved.iter().find(|one| one.load.inst == first.inst);
        let (own, offset) = self.address_behind(first.inst, joined.offset);
        let base = match moved.and_then(|one| one.base) {
            Some(step) => &steps[step],
            None => &own,
        };
        if planted!(Bug::BatchVectorSwapped) {
            names.swap(0, 1);
        }
        let (count, ty) = (names.len(), element_type(joined));
        let place = memory(base, offset);
        let load = format!("{opcode}.v{count}{ty} {}, {place};", vector(&names));
        let mut texts: BTreeMap<InstId, String> =
            copies.into_iter().map(|(inst, copies)| (inst, copies.join("\n\t"))).collect();
        match moved {
            Some(_) => early.line(&load),
            None => {
                let own = texts.entry(first.inst).or_default();
                *own = format!("{load}\n\t{own}");
            }
        }
        for (inst, code) in texts {
            prepared.drafts.push(Draft { range: self.span(inst), code });
        }
    }
}
