//! Joint computations of lanes with fewer instructions (strategy `collective`): `redux.sync` and votes for networks of
//! shuffles, a move for values that a register holds already.
//!
//! The last instruction of a network is replaced; those whose results nobody else reads are left out. Where lanes use the
//! result that hold it only if they are consecutive in `%tid.x`, that is tested in front of the network, with the
//! network itself on the other side.

use super::finder::{Finder, Weighed, hundredths};
use super::group::{Accesses, Group, Places, Price, Shape, shapes};
use super::options::Redux;
use super::pattern::Pattern;
use crate::cfg::{BlockId, Flow, InstId};
use crate::collective::{
    Collective, Form, Obstacle, Operator, Order, Place, Predicate, block_of, collectives,
    is_exchange,
};
use crate::cost::Costs;
use crate::emulate::{Effect, KernelTrace, definitions, effect};
use crate::isa::Opcode;
use crate::isa::Qualifier::{self, PropagateNan};
use crate::isa::ScalarType::{F32, S32, U32};
use crate::ptx::write::{Code, Op, Reg, op};
use crate::report::{CollectiveReport, Decision, KernelReport};
use crate::reuse::{Refusal, Unprofitable};
use crate::rewrite::{Condition, Draft, Part, Planner, Prepared};
use crate::strategies::StrategyName;

/// Instructions of the test that lanes are consecutive in `%tid.x`, and of the branches on it.
const TEST: u32 = 10;

/// The pattern.
#[derive(Debug)]
pub(super) struct Collectives;

/// A collective, and the instructions that would take its place.
#[derive(Debug)]
struct Found {
    collective: Collective,
    /// The instructions that take its place.
    becomes: Option<&'static str>,
}

impl Pattern for Collectives {
    fn strategies(&self) -> &'static [StrategyName] {
        &[StrategyName::Collective]
    }

    /// Lists every collective; claims those that pay, none in code that other patterns have changed.
    fn find(&self, finder: &mut Finder<'_, '_, '_, '_>, trace: &mut KernelTrace) {
        let flow = finder.legality.flow();
        let is_wanted = finder.options.lists_collectives || finder.allows(StrategyName::Collective);
        if !is_wanted || !flow.insts.iter().any(is_exchange) {
            return;
        }
        let is_uniform = |block: BlockId| is_uniform(trace, flow, block);
        let line = |inst: InstId| finder.legality.line(inst);
        let is_kernel = finder.legality.is_kernel();
        let place = Place { flow, is_kernel, is_uniform: &is_uniform, line: &line };
        let mut found = collectives(&place, finder.legality.lanes_are_consecutive());
        // The largest networks come first: a step of one is not worth a group of its own.
        found.sort_by_key(|one| (std::cmp::Reverse(one.network.len()), one.result));
        for collective in found {
            let is_step = |group: &Group| {
                let shape = group.shape::<Found>().filter(|_| group.is_chosen());
                shape.is_some_and(|other| other.collective.removed.contains(&collective.result))
            };
            if finder.groups().iter().any(is_step) {
                continue;
            }
            // Code that an earlier rewrite has kept for non-consecutive lanes stays.
            let block = block_of(flow, collective.network[0]);
            if block.is_some_and(|block| finder.legality.is_version(block)) {
                continue;
            }
            let group = decide(finder, flow, trace, collective);
            finder.claim(group);
        }
    }

    fn plan(
        &self,
        chosen: &[&Group],
        planner: &mut Planner<'_, '_, '_, '_>,
    ) -> Option<Box<dyn Part>> {
        let groups: Vec<&Found> = shapes(chosen);
        let mut prepared = Prepared::default();
        for found in groups {
            planner.collective(&found.collective, &mut prepared);
        }
        prepared.part()
    }
}

/// Whether all lanes that are together at the end of a block take the same branch.
fn is_uniform(trace: &KernelTrace, flow: &Flow<'_, '_>, block: BlockId) -> bool {
    let Some(condition) = trace.branches[block] else { return false };
    let place = flow.loops.innermost(block);
    trace.is_uniform_term(&flow.loops, condition, place)
}

/// The group of a collective: chosen, or why not.
fn decide(
    finder: &Finder<'_, '_, '_, '_>,
    flow: &Flow<'_, '_>,
    trace: &KernelTrace,
    collective: Collective,
) -> Group {
    let mut collective = collective;
    if let (Ok(Form::Redux(operator)), true) =
        (&collective.form, has_no_numbers(&collective, finder))
    {
        collective.form = Ok(Form::Ordered(*operator));
    }
    let mut obstacle = collective.form.clone().err();
    if obstacle.is_none() {
        obstacle = has_instruction(&collective, finder.options.redux);
    }
    let first = collective.network[0];
    if obstacle.is_none() && collective.needs_consecutive {
        let stays =
            first.to(collective.result.next()).find(|at| !may_stand_twice(flow, &collective, *at));
        let broken = !finder.legality.may_be_two_versions(first, collective.result, trace);
        let line = |inst: InstId| finder.legality.line(inst);
        obstacle = stays.or(broken.then_some(first)).map(|at| Obstacle::Between(line(at)));
    }
    let mut price = None;
    let refused = |one: &Obstacle| Refusal::Collective(one.rule(), one.to_string());
    let mut refusal = obstacle.as_ref().map(refused);
    if refusal.is_none() {
        if !finder.allows(StrategyName::Collective) {
            refusal = Some(Refusal::NotAskedFor(StrategyName::Collective.word()));
        } else if is_taken(finder, flow, &collective) {
            refusal = Some(refused(&Obstacle::Beside));
        } else {
            match weigh(finder, flow, &collective) {
                Ok(known) => price = known,
                Err(unprofitable) => refusal = Some(Refusal::DoesNotPay(unprofitable)),
            }
        }
    }
    let becomes = collective.form.as_ref().ok().map(word);
    let tested = refusal.is_none() && collective.needs_consecutive;
    let blocks = match block_of(flow, first).filter(|_| tested) {
        Some(block) => vec![block],
        None => Vec::new(),
    };
    let members = vec![collective.result];
    Group {
        accesses: Accesses::Exchanges,
        duplicates: tested,
        blocks,
        price,
        refusal,
        ..Group::of_loads(StrategyName::Collective, members, Found { collective, becomes })
    }
}

/// Whether `redux.sync` is there for integers, but not for the numbers that are combined.
fn has_no_numbers(collective: &Collective, finder: &Finder<'_, '_, '_, '_>) -> bool {
    let Ok(Form::Redux(operator)) = collective.form else { return false };
    let flushes = matches!(
        operator,
        Operator::Min(Order::Float { flushes: true, .. })
            | Operator::Max(Order::Float { flushes: true, .. })
    );
    match finder.options.redux {
        Redux::Absent => false,
        Redux::Integers => operator.is_float(),
        Redux::Numbers => flushes,
    }
}

/// The obstacle if the target lacks the instruction.
fn has_instruction(collective: &Collective, redux: Redux) -> Option<Obstacle> {
    match collective.form {
        Ok(Form::Redux(_) | Form::Ordered(_)) if redux == Redux::Absent => {
            Some(Obstacle::Target(80))
        }
        _ => None,
    }
}

/// Whether an instruction in front of the result may be executed in two versions.
fn may_stand_twice(flow: &Flow<'_, '_>, collective: &Collective, at: InstId) -> bool {
    let inst = &flow.insts[at];
    collective.network.contains(&at)
        || matches!(effect(inst), Effect::Pure | Effect::Load | Effect::Hint)
}

/// Whether another pattern has put code into the blocks, or replaces an instruction of the network.
fn is_taken(finder: &Finder<'_, '_, '_, '_>, flow: &Flow<'_, '_>, collective: &Collective) -> bool {
    let range = collective.network[0]..=collective.result;
    let mut chosen = finder.groups().iter().filter(|group| group.is_chosen());
    chosen.any(|group| {
        let is_within = |block: &BlockId| {
            let insts = flow.block(*block).instructions();
            collective.network.iter().any(|at| insts.contains(at))
        };
        let members = match group.shape::<Found>() {
            Some(Found { collective: other, .. }) => {
                let mut network = other.network.iter();
                network.any(|at| collective.removed.contains(at) || *at == collective.result)
                    || loses_source(collective, other)
                    || loses_source(other, collective)
            }
            None => {
                group.members.iter().any(|inst| range.contains(inst))
                    && collective.needs_consecutive
            }
        };
        members || group.duplicates && group.blocks.iter().any(is_within)
    })
}

/// Whether one collective moves a register that holds other values once another one is replaced.
fn loses_source(one: &Collective, other: &Collective) -> bool {
    let Ok(Form::Move(_, writer)) = one.form else { return false };
    other.removed.contains(&writer) || other.result == writer && other.exact != u32::MAX
}

/// Whether it takes fewer cycles than the removed instructions.
fn weigh(
    finder: &Finder<'_, '_, '_, '_>,
    flow: &Flow<'_, '_>,
    collective: &Collective,
) -> Result<Option<Price>, Unprofitable> {
    let costs = &finder.options.costs;
    let Ok(form) = collective.form else { return Ok(None) };
    let removed = collective.removed.iter().chain([&collective.result]);
    let cost_before: f64 = removed.map(|at| cycles(costs, flow, *at)).sum();
    let test = match collective.needs_consecutive {
        true => costs.instructions(TEST) + costs.version_cycles,
        false => 0.0,
    };
    let cost_after = test
        + match form {
            Form::Redux(_) => costs.redux_cycles + costs.instructions(1),
            Form::Ordered(operator) => {
                costs.redux_cycles + costs.instructions(ordered(operator).instructions())
            }
            Form::Count(_) => costs.vote_cycles + costs.popc_cycles + costs.instructions(2),
            Form::PrefixCount(_) => costs.vote_cycles + costs.popc_cycles + costs.instructions(4),
            Form::Vote { .. } => costs.vote_cycles + costs.instructions(2),
            Form::Move(..) => costs.instructions(1),
        };
    if !finder.is_weighed() {
        return Ok(Some(Price {
            cost_after: hundredths(cost_after),
            cost_before: hundredths(cost_before),
        }));
    }
    finder.pays(StrategyName::Collective, Weighed::new(cost_after, cost_before)).map(Some)
}

/// The cycles of an instruction of a network.
fn cycles(costs: &Costs, flow: &Flow<'_, '_>, at: InstId) -> f64 {
    match flow.insts[at].ast.form.opcode {
        Opcode::Shfl => costs.shuffle_cycles + costs.instructions(1),
        // Between registers of one size the assembler leaves it out.
        Opcode::Mov => 0.0,
        _ => costs.instructions(1),
    }
}

/// The opcode that takes a network's place.
fn word(form: &Form) -> &'static str {
    match form {
        Form::Redux(_) | Form::Ordered(_) => "redux.sync",
        Form::Count(_) | Form::PrefixCount(_) => "vote.sync.ballot",
        Form::Vote { all: false, .. } => "vote.sync.any",
        Form::Vote { all: true, .. } => "vote.sync.all",
        Form::Move(..) => "mov",
    }
}

impl Shape for Found {
    fn list(&self, group: &Group, places: &Places<'_, '_>, report: &mut KernelReport) {
        let one = &self.collective;
        let (rule, reason) = group.kept_by().unzip();
        let mut lines: Vec<u32> = one.network.iter().map(|at| places.line(*at)).collect();
        lines.sort_unstable();
        lines.dedup();
        report.collectives.push(CollectiveReport {
            line: places.line(one.result),
            lines,
            source: places.origin(one.result),
            register: places.flow.registers[one.register].to_string(),
            of: places.flow.registers[one.source].to_string(),
            computes: one.word(),
            ty: one.ty().to_owned(),
            lanes: one.lanes,
            shuffles: one
                .network
                .iter()
                .filter(|at| places.flow.insts[**at].ast.form.opcode == Opcode::Shfl)
                .count() as u32,
            barriers: None,
            decision: if group.is_chosen() { Decision::By(group.strategy) } else { Decision::Keep },
            becomes: self.becomes.map(str::to_owned),
            guards: (group.is_chosen() && one.needs_consecutive)
                .then(|| vec!["linear-lanes".to_owned()]),
            cost: group.weighed().map(Price::cost),
            rule,
            reason,
        });
    }
}

impl Planner<'_, '_, '_, '_> {
    /// Adds the code for a collective.
    fn collective(&mut self, one: &Collective, prepared: &mut Prepared) {
        let Ok(form) = one.form else { return };
        let first = one.network[0];
        let result = self.name(one.register);
        let mut code = Code::in_front();
        match form {
            Form::Move(from, _) => code.put(op!(Mov.B32), &[&result, &self.name(from)]),
            Form::Redux(operator) => {
                let source = self.sent_to(one, prepared);
                code.put(reduction(operator), &[&result, &source, &-1]);
            }
            Form::Ordered(operator) => {
                let source = self.sent_to(one, prepared);
                self.ordered(&ordered(operator), &source, &result, &mut code);
            }
            Form::Count(predicate) => {
                let members = if planted!(Bug::CollectiveHalf) { "0xffff" } else { "-1" };
                let ballot = self.ballot(predicate, members, &mut code);
                code.put(op!(Popc.B32), &[&result, &ballot]);
            }
            Form::PrefixCount(predicate) => {
                let ballot = self.ballot(predicate, "-1", &mut code);
                let lanes = if planted!(Bug::CollectiveExclusive) { "lt" } else { "le" };
                let lanes = format!("%lanemask_{lanes}");
                let mask = code.set(self.plan.fresh.word(), op!(Mov.U32), &[&lanes]);
                code.put(op!(And.B32), &[&ballot, &ballot, &mask]);
                code.put(op!(Popc.B32), &[&result, &ballot]);
            }
            Form::Vote { predicate, all } => {
                let all = all != planted!(Bug::CollectiveAny);
                let vote = if all { op!(Vote.Sync.All.Pred) } else { op!(Vote.Sync.Any.Pred) };
                let counted = self.counted(predicate);
                let voted = code.set(self.plan.fresh.predicate(), vote, &[&counted, &-1]);
                code.put(op!(Selp.U32), &[&result, &1, &0, &voted]);
            }
        }
        let code = code.text.trim_end().to_owned();
        for &at in &one.removed {
            prepared.drafts.push(Draft { range: self.span(at), code: String::new() });
        }
        prepared.drafts.push(Draft { range: self.span(one.result), code });
        if one.needs_consecutive && !planted!(Bug::CollectiveUntested) {
            let (setup, holds) = self.consecutive();
            self.add_version(
                first.to(one.result.next()),
                Condition::NoAlias { setup, holds, multiples: Vec::new() },
            );
        }
    }

    /// The least or greatest number, by integers in the order of the numbers: the bits of negative numbers but for the
    /// sign are inverted. NaNs are beyond all numbers, on the side that does not win unless NaNs do.
    fn ordered(&mut self, order: &Ordered, source: &str, result: &str, code: &mut Code) {
        let fresh = &mut self.plan.fresh;
        let (key, part, nan) = (fresh.word(), fresh.word(), fresh.predicate());
        let (sign, rest, infinity) = ("0x80000000", "0x7fffffff", "0x7f800000");
        code.put(op!(Mov.B32), &[&key, &source]);
        if order.flushes && !planted!(Bug::CollectiveUnflushed) {
            code.put(op!(And.B32), &[&part, &key, &infinity]);
            code.put(op!(Setp.Eq.U32), &[&nan, &part, &0]);
            code.put(op!(And.B32), &[&part, &key, &sign]);
            code.put(op!(Selp.B32), &[&key, &part, &key, &nan]);
        }
        let bound = if order.nan_is_least { sign } else { rest };
        code.put(op!(And.B32), &[&part, &key, &rest]);
        code.put(op!(Setp.Gt.U32), &[&nan, &part, &infinity]);
        code.put(op!(Shr.S32), &[&part, &key, &31]);
        code.put(op!(And.B32), &[&part, &part, &rest]);
        code.put(op!(Xor.B32), &[&key, &key, &part]);
        if !planted!(Bug::CollectiveNan) {
            code.put(op!(Selp.B32), &[&key, &bound, &key, &nan]);
        }
        let reduce = if order.greatest { op!(Redux.Sync.Max.S32) } else { op!(Redux.Sync.Min.S32) };
        code.put(reduce, &[&key, &key, &-1]);
        code.put(op!(Shr.S32), &[&part, &key, &31]);
        code.put(op!(And.B32), &[&part, &part, &rest]);
        code.put(op!(Xor.B32), &[&part, &key, &part]);
        if order.nan_is_least {
            code.put(op!(Setp.Eq.S32), &[&nan, &key, &bound]);
            code.put(op!(Selp.B32), &[&part, &rest, &part, &nan]);
        }
        code.put(op!(Mov.B32), &[&result, &part]);
    }

    /// The register with a bit for each lane where a predicate holds.
    fn ballot(&mut self, predicate: Predicate, members: &str, code: &mut Code) -> Reg {
        let counted = self.counted(predicate);
        code.set(self.plan.fresh.word(), op!(Vote.Sync.Ballot.B32), &[&counted, &members])
    }

    /// The predicate that is counted, as operand.
    fn counted(&self, predicate: Predicate) -> String {
        let negated = predicate.negated != planted!(Bug::CollectiveNegated);
        self.signed((predicate.register, negated))
    }

    /// The register that a network combines, as its result's place names it: a copy that is made where the register is
    /// sent, if behind that the register may hold something else or be called otherwise.
    fn sent_to(&mut self, one: &Collective, prepared: &mut Prepared) -> String {
        let behind = &self.flow.insts[one.sender.next()..one.result];
        let stays = !behind.iter().any(|inst| definitions(inst).contains(&one.source))
            || planted!(Bug::CollectiveStale);
        if stays && self.flow.visible(one.source, one.result) {
            return self.name(one.source);
        }
        let copy = self.plan.fresh.word();
        let mut code = Code::in_front();
        code.put(op!(Mov.B32), &[&copy, &self.name(one.source)]);
        let start = self.span(one.sender).start;
        prepared.drafts.push(Draft::insert(start, code.text));
        copy.into()
    }

    /// The test that the lanes of each warp are consecutive in `%tid.x` and begin with a multiple of 32: rows of whole
    /// warps, or one row.
    fn consecutive(&mut self) -> (String, String) {
        let (fresh, mut code) = (&mut self.plan.fresh, Code::in_front());
        let (x, y, z, holds) = (fresh.word(), fresh.word(), fresh.word(), fresh.predicate());
        code.put(op!(Mov.U32), &[&x, &"%ntid.x"]);
        code.put(op!(And.B32), &[&x, &x, &31]);
        code.put(op!(Mov.U32), &[&y, &"%ntid.y"]);
        code.put(op!(Mov.U32), &[&z, &"%ntid.z"]);
        code.put(op!(Mul.Lo.U32), &[&y, &y, &z]);
        code.put(op!(Setp.Eq.U32), &[&holds, &y, &1]);
        code.put(op!(Setp.Eq.Or.U32), &[&holds, &x, &0, &holds]);
        (code.text, holds.into())
    }
}

/// How integers stand for numbers of single precision.
struct Ordered {
    greatest: bool,
    /// Whether a NaN is below all numbers, not above.
    nan_is_least: bool,
    flushes: bool,
}

impl Ordered {
    /// The instructions but for the reduction, moves left aside; an `and` with an `xor` is one.
    fn instructions(&self) -> u32 {
        8 + 4 * u32::from(self.flushes) + 2 * u32::from(self.nan_is_least)
    }
}

/// How integers stand for the numbers that an operator combines.
fn ordered(operator: Operator) -> Ordered {
    let greatest = matches!(operator, Operator::Max(_));
    let (propagates_nan, flushes) = match operator {
        Operator::Min(Order::Float { propagates_nan, flushes })
        | Operator::Max(Order::Float { propagates_nan, flushes }) => (propagates_nan, flushes),
        _ => (false, false),
    };
    Ordered { greatest, nan_is_least: greatest != propagates_nan, flushes }
}

/// The instruction `redux.sync` for an operator.
fn reduction(operator: Operator) -> Op {
    let ty = |order: Order| {
        let signed = matches!(order, Order::Signed) != planted!(Bug::CollectiveUnsigned);
        if signed { S32 } else { U32 }
    };
    let redux = op!(Redux.Sync);
    let extremum = |which: Qualifier, order: Order| match order {
        Order::Float { propagates_nan: true, .. } => redux.with(which).with(PropagateNan).with(F32),
        Order::Float { .. } => redux.with(which).with(F32),
        order => redux.with(which).with(ty(order)),
    };
    match operator {
        Operator::Sum | Operator::FloatSum => op!(Redux.Sync.Add.U32),
        Operator::And => op!(Redux.Sync.And.B32),
        Operator::Or => op!(Redux.Sync.Or.B32),
        Operator::Xor => op!(Redux.Sync.Xor.B32),
        Operator::Min(order) => extremum(Qualifier::Min, order),
        Operator::Max(order) => extremum(Qualifier::Max, order),
    }
}
