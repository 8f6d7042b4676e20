//! Warp reductions with fewer instructions (strategy `collective`): `redux.sync` and votes for networks of shuffles, a move
//! for values that a register holds already.
//!
//! The last instruction of a network is replaced; those whose results nobody else reads are left out. Where lanes use the
//! result that hold it only if they are consecutive in `%tid.x`, that is tested in front of the network, with the
//! network itself on the other side.

mod cost;
mod emit;
mod ordered;

use self::cost::weigh;
use super::finder::Finder;
use super::footprint::{Accesses, Added, Footprint, Neighbours, Room};
use super::group::{Group, Places, Price, Shape, shapes};
use super::options::Redux;
use super::pattern::Pattern;
use crate::cfg::{BlockId, Flow, InstId};
use crate::collective::{
    Collective, Form, Obstacle, Operator, Order, Place, block_of, collectives, is_exchange,
};
use crate::emulate::{Effect, KernelTrace, effect};
use crate::isa::Opcode;
use crate::ptx::Scanned;
use crate::report::{CollectiveReport, Decision, KernelReport};
use crate::reuse::Refusal;
use crate::rewrite::{Part, Planner, Prepared};
use crate::strategies::StrategyName;

/// The pattern.
#[derive(Debug)]
pub(super) struct Collectives;

/// A collective, and the instructions that would take its place.
#[derive(Debug)]
struct Found {
    collective: Collective,
}

impl Pattern for Collectives {
    fn strategies(&self) -> &'static [StrategyName] {
        &[StrategyName::Collective]
    }

    /// A shuffle for all lanes that it names.
    fn wants(&self, body: &Scanned<'_>) -> bool {
        body.has("shfl.sync")
    }

    /// Lists every collective; claims those that pay, none in code that other patterns have changed.
    fn find(&self, finder: &mut Finder<'_, '_, '_, '_>, trace: &mut KernelTrace) {
        let flow = finder.legality.flow();
        let is_wanted = finder.options.lists_collectives || finder.allows(StrategyName::Collective);
        if !is_wanted || !flow.insts.iter().any(is_exchange) {
            return;
        }
        let line = |inst: InstId| finder.legality.line(inst);
        let is_kernel = finder.legality.is_kernel();
        let place = Place { flow, is_kernel, trace, line: &line };
        let mut found = collectives(&place, finder.legality.lanes_are_consecutive());
        // The largest networks come first: a step of one is not worth a group of its own.
        found.sort_by_key(|one| (std::cmp::Reverse(one.network.len()), one.result));
        for collective in found {
            let is_step = |other: &Found| other.collective.removed.contains(&collective.result);
            if finder.own().any(|(_, other)| is_step(other)) {
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

/// The group of a collective: chosen, or why not.
fn decide(
    finder: &Finder<'_, '_, '_, '_>,
    flow: &Flow<'_, '_>,
    trace: &KernelTrace,
    collective: Collective,
) -> Group {
    let mut collective = collective;
    choose_order(&mut collective, finder);
    for other in collective.in_loop.iter_mut().flat_map(|in_loop| &mut in_loop.others) {
        choose_order(other, finder);
    }
    let lacking = || collective.parts().find_map(|part| lacks(part, finder.options.redux));
    let mut obstacle = collective.form.clone().err().or_else(lacking);
    let (first, last) = (*collective.range().start(), *collective.range().end());
    if obstacle.is_none() && collective.needs_consecutive {
        let stays = first.to(last.next()).find(|at| !may_stand_twice(flow, &collective, *at));
        let is_entered = collective.in_loop.as_ref().is_none_or(|one| one.is_behind_entry);
        let broken = !is_entered || !finder.legality.may_be_two_versions(first, last, trace);
        let line = |inst: InstId| finder.legality.line(inst);
        obstacle = stays.or(broken.then_some(first)).map(|at| Obstacle::Between(line(at)));
    }
    let footprint = footprint(flow, &collective);
    let mut price = None;
    let mut refusal = obstacle.map(Refusal::from);
    if refusal.is_none() {
        if !finder.allows(StrategyName::Collective) {
            refusal = Some(Refusal::NotAskedFor(StrategyName::Collective.word()));
        } else if finder.conflicts(&footprint)
            || finder.own().any(|(_, other): (_, &Found)| excludes(&collective, &other.collective))
        {
            refusal = Some(Obstacle::Beside.into());
        } else {
            match weigh(finder, flow, &collective) {
                Ok(known) => price = known,
                Err(unprofitable) => refusal = Some(Refusal::DoesNotPay(unprofitable)),
            }
        }
    }
    let group = Group::new(StrategyName::Collective, footprint, Found { collective });
    Group { price, refusal, ..group }
}

/// Takes integers in the order of the numbers where the target combines no numbers.
fn choose_order(one: &mut Collective, finder: &Finder<'_, '_, '_, '_>) {
    if let (Ok(Form::Redux(operator)), true) = (&one.form, has_no_numbers(one, finder)) {
        one.form = Ok(Form::Ordered(*operator));
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
fn lacks(collective: &Collective, redux: Redux) -> Option<Obstacle> {
    let needs = matches!(collective.form, Ok(Form::Redux(_) | Form::Ordered(_) | Form::Wide(_)));
    (needs && redux == Redux::Absent).then_some(Obstacle::Target(80))
}

/// Whether an instruction in front of the result may be executed in two versions.
fn may_stand_twice(flow: &Flow<'_, '_>, collective: &Collective, at: InstId) -> bool {
    let inst = &flow.insts[at];
    collective.in_loop.is_some()
        || collective.network.contains(&at)
        || matches!(effect(inst), Effect::Pure | Effect::Load | Effect::Hint)
}

/// What a collective takes: no other pattern has put code into the blocks, or replaces an instruction of the network.
fn footprint(flow: &Flow<'_, '_>, collective: &Collective) -> Footprint {
    let (first, last) = (*collective.range().start(), *collective.range().end());
    let members = collective.parts().map(|part| part.result).collect();
    let footprint = Footprint::of(Accesses::Exchanges, members);
    let (added, blocks) = match &collective.in_loop {
        Some(in_loop) => (Added::Code, in_loop.blocks.clone()),
        None => (Added::Nothing, Vec::new()),
    };
    let (added, blocks) = match collective.needs_consecutive {
        true if collective.in_loop.is_none() => {
            (Added::Versions, block_of(flow, first).into_iter().collect())
        }
        true => (Added::Versions, blocks),
        false => (added, blocks),
    };
    let is_within = |block: &BlockId| {
        let insts = flow.block(*block).instructions();
        collective.network.iter().any(|at| insts.contains(at))
    };
    footprint.adding(added, blocks).within(Room {
        blocks: flow.block_ids().filter(is_within).collect(),
        neighbours: match collective.in_loop {
            Some(_) => Neighbours::Nothing,
            None => Neighbours::NoVersions,
        },
        insts: if collective.needs_consecutive { vec![first.to(last.next())] } else { Vec::new() },
        beside_own: Some(module_path!()),
        ..Room::default()
    })
}

/// Whether two collectives cannot both be replaced.
fn excludes(one: &Collective, other: &Collective) -> bool {
    let mut network = other.network.iter();
    network.any(|at| one.removed.contains(at) || *at == one.result)
        || loses_source(one, other)
        || loses_source(other, one)
}

/// Whether one collective moves a register that holds other values once another one is replaced.
fn loses_source(one: &Collective, other: &Collective) -> bool {
    let Ok(Form::Move(_, writer)) = one.form else { return false };
    other.removed.contains(&writer) || other.result == writer && other.exact != u32::MAX
}

/// The opcode that takes a network's place.
fn word(form: &Form) -> &'static str {
    match form {
        Form::Redux(_) | Form::Ordered(_) | Form::Wide(_) => "redux.sync",
        Form::Count(_) | Form::PrefixCount(_) => "vote.sync.ballot",
        Form::Vote { all: false, .. } => "vote.sync.any",
        Form::Vote { all: true, .. } => "vote.sync.all",
        Form::Move(..) => "mov",
    }
}

impl Shape for Found {
    fn list(&self, group: &Group, places: &Places<'_, '_>, report: &mut KernelReport) {
        for part in self.collective.parts() {
            self.list_part(part, group, places, report);
        }
    }
}

impl Found {
    /// Adds the entry of one collective.
    fn list_part(
        &self,
        part: &Collective,
        group: &Group,
        places: &Places<'_, '_>,
        report: &mut KernelReport,
    ) {
        let one = &self.collective;
        let (rule, reason) = group.kept_by().unzip();
        let mut lines: Vec<u32> = match &one.in_loop {
            Some(in_loop) => in_loop.insts.clone().map(|at| places.line(at)).collect(),
            None => part.network.iter().map(|at| places.line(*at)).collect(),
        };
        lines.sort_unstable();
        lines.dedup();
        let is_shuffle = |at: &&InstId| places.flow.insts[**at].ast.form.opcode == Opcode::Shfl;
        let iterations = one.in_loop.as_ref().map_or(1, |in_loop| in_loop.iterations);
        report.collectives.push(CollectiveReport {
            line: places.line(part.result),
            lines,
            source: places.origin(part.result),
            register: places.flow.registers[part.register].to_string(),
            of: places.flow.registers[part.source].to_string(),
            computes: part.word().to_owned(),
            ty: part.ty().to_owned(),
            lanes: part.lanes,
            shuffles: iterations * part.network.iter().filter(is_shuffle).count() as u32,
            steps: part.shuffles.iter().map(|(at, sources)| places.step(*at, sources)).collect(),
            barriers: None,
            decision: if group.is_chosen() { Decision::By(group.strategy) } else { Decision::Keep },
            becomes: part.form.as_ref().ok().map(|form| word(form).to_owned()),
            guards: (group.is_chosen() && one.needs_consecutive)
                .then(|| vec!["linear-lanes".to_owned()]),
            cost: group.weighed().map(Price::cost),
            rule,
            reason,
        });
    }
}
