//! Exchanges within a warp through shared memory by shuffles (strategy `collective`).
//!
//! `a[lane] = x; __syncwarp(); y = a[f(lane)];`: the load becomes `shfl.sync` of the stored register, which waits for no
//! memory. The barrier stays, as it may order other accesses. The store goes where all loads of the array do, since
//! then nobody reads it; otherwise it stays.

mod emit;
mod find;
mod obstacle;
mod table;

use rustc_hash::FxHashSet;

use super::finder::{Finder, Weighed, hundredths};
use super::group::{Accesses, Group, Places, Price, Shape, shapes};
use super::pattern::Pattern;
use crate::cfg::{BlockId, InstId, RegisterId};
use crate::emulate::{Effect, KernelTrace, effect};
use crate::isa::limits::WARP_SIZE;
use crate::report::{CollectiveReport, Decision, ExchangeReport, KernelReport};
use crate::reuse::shared::SharedArray;
use crate::reuse::{Refusal, Unprofitable};
use crate::rewrite::{Part, Planner, Prepared};
use crate::strategies::StrategyName;
use find::{Exchange, Loaded, Search};
use obstacle::Obstacle;
use table::Source;

/// Cycles that an access to a word in shared memory takes for a warp.
const ACCESS_CYCLES: f64 = 1.0;

/// Bytes that a load of one lane's words may move at once.
const VECTOR: u32 = 16;

/// The pattern.
#[derive(Debug)]
pub(super) struct Exchanges;

/// Exchanges that are replaced together: all of an array whose stores go, or one.
#[derive(Debug)]
struct Found {
    exchanges: Vec<Exchange>,
    /// Whether the stores go.
    drops: bool,
}

impl Pattern for Exchanges {
    fn strategies(&self) -> &'static [StrategyName] {
        &[StrategyName::Collective]
    }

    /// Lists every exchange; claims those that pay, none in code that other patterns have changed.
    fn find(&self, finder: &mut Finder<'_, '_, '_, '_>, trace: &mut KernelTrace) {
        let flow = finder.legality.flow();
        let is_wanted = finder.options.lists_collectives || finder.allows(StrategyName::Collective);
        let is_shared = |wanted: Effect| {
            move |at: &crate::emulate::Access| {
                at.space == crate::ptx::StateSpace::Shared && at.effect == wanted
            }
        };
        let mut accesses = trace.accesses.iter();
        let stores = trace.accesses.iter().any(is_shared(Effect::Store));
        if !is_wanted || !stores || !accesses.any(is_shared(Effect::Load)) {
            return;
        }
        let arrays = (finder.arrays)(trace);
        let line = |inst: InstId| finder.legality.line(inst);
        let shape = finder.legality.exact_block();
        let whole = shape.is_some_and(|shape| {
            shape.iter().product::<u64>().is_multiple_of(u64::from(WARP_SIZE))
        });
        let each = trace.accesses.iter().enumerate();
        let by_inst = each.map(|(at, access)| (access.inst, at)).collect();
        let mut search = Search {
            flow,
            trace,
            arrays: &arrays,
            shape,
            has_whole_warps: whole && finder.legality.lanes_are_consecutive() == Some(true),
            is_kernel: finder.legality.is_kernel(),
            line: &line,
            accesses: by_inst,
            known: Default::default(),
        };
        let mut exchanges = search.exchanges();
        exchanges.retain(|one| !one.blocks.iter().any(|block| finder.legality.is_version(*block)));
        for one in &mut exchanges {
            if one.loads.is_ok() && !finder.options.has_shuffles_of_parted {
                one.loads = Err(Obstacle::Target);
            }
            if one.loads.is_ok() && is_taken(finder, one) {
                one.loads = Err(Obstacle::Beside);
            }
        }
        let weak_stores: FxHashSet<InstId> = trace
            .accesses
            .iter()
            .filter(|access| access.effect == Effect::Store && access.strong.is_none())
            .map(|access| access.inst)
            .collect();
        let is_weak_store = |at: InstId| weak_stores.contains(&at);
        for found in groups(exchanges, &arrays, &is_weak_store) {
            let group = decide(finder, found);
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
            let loads: Vec<Loaded> = found.loads().collect();
            planner.exchange(&loads, &found.stores(), found.drops, &mut prepared);
        }
        prepared.part()
    }
}

/// The exchanges that are replaced together.
fn groups(
    exchanges: Vec<Exchange>,
    arrays: &[SharedArray],
    is_weak_store: &dyn Fn(InstId) -> bool,
) -> Vec<Found> {
    let loaded = exchanges.iter().filter_map(|one| one.loads.as_ref().ok()).flatten();
    let loaded: FxHashSet<InstId> = loaded.map(|load| load.inst).collect();
    let is_unread = |array: &SharedArray| {
        let mut accesses = array.accesses.iter().map(|access| access.inst);
        accesses.all(|at| is_weak_store(at) || loaded.contains(&at))
    };
    let drops: Vec<bool> = arrays.iter().map(is_unread).collect();
    let mut found: Vec<(Option<usize>, Found)> = Vec::new();
    for one in exchanges {
        let dropped = one.array.filter(|at| drops[*at] && one.loads.is_ok());
        let same = dropped.and_then(|_| found.iter_mut().find(|(array, _)| *array == dropped));
        match same {
            Some((_, group)) => group.exchanges.push(one),
            None => {
                let group = Found { exchanges: vec![one], drops: dropped.is_some() };
                found.push((dropped, group));
            }
        }
    }
    // (Stores of the array may stand elsewhere, where no load follows.)
    for (array, group) in &mut found {
        let all = array.iter().flat_map(|at| &arrays[*at].accesses).map(|access| access.inst);
        let known: Vec<InstId> =
            group.exchanges.iter().flat_map(|one| &one.accesses).copied().collect();
        let others: Vec<InstId> = all.filter(|at| !known.contains(at)).collect();
        if let Some(first) = group.exchanges.first_mut() {
            first.accesses.extend(others);
        }
    }
    found.into_iter().map(|(_, group)| group).collect()
}

/// The group of some exchanges: chosen, or why not.
fn decide(finder: &Finder<'_, '_, '_, '_>, found: Found) -> Group {
    let obstacle = found.exchanges.iter().find_map(|one| one.loads.as_ref().err());
    let (mut price, mut refusal) = (None, None);
    if let Some(obstacle) = obstacle {
        refusal = Some(Refusal::Collective(obstacle.rule(), obstacle.to_string()));
    } else if !finder.allows(StrategyName::Collective) {
        refusal = Some(Refusal::NotAskedFor(StrategyName::Collective.word()));
    } else {
        match weigh(finder, &found) {
            Ok(known) => price = Some(known),
            Err(unprofitable) => refusal = Some(Refusal::DoesNotPay(unprofitable)),
        }
    }
    let mut members: Vec<InstId> =
        found.exchanges.iter().flat_map(|one| &one.accesses).copied().collect();
    members.sort_unstable();
    let blocks: Vec<BlockId> = match refusal {
        None => found.exchanges.iter().flat_map(|one| &one.blocks).copied().collect(),
        Some(_) => Vec::new(),
    };
    Group {
        accesses: Accesses::Exchanges,
        blocks,
        price,
        refusal,
        ..Group::of_loads(StrategyName::Collective, members, found)
    }
}

/// Whether another pattern has put code into the blocks, or replaces an access there.
fn is_taken(finder: &Finder<'_, '_, '_, '_>, one: &Exchange) -> bool {
    let flow = finder.legality.flow();
    let mut chosen = finder.groups().iter().filter(|group| group.is_chosen());
    chosen.any(|group| {
        let touches = |inst: &InstId| {
            let within = |block: &BlockId| flow.block(*block).instructions().contains(inst);
            one.accesses.contains(inst) || group.duplicates && one.blocks.iter().any(within)
        };
        one.blocks.iter().any(|block| group.blocks.contains(block))
            || group.members.iter().any(touches)
    })
}

/// Whether the shuffles take fewer cycles than the loads, and the stores if these go.
fn weigh(finder: &Finder<'_, '_, '_, '_>, found: &Found) -> Result<Price, Unprofitable> {
    let costs = &finder.options.costs;
    let access = |bytes: u32| f64::from(bytes) / 4.0 * ACCESS_CYCLES + costs.instructions(1);
    let (mut cost_before, mut cost_after) = (0.0, 0.0);
    // The assembler loads a lane's neighbouring words together.
    let mut vectors: FxHashSet<(InstId, u32)> = FxHashSet::default();
    for load in found.loads() {
        let words = load.bytes / 4;
        let vector = match load.source {
            Source::Lane(lane) => Some((load.store, lane * load.bytes / VECTOR)),
            _ => None,
        };
        let is_first = vector.is_none_or(|vector| vectors.insert(vector));
        cost_before += if is_first { access(load.bytes) } else { 0.0 };
        cost_after += match load.source {
            Source::Own => costs.instructions(words),
            _ => f64::from(words) * (costs.shuffle_cycles + costs.instructions(1)),
        };
        cost_after += costs.instructions(load.source.instructions());
    }
    let sizes = found.loads().map(|load| (load.store, load.bytes));
    let stored: FxHashSet<(InstId, u32)> = sizes.filter(|_| found.drops).collect();
    cost_before += stored.iter().map(|(_, bytes)| access(*bytes)).sum::<f64>();
    if !finder.is_weighed() {
        return Ok(Price {
            cost_after: hundredths(cost_after),
            cost_before: hundredths(cost_before),
        });
    }
    finder.pays(StrategyName::Collective, Weighed::new(cost_after, cost_before))
}

impl Found {
    /// The loads that are replaced.
    fn loads(&self) -> impl Iterator<Item = Loaded> {
        self.exchanges.iter().filter_map(|one| one.loads.as_ref().ok()).flatten().copied()
    }

    /// The stores of the exchanges.
    fn stores(&self) -> Vec<InstId> {
        let loads: FxHashSet<InstId> = self.loads().map(|load| load.inst).collect();
        let accesses = self.exchanges.iter().flat_map(|one| &one.accesses);
        accesses.filter(|at| !loads.contains(at)).copied().collect()
    }
}

impl Shape for Found {
    fn list(&self, group: &Group, places: &Places<'_, '_>, report: &mut KernelReport) {
        for one in &self.exchanges {
            self.list_one(one, group, places, report);
        }
    }
}

impl Found {
    /// Adds the entry of one exchange.
    fn list_one(
        &self,
        one: &Exchange,
        group: &Group,
        places: &Places<'_, '_>,
        report: &mut KernelReport,
    ) {
        let (rule, reason) = group.kept_by().unzip();
        let mut lines: Vec<u32> = one.accesses.iter().map(|at| places.line(*at)).collect();
        lines.push(places.line(one.barrier));
        lines.sort_unstable();
        lines.dedup();
        let loads = one.loads.as_ref().map_or(&[][..], |loads| loads);
        let first = loads.first();
        let named = |register: RegisterId| places.flow.registers[register].to_string();
        let is_own = |load: &&Loaded| load.source == Source::Own;
        let is_xor = |load: &Loaded| matches!(load.source, Source::Xor(_) | Source::Own);
        let opcode = match loads {
            _ if loads.iter().all(|load| is_own(&load)) => "mov",
            _ if loads.iter().all(is_xor) => "shfl.sync.bfly",
            _ => "shfl.sync.idx",
        };
        let ty = one.accesses.first().and_then(|at| places.flow.insts[*at].ast.form.last_type());
        report.collectives.push(CollectiveReport {
            line: places.line(one.barrier),
            lines,
            source: places.origin(one.barrier),
            register: first.map_or_else(String::new, |load| named(load.to)),
            of: first.map_or_else(String::new, |load| named(load.from)),
            computes: "exchange".to_owned(),
            ty: ty.map_or("", |ty| ty.name()).to_owned(),
            lanes: WARP_SIZE,
            shuffles: loads.iter().filter(|load| !is_own(load)).map(|load| load.bytes / 4).sum(),
            steps: loads.iter().map(|load| places.step(load.inst, &load.source.lanes())).collect(),
            barriers: None,
            exchange: Some(described(one, places)),
            decision: if group.is_chosen() { Decision::By(group.strategy) } else { Decision::Keep },
            becomes: first.map(|_| opcode.to_owned()),
            guards: None,
            cost: group.weighed().map(Price::cost),
            rule,
            reason,
        });
    }
}

/// The accesses of an exchange, in words.
fn described(one: &Exchange, places: &Places<'_, '_>) -> ExchangeReport {
    let mut from: Vec<String> = Vec::new();
    for load in one.loads.as_ref().map_or(&[][..], |loads| loads) {
        let source = load.source.to_string();
        if !from.contains(&source) {
            from.push(source);
        }
    }
    let is_store = |at: &&InstId| effect(&places.flow.insts[**at]) == Effect::Store;
    let stores = one.accesses.iter().filter(is_store).count() as u32;
    ExchangeReport { from, stores, loads: one.accesses.len() as u32 - stores }
}
