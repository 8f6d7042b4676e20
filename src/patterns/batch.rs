//! Loads moved in front of stores that might write their bytes (strategy `batch`), so that memory serves them together.
//!
//! In front of the block's loads the distances of addresses are tested: either the loads are performed in front of the
//! first store, or the statements run unchanged. In the place of a load stands a copy of its value, which the assembler
//! removes.

use super::finder::{Finder, Weighed};
use super::group::{Group, Places, Price, Shape, shapes};
use super::pattern::Pattern;
use crate::cfg::InstId;
use crate::emulate::KernelTrace;
use crate::isa::Qualifier::Gt;
use crate::isa::ScalarType::U64;
use crate::isa::multiprocessor::Multiprocessor;
use crate::ptx::Operand;
use crate::ptx::write::{Code, Reg, memory, op};
use crate::report::LoadReport;
use crate::reuse::{Addend, Batched, Distance, MovedLoad, Refusal, Unprofitable};
use crate::rewrite::{Condition, Draft, Part, Planner, Prepared};
use crate::sass::opcodes::Latency;
use crate::sass::timing::Timing;
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
        for found in finder.legality.batched(trace) {
            if is_taken(finder, &found) {
                continue;
            }
            let (price, refusal) = match finder.has_room(found.moved.len()) {
                false => (None, Some(Refusal::Crowded(finder.options.most))),
                true => match weigh(finder, &found) {
                    Ok(price) => (price, None),
                    Err(unprofitable) => (None, Some(Refusal::DoesNotPay(unprofitable))),
                },
            };
            let members: Vec<InstId> = found.moved.iter().map(|one| one.load.inst).collect();
            if let Some(refusal) = &refusal {
                members.iter().for_each(|&inst| finder.keep(inst, refusal.clone()));
            }
            let block = found.block;
            finder.claim(Group {
                blocks: if refusal.is_none() { vec![block] } else { Vec::new() },
                duplicates: refusal.is_none() && !found.tests.is_empty(),
                price,
                refusal,
                ..Group::of_loads(StrategyName::Batch, members, found)
            });
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

/// Whether another pattern has put code into the block, or replaces an access there.
fn is_taken(finder: &Finder<'_, '_, '_, '_>, found: &Batched) -> bool {
    let block = finder.legality.flow().block(found.block).instructions();
    let mut chosen = finder.groups().iter().filter(|group| group.is_chosen());
    chosen.any(|group| {
        let of_other = group.strategy != StrategyName::Batch;
        of_other
            && (group.blocks.contains(&found.block)
                || group.members.iter().any(|inst| block.contains(inst)))
    })
}

/// Whether the tests take fewer cycles than the waits. While a warp waits for memory, the others of the multiprocessor
/// have work, so a wait costs each of them its share of the time until memory answers.
fn weigh(finder: &Finder<'_, '_, '_, '_>, group: &Batched) -> Result<Option<Price>, Unprofitable> {
    if !finder.is_weighed() {
        return Ok(None);
    }
    let costs = &finder.options.costs;
    let latency = Timing::of(costs.architecture).map_or(0, |of| of.latency(Latency::Global));
    let warps = Multiprocessor::of(costs.architecture).map_or(1, |of| of.most_warps());
    let cost_before = f64::from(group.waits) * f64::from(latency) / f64::from(warps.max(1));
    let cost_after = match group.tests.is_empty() {
        true => 0.0,
        false => costs.instructions(tested(&group.tests) + BRANCHES) + costs.version_cycles,
    };
    let loads = group.moved.len() as u32;
    let paid = finder
        .pays(StrategyName::Batch, Weighed::new(cost_after, cost_before).each(group.moved.len()));
    paid.map(Some).map_err(|unprofitable| Unprofitable { loads, ..unprofitable })
}

/// Instructions of tests that are made in each iteration.
fn tested(tests: &[Distance]) -> u32 {
    let varies = tests.iter().filter(|test| test.varies);
    varies.map(|test| HALVES * (test.parts.len() as u32 + 1)).sum()
}

impl Shape for Batched {
    fn account(&self, _inst: InstId, places: &Places<'_, '_>, report: &mut LoadReport) {
        let tested = (!self.tests.is_empty()).then(|| "stores-apart".to_owned());
        report.source_line = Some(places.line(self.place));
        report.guards = Some(tested.into_iter().collect());
    }
}

impl Planner<'_, '_, '_, '_> {
    /// Adds the code for a group.
    fn batch(&mut self, group: &Batched, prepared: &mut Prepared) {
        let Some(last) = group.moved.last().map(|one| one.load.inst) else { return };
        if !group.tests.is_empty() {
            let mut setup = Code::in_front();
            let results = self.copied_steps(&group.measured, &mut setup);
            let mut known = None;
            for test in &group.tests {
                known = Some(self.excluded(test, &results, known, &mut setup));
            }
            if let Some(holds) = known {
                self.add_version(
                    group.test.to(last.next()),
                    Condition::NoAlias { setup: setup.text, holds: holds.into() },
                );
            }
        }
        let mut early = Code::in_front();
        let results = self.copied_steps(&group.steps, &mut early);
        for one in &group.moved {
            let copies = self.loaded_early(one, &results, &mut early);
            prepared.drafts.push(Draft { range: self.span(one.load.inst), code: copies });
        }
        prepared.drafts.push(Draft::insert(self.span(group.place).start, early.text));
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
        let (base, offset) = self.address(one.load.inst);
        let base = match one.base {
            Some(step) if !planted!(Bug::BatchAddressLate) => steps[step].clone(),
            _ => base,
        };
        let place = memory(&base, offset);
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
}
