//! Register (scalar) promotion in a loop (strategy `promote`): a value is loaded in front of the loop and stored behind
//! it, and is in a register between.
//!
//! Loop versioning: a run-time alias check in front of the loop says that no other access of the loop touches the value's
//! bytes. It leads to the loop with copies between registers, or to the loop as it was.

mod values;

use crate::loops::{Bound, Relation, TripCount};
use crate::loops::{Index, LoopCode, LoopShape, Step};
use std::collections::BTreeMap;
use std::fmt::Display;
use values::scalar_promotions;
use values::{AtExit, IntervalTest, PromotedValue, ScalarPromotion, Term};

use super::finder::{Finder, Weighed};
use super::footprint::{Accesses, Added, Footprint, Lanes, Neighbours, Room};
use super::group::{Group, Places, Price, Shape, shapes};
use super::pattern::Pattern;
use crate::cfg::{Arg, InstId, InstRange, RegisterId};
use crate::cost::{Request, guessed_executions};
use crate::emulate::{Effect, KernelTrace, effect};
use crate::isa::Qualifier::{Eq, Ge, Gt, Le, Lt};
use crate::isa::ScalarType::{self, S32, S64, U64};
use crate::ptx::Scanned;
use crate::ptx::StateSpace;
use crate::ptx::write::{Code, Reg, memory, op};
use crate::report::{Decision, KernelReport};
use crate::reuse::{Refusal, Unprofitable, lane_stride};
use crate::rewrite::{Draft, Part, Planner, Prepared, line_end};
use crate::strategies::StrategyName;

/// Instructions of the branch on the test and of the one behind the rewritten loop.
const BRANCHES: u32 = 2;

/// Instructions of an addition or comparison of 64 bits.
const HALVES: u32 = 2;

/// The pattern.
#[derive(Debug)]
pub(super) struct PromoteLoops;

impl Pattern for PromoteLoops {
    fn strategies(&self) -> &'static [StrategyName] {
        &[StrategyName::Promote]
    }

    /// A load and a store that a loop may repeat.
    fn wants(&self, body: &Scanned<'_>) -> bool {
        body.global_loads > 0 && body.repeats_stores()
    }

    /// Claims the loops that pay, and lists the stores that stay; none in code that other patterns have changed.
    fn find(&self, finder: &mut Finder<'_, '_, '_, '_>, trace: &mut KernelTrace) {
        if !finder.allows(StrategyName::Promote) {
            return;
        }
        for found in scalar_promotions(finder.legality, trace) {
            let members = found.members().count();
            let of = |all: fn(&PromotedValue) -> &Vec<InstId>| -> Vec<InstId> {
                let mut all: Vec<InstId> = found.values.iter().flat_map(all).copied().collect();
                all.sort_unstable();
                all
            };
            let footprint = footprint(&found, of(|value| &value.stores));
            let (price, refusal) = match &found.refusal {
                Some(refusal) => (None, Some(refusal.clone())),
                None if footprint.as_ref().is_none_or(|one| finder.conflicts(one)) => {
                    (None, Some(Refusal::LoopShape(LoopShape::Taken)))
                }
                None if !finder.has_room(members) => {
                    (None, Some(Refusal::Crowded(finder.options.most)))
                }
                None => match weigh(finder, trace, &found) {
                    Ok(price) => (price, None),
                    Err(unprofitable) => (None, Some(Refusal::DoesNotPay(unprofitable))),
                },
            };
            let footprint = footprint
                .unwrap_or_else(|| Footprint::of(Accesses::Stores, of(|value| &value.stores)));
            let loads = of(|value| &value.loads);
            let group = Group::new(StrategyName::Promote, footprint, found);
            let claimed = finder.claim(Group { price, refusal, ..group });
            if claimed.is_some() && !loads.is_empty() {
                let loads = Footprint::of(Accesses::Loads, loads).lane_by_lane();
                finder.claim(Group::new(StrategyName::Promote, loads, HeldInRegister));
            }
        }
    }

    fn plan(
        &self,
        chosen: &[&Group],
        planner: &mut Planner<'_, '_, '_, '_>,
    ) -> Option<Box<dyn Part>> {
        let groups: Vec<&ScalarPromotion> = shapes(chosen);
        let mut prepared = Prepared::default();
        for group in groups {
            planner.promote_loop(group, &mut prepared);
        }
        prepared.part()
    }
}

/// What a loop takes: no other pattern has put code into it, replaces an access there, or asks which lanes are together, so
/// that no branch may be added.
fn footprint(found: &ScalarPromotion, stores: Vec<InstId>) -> Option<Footprint> {
    let code = found.code.as_ref()?;
    let footprint = Footprint::of(Accesses::Stores, stores).lane_by_lane();
    Some(footprint.adding(Added::Versions, code.blocks.clone()).within(Room {
        blocks: code.blocks.clone(),
        neighbours: Neighbours::Nothing,
        insts: vec![code.range.clone()],
        lanes: Lanes::Nowhere,
        ..Room::default()
    }))
}

/// Whether the accesses of an iteration take more cycles than its share of the test and of the accesses outside.
fn weigh(
    finder: &mut Finder<'_, '_, '_, '_>,
    trace: &mut KernelTrace,
    group: &ScalarPromotion,
) -> Result<Option<Price>, Unprofitable> {
    if !finder.is_weighed() {
        return Ok(None);
    }
    let (mut inside, mut outside, mut any) = (0.0, 0.0, None);
    for value in &group.values {
        let inst = value.stores[0];
        let access = trace.accesses.iter().position(|access| access.inst == inst);
        let loops = &finder.legality.flow().loops;
        let stride = access.and_then(|access| lane_stride(loops, trace, access));
        let costs = &finder.options.costs;
        let request = Request { stride, bytes: value.bits / 8, lanes: 32, past_l1: true };
        let stored = costs.load(&request) + costs.instructions(1);
        let loaded = costs.load(&Request { past_l1: false, ..request }) + costs.instructions(1);
        inside += stored * value.stores.len() as f64 + loaded * value.loads.len() as f64;
        outside += stored + if value.is_read_first() { loaded } else { 0.0 };
        any = any.or(Some(request));
    }
    inside += waits(finder, group) * finder.wait();
    let costs = &finder.options.costs;
    let instructions =
        |test: &IntervalTest| test.parts.len() + 2 + 2 * usize::from(test.step.known().is_none());
    let parts: usize = group.tests.iter().map(instructions).sum();
    let parts = parts + 4 * group.indices.len();
    let tested = HALVES * parts as u32 + BRANCHES + if group.count.is_some() { 4 } else { 0 };
    outside += costs.instructions(tested) + costs.version_cycles;
    let weighed = Weighed::new(outside / guessed_executions(1), inside);
    let weighed = any.map_or(weighed, |request| weighed.of(&request));
    let loads = group.members().count() as u32;
    let paid = finder.pays(StrategyName::Promote, weighed);
    paid.map(Some).map_err(|unprofitable| Unprofitable { loads, ..unprofitable })
}

/// How often an iteration waits for memory once more since a load stands behind a store of a value: the assembler performs
/// the loads of a block together where no store is left.
fn waits(finder: &Finder<'_, '_, '_, '_>, group: &ScalarPromotion) -> f64 {
    let Some(code) = &group.code else { return 0.0 };
    let insts = &finder.legality.flow().insts;
    let (mut waits, mut stored, mut loaded) = (0, false, false);
    for at in code.range.clone() {
        let inst = &insts[at];
        let is_member = group.members().any(|member| member == at);
        match effect(inst) {
            Effect::Store if is_member => stored = loaded,
            Effect::Store if inst.ast.form.space() == StateSpace::Global => return 0.0,
            Effect::Load if !is_member && inst.ast.form.space() == StateSpace::Global => {
                waits += u32::from(stored);
                (stored, loaded) = (false, true);
            }
            _ => {}
        }
    }
    f64::from(waits)
}

impl Shape for ScalarPromotion {
    fn list(&self, group: &Group, places: &Places<'_, '_>, report: &mut KernelReport) {
        let last = self.code.as_ref().map(|code| places.line(code.range.end.before()));
        for value in &self.values {
            // (Of stores that stay the pattern of overwritten ones lists all but the last.)
            let listed = if group.is_chosen() { 0 } else { value.stores.len() - 1 };
            for &inst in &value.stores[listed..] {
                let mut store = places.report_of(inst);
                store.bytes = value.bits / 8;
                match &group.refusal {
                    Some(refusal) => places.keep(&mut store, refusal),
                    None => {
                        let tested = (!self.tests.is_empty()).then(|| "stores-apart".to_owned());
                        store.decision = Decision::By(group.strategy);
                        store.source_line = last;
                        store.guards = Some(tested.into_iter().collect());
                        store.cost = group.price.map(Price::cost);
                    }
                }
                report.stores.push(store);
            }
        }
    }
}

/// The registers of a loop's values.
struct Held<'r> {
    /// The values.
    registers: &'r [Reg],
    /// The values of the iteration before, where a mistake stores these.
    stale: &'r [Reg],
    /// Whether some store was executed, where that has to be known.
    flags: &'r [Option<Reg>],
}

/// Loads of values that a loop holds in registers.
#[derive(Debug)]
struct HeldInRegister;

impl Shape for HeldInRegister {}

impl Planner<'_, '_, '_, '_> {
    /// Adds the code for a loop.
    fn promote_loop(&mut self, group: &ScalarPromotion, prepared: &mut Prepared) {
        let Some(LoopCode { range, .. }) = &group.code else { return };
        let (first, branch) = (range.start, range.end.before());
        let mut code = Code::behind();
        let holds = self.promotion_test(group, &mut code);
        let fresh = &mut self.plan.fresh;
        let [old, join] = fresh.labels();
        let new = fresh.loop_label();
        let flags: Vec<Option<Reg>> =
            group.values.iter().map(|value| value.is_flagged().then(|| fresh.word())).collect();
        if let Some(holds) = holds {
            code.line(&format!("@!{holds} bra {old};"));
        }
        let registers: Vec<Reg> =
            group.values.iter().map(|value| self.plan.fresh.bits(value.bits)).collect();
        let stale: Vec<Reg> = match planted!(Bug::PromotedStale) {
            true => group.values.iter().map(|value| self.plan.fresh.bits(value.bits)).collect(),
            false => registers.clone(),
        };
        let places: Vec<String> = group
            .values
            .iter()
            .map(|value| {
                let (base, offset) = self.address(value.stores[0]);
                memory(&base, offset)
            })
            .collect();
        let values = || group.values.iter().zip(&registers).zip(&places);
        for ((value, register), place) in values().filter(|((value, _), _)| value.is_read_first()) {
            code.put(op!(Ld.Global.(value.ty())), &[register, place]);
        }
        for flag in flags.iter().flatten() {
            code.put(op!(Mov.(ScalarType::b(32))), &[flag, &0]);
        }
        let held = Held { registers: &registers, stale: &stale, flags: &flags };
        let stubs = self.copied_loop(group, range, &held, (&mut code, &new));
        let ends = [(None, join.to_string())]
            .into_iter()
            .chain(stubs.into_iter().map(|(label, target)| (Some(label), target)));
        let exits = group.values[0].at_exits.len();
        for ((label, target), exit) in ends.zip([exits - 1].into_iter().chain(0..exits)) {
            if let Some(label) = &label {
                code.text += &format!("\n{label}:");
            }
            let is_lost = planted!(Bug::PromotedNotStored)
                || label.is_some() && planted!(Bug::PromotedExitForgotten);
            if !is_lost {
                self.stored_at_exit(group, exit, (&places, &held), &mut code);
            }
            code.line(&format!("bra.uni {target};"));
        }
        code.text += &format!("\n{old}:");
        let behind = |at: InstId| line_end(self.source.text(), self.span(at).end);
        prepared.drafts.push(Draft::insert(behind(first.before()), code.text));
        prepared.drafts.push(Draft::insert(behind(branch), format!("\n{join}:")));
    }

    /// The stores of a loop's values where it is left.
    fn stored_at_exit(
        &mut self,
        group: &ScalarPromotion,
        exit: usize,
        (places, held): (&[String], &Held<'_>),
        code: &mut Code,
    ) {
        for (at, value) in group.values.iter().enumerate() {
            let store = op!(St.Global.(value.ty()));
            let operands: [&dyn Display; 2] = [&places[at], &held.stale[at]];
            match (value.at_exits[exit], &held.flags[at]) {
                (AtExit::IfWritten, Some(flag)) if !planted!(Bug::PromotedUnasked) => {
                    let is_written = self.plan.fresh.predicate();
                    let word = ScalarType::b(32);
                    code.put(op!(Setp.Ne.(word)), &[&is_written, flag, &0]);
                    code.put_if(&format!("@{is_written} "), store, &operands);
                }
                _ => code.put(store, &operands),
            }
        }
    }

    /// The instructions of a loop, with copies between registers in the place of accesses to its values. Gives the label
    /// to which each branch out of it leads, and the one to which it led.
    fn copied_loop(
        &mut self,
        group: &ScalarPromotion,
        range: &InstRange,
        held: &Held<'_>,
        (code, head): (&mut Code, &str),
    ) -> Vec<(String, String)> {
        let targets = range.clone().flat_map(|at| self.flow.insts[at].targets.iter().copied());
        let within = targets.filter(|at| range.contains(at));
        let mut labels: BTreeMap<InstId, String> = within.map(|at| (at, String::new())).collect();
        for (at, label) in &mut labels {
            *label = match *at == range.start {
                true => head.to_owned(),
                false => self.plan.fresh.loop_label(),
            };
        }
        let mut stubs = Vec::new();
        for at in range.clone() {
            let inst = &self.flow.insts[at];
            if let Some(label) = labels.get(&at) {
                code.text += &format!("\n{label}:");
            }
            let guard = self.guard(inst.guard);
            if let [target] = inst.targets[..] {
                let label = labels.get(&target).cloned().unwrap_or_else(|| {
                    let label = self.plan.fresh.loop_label();
                    let to = inst.ast.operands.first().map_or(0..0, |to| to.span().range());
                    stubs.push((label.clone(), self.plan.copied(to)));
                    label
                });
                code.line(&format!("{guard}{} {label};", inst.ast.opcode.text));
                continue;
            }
            let has =
                |value: &PromotedValue| value.loads.contains(&at) || value.stores.contains(&at);
            let Some(number) = group.values.iter().position(has) else {
                code.line(&self.plan.copied(self.span(at)));
                continue;
            };
            let (value, register) = (&group.values[number], &held.registers[number]);
            match inst.args[..] {
                [Arg::Register(loaded), _] => {
                    code.put_if(&guard, op!(Mov.(value.ty())), &[&self.name(loaded), register]);
                }
                [_, Arg::Register(stored)] => {
                    if planted!(Bug::PromotedStale) {
                        code.put(op!(Mov.(value.ty())), &[&held.stale[number], register]);
                    }
                    code.put_if(&guard, op!(Mov.(value.ty())), &[register, &self.name(stored)]);
                    if let Some(flag) = &held.flags[number] {
                        code.put_if(&guard, op!(Mov.(ScalarType::b(32))), &[flag, &1]);
                    }
                }
                _ => {}
            }
        }
        stubs
    }

    /// The test in front of a loop; `None` if there is nothing to test.
    fn promotion_test(&mut self, group: &ScalarPromotion, code: &mut Code) -> Option<Reg> {
        let mut known = None;
        let bound = group.count.as_ref().map(|count| self.bounded(count, &mut known, code));
        let way = group.count.as_ref().zip(bound.as_ref());
        let mut steps = Vec::new();
        let mut indices = Vec::new();
        for index in &group.indices {
            indices.push(self.index(index, way, &mut known, code));
        }
        for test in group.tests.iter().filter(|_| !planted!(Bug::PromotedUntested)) {
            let named = |(term, factor): &(Term, i64)| match term {
                Term::Register(register) => (self.name(*register), *factor),
                Term::Index(index) => (indices[*index].to_string(), *factor),
            };
            let parts = test.parts.iter().map(named).collect();
            let ahead = self.sum(parts, test.constant, S64, code);
            let length = test.length - i64::from(planted!(Bug::PromotedByteLess));
            let span = match test.step.known() {
                Some(0) => None,
                Some(step) => way.map(|way| {
                    let span = self.known_span(step, way, code);
                    if step < 0 {
                        code.put(op!(Add.S64), &[&ahead, &ahead, &span]);
                    }
                    let short = if planted!(Bug::PromotedIntervalShort) { step.abs() } else { 0 };
                    code.put(op!(Add.S64), &[&span, &span, &(length - short)]);
                    span
                }),
                None => way.map(|way| {
                    let span = self.computed_span(&test.step, way, (&mut steps, &mut known), code);
                    code.put(op!(Add.S64), &[&span, &span, &length]);
                    span
                }),
            };
            let needed: &dyn Display = span.as_ref().map_or(&length, |span| span);
            let fresh = &mut self.plan.fresh;
            known = Some(code.compare(fresh, (Ge, U64), [&ahead, needed], known.as_deref()));
        }
        known
    }

    /// An index of 32 bits, widened, in the first iteration. That it does not wrap around in a later one is a condition that
    /// is added to those before.
    fn index(
        &mut self,
        index: &Index,
        way: Option<(&TripCount, &Reg)>,
        known: &mut Option<Reg>,
        code: &mut Code,
    ) -> Reg {
        let own = self.sum(self.named(&index.parts), index.constant, S32, code);
        let wide = code.set(self.plan.fresh.bits(64), op!(Cvt.S64.S32), &[&own]);
        if let Some(way) = way.filter(|_| index.step != 0) {
            let span = self.known_span(index.step, way, code);
            let fresh = &mut self.plan.fresh;
            let room = match index.step > 0 {
                true => code.set(fresh.bits(64), op!(Sub.S64), &[&i32::MAX, &wide]),
                false => code.set(fresh.bits(64), op!(Sub.S64), &[&wide, &i32::MIN]),
            };
            *known = Some(code.compare(fresh, (Ge, U64), [&room, &span], known.as_deref()));
        }
        wide
    }

    fn named(&self, parts: &[(RegisterId, i64)]) -> Vec<(String, i64)> {
        parts.iter().map(|(register, factor)| (self.name(*register), *factor)).collect()
    }

    /// Bytes by which an access with a constant step moves at most over all iterations.
    fn known_span(&mut self, step: i64, (count, way): (&TripCount, &Reg), code: &mut Code) -> Reg {
        code.set(self.plan.fresh.bits(64), op!(Mul.Wide.U32), &[way, &count.factor(step)])
    }

    /// The same for a step that is computed. That it is small enough is tested once for all accesses with this step.
    fn computed_span<'g>(
        &mut self,
        step: &'g Step,
        (count, way): (&TripCount, &Reg),
        (steps, known): (&mut Vec<(&'g Step, Reg)>, &mut Option<Reg>),
        code: &mut Code,
    ) -> Reg {
        if let Some((_, span)) = steps.iter().find(|(other, _)| *other == step) {
            return code.set(self.plan.fresh.bits(64), op!(Mov.B64), &[span]);
        }
        let each = self.sum(self.named(&step.parts), step.constant, S64, code);
        if !planted!(Bug::PromotedStepUntested) {
            let fresh = &mut self.plan.fresh;
            let small = code.compare(fresh, (Le, U64), [&each, &Step::MOST], known.as_deref());
            *known = Some(small);
        }
        let fresh = &mut self.plan.fresh;
        let times = code.set(fresh.word(), op!(Shr.U32), &[way, &count.shift()]);
        let times = code.set(fresh.bits(64), op!(Cvt.U64.U32), &[&times]);
        let span = code.set(fresh.bits(64), op!(Mul.Lo.S64), &[&each, &times]);
        if planted!(Bug::PromotedIntervalShort) {
            code.put(op!(Sub.S64), &[&span, &span, &each]);
        }
        let own = code.set(fresh.bits(64), op!(Mov.B64), &[&span]);
        steps.push((step, span));
        own
    }

    /// A sum of multiples of registers and a constant, modulo 2 to the bits of a type.
    fn sum(
        &mut self,
        mut parts: Vec<(String, i64)>,
        constant: i64,
        ty: ScalarType,
        code: &mut Code,
    ) -> Reg {
        let sum = self.plan.fresh.bits(ty.bits());
        parts.sort_by_key(|(_, factor)| *factor != 1);
        if parts.is_empty() {
            code.put(op!(Mov.(ty)), &[&sum, &constant]);
        }
        for (number, (name, factor)) in parts.into_iter().enumerate() {
            match (number, factor) {
                (0, 1) => code.put(op!(Add.(ty)), &[&sum, &name, &constant]),
                (0, _) => {
                    code.put(op!(Mul.Lo.(ty)), &[&sum, &name, &factor]);
                    code.put(op!(Add.(ty)), &[&sum, &sum, &constant]);
                }
                (_, 1) => code.put(op!(Add.(ty)), &[&sum, &sum, &name]),
                (_, -1) => code.put(op!(Sub.(ty)), &[&sum, &sum, &name]),
                _ => code.put(op!(Mad.Lo.(ty)), &[&sum, &name, &factor, &sum]),
            }
        }
        sum
    }

    /// At least the counter's way from the end of the first iteration to that of the last one. It is right under
    /// conditions that are added to those before.
    fn bounded(&mut self, count: &TripCount, known: &mut Option<Reg>, code: &mut Code) -> Reg {
        let counter = self.name(count.counter);
        let bound = match count.bound {
            Bound::Register(bound) => self.name(bound),
            Bound::Constant(bound) => bound.to_string(),
        };
        let fresh = &mut self.plan.fresh;
        let (each, up) = (count.step.abs(), count.step > 0);
        let way = fresh.word();
        match up {
            true => code.put(op!(Sub.S32), &[&way, &bound, &counter]),
            false => code.put(op!(Sub.S32), &[&way, &counter, &bound]),
        }
        let is_tested = count.is_tested();
        match count.relation {
            Relation::Other => {
                if is_tested {
                    let rest = code.set(fresh.word(), op!(And.B32), &[&way, &(each - 1)]);
                    *known = Some(code.compare(fresh, (Eq, S32), [&rest, &0], None));
                }
                code.put(op!(Add.S32), &[&way, &way, &-each]);
            }
            Relation::Before(ty) => {
                if is_tested {
                    let before = if up { Lt } else { Gt };
                    let enters = code.compare(fresh, (before, ty), [&counter, &bound], None);
                    *known = Some(enters);
                    if let (Some(edge), Bound::Register(_)) = (count.edge(), count.bound) {
                        let within = if up { Le } else { Ge };
                        let fits =
                            code.compare(fresh, (within, ty), [&bound, &edge], known.as_deref());
                        *known = Some(fits);
                    }
                }
                code.put(op!(Add.S32), &[&way, &way, &-1]);
            }
        }
        way
    }
}
