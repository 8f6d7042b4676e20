//! Warp reduction (strategy `collective`): the last steps of a tree in shared memory, by one warp with shuffles.
//!
//! `for (s = n / 2; s > 0; s /= 2) { if (t < s) a[t] = f(a[t], a[t + s]); __syncthreads(); }`: from the step with a
//! stride of 32 on, only threads of the first warp take part. They get the other elements by `shfl.sync.down` and
//! combine them as the steps do, in the same order, so the results have the same bits; the final elements of the array
//! are stored. The barriers of these steps and all but the first of their accesses are not executed. The steps
//! themselves stay for blocks of other shapes.

mod around;
mod emit;
mod find;
mod looped;
mod row;
mod search;
mod step;
mod walk;

use super::finder::{Finder, Weighed, hundredths};
use super::footprint::{Accesses, Added, Footprint, Neighbours, Room};
use super::group::{Group, Places, Price, Shape, shapes};
use super::pattern::Pattern;
use crate::cfg::{BlockId, InstId};
use crate::collective::Obstacle;
use crate::emulate::KernelTrace;
use crate::isa::Opcode;
use crate::isa::limits::WARP_SIZE;
use crate::ptx::Scanned;
use crate::report::{CollectiveReport, CollectiveStep, Decision, KernelReport};
use crate::reuse::{Refusal, Unprofitable};
use crate::rewrite::{Part, Planner, Prepared};
use crate::strategies::StrategyName;
use search::{FIRST, Plan, Search, Tree};
use step::{Step, Traced};

/// Instructions of the test of a block's shape and of the branches around both versions.
const TEST: u32 = 10;

/// Instructions of a step beside its accesses: the branch, its condition, the barrier.
const AROUND: u32 = 3;

/// Cycles that an access to shared memory takes for a warp, by the element's size in words.
const ACCESS_CYCLES: f64 = 1.0;

/// The pattern.
#[derive(Debug)]
pub(super) struct Trees;

/// A tree.
#[derive(Debug)]
struct Found {
    tree: Tree,
}

impl Pattern for Trees {
    fn strategies(&self) -> &'static [StrategyName] {
        &[StrategyName::Collective]
    }

    /// An array in shared memory.
    fn wants(&self, body: &Scanned<'_>) -> bool {
        body.uses_shared()
    }

    /// Lists every tree; claims those that pay, none in code that other patterns have changed.
    fn find(&self, finder: &mut Finder<'_, '_, '_, '_>, trace: &mut KernelTrace) {
        let flow = finder.legality.flow();
        let is_wanted = finder.options.lists_collectives || finder.allows(StrategyName::Collective);
        let stores = |at: &crate::emulate::Access| {
            at.space == crate::ptx::StateSpace::Shared && at.effect == crate::emulate::Effect::Store
        };
        if !is_wanted || !trace.accesses.iter().any(stores) {
            return;
        }
        let line = |inst: InstId| finder.legality.line(inst);
        let is_version = |block: BlockId| finder.legality.is_version(block);
        let is_kernel = finder.legality.is_kernel();
        let traced = Traced::new(flow, trace);
        let mut search = Search { traced, line: &line, is_kernel, is_version: &is_version };
        let trees = search.trees();
        for tree in trees {
            let group = decide(finder, tree);
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
        if groups.is_empty() {
            return None;
        }
        let one_row = planner.one_row(&mut prepared)?;
        for found in groups {
            if let Ok(plan) = &found.tree.plan {
                planner.tree(&found.tree, plan, &one_row, &mut prepared);
            }
        }
        prepared.part()
    }
}

/// The group of a tree: chosen, or why not.
fn decide(finder: &Finder<'_, '_, '_, '_>, tree: Tree) -> Group {
    let mut refusal = tree.plan.as_ref().err().cloned().map(Refusal::from);
    if refusal.is_none() && !finder.options.has_shuffles_of_parted {
        refusal = Some(Obstacle::TreeTarget.into());
    }
    let mut price = None;
    let behind = tree.plan.as_ref().ok().map(|plan| plan.behind);
    let blocks: Vec<BlockId> = tree.blocks.iter().copied().chain(behind).collect();
    // No other pattern has put code into the blocks, or replaces an access there.
    let flow = finder.legality.flow();
    let footprint = Footprint::of(Accesses::Exchanges, tree.accesses.clone())
        .adding(Added::Versions, blocks.clone())
        .within(Room {
            insts: blocks.iter().map(|&block| flow.block(block).instructions()).collect(),
            blocks,
            neighbours: Neighbours::Nothing,
            kin: Some(module_path!()),
            ..Room::default()
        });
    if let (None, Ok(plan)) = (&refusal, &tree.plan) {
        if !finder.allows(StrategyName::Collective) {
            refusal = Some(Refusal::NotAskedFor(StrategyName::Collective.word()));
        } else if finder.conflicts(&footprint) {
            refusal = Some(Obstacle::Beside.into());
        } else {
            match weigh(finder, plan) {
                Ok(known) => price = Some(known),
                Err(unprofitable) => refusal = Some(Refusal::DoesNotPay(unprofitable)),
            }
        }
    }
    let group = Group::new(StrategyName::Collective, footprint, Found { tree });
    Group { price, refusal, ..group }
}

/// Whether the shuffles take fewer cycles than the steps; the barriers are not counted.
fn weigh(finder: &Finder<'_, '_, '_, '_>, plan: &Plan) -> Result<Price, Unprofitable> {
    let costs = &finder.options.costs;
    let (mut cost_before, mut cost_after) = (0.0, costs.instructions(TEST) + costs.version_cycles);
    for (step, stride) in &plan.steps {
        let operations = costs.instructions(step.operations.len() as u32);
        cost_before += costs.instructions(AROUND + step.addresses.len() as u32) + operations;
        cost_after += costs.instructions(1) + operations;
        for part in &step.parts {
            let words = part.bytes as f64 / 4.0;
            let accesses = 2.0 + f64::from(u8::from(part.load.is_some()));
            cost_before += accesses * (words * ACCESS_CYCLES + costs.instructions(1));
            cost_after += match *stride == FIRST[0] {
                true => words * ACCESS_CYCLES + costs.instructions(1),
                false => words * (costs.shuffle_cycles + costs.instructions(1)),
            };
        }
    }
    let parts = plan.steps.first().map_or(&[][..], |(step, _)| &step.parts);
    let words: f64 = parts.iter().map(|part| part.bytes as f64 / 4.0).sum();
    cost_after += 2.0 * (words * ACCESS_CYCLES + costs.instructions(1));
    if !finder.is_weighed() {
        return Ok(Price {
            cost_after: hundredths(cost_after),
            cost_before: hundredths(cost_before),
        });
    }
    finder.pays(StrategyName::Collective, Weighed::new(cost_after, cost_before))
}

/// The steps within a warp: each lane below the stride combines its element with that of the lane a stride behind.
fn steps(tree: &Tree, places: &Places<'_, '_>) -> Vec<CollectiveStep> {
    let steps = tree.plan.iter().flat_map(|plan| &plan.steps);
    let within = steps.filter(|(_, stride)| *stride < u64::from(WARP_SIZE));
    let one = |(step, stride): &(Step, u64)| {
        let by = *stride as u8;
        let source = |lane: u8| if lane < by { lane + by } else { lane };
        let sources: Vec<u8> = (0..WARP_SIZE as u8).map(source).collect();
        places.step(places.flow.block(step.body).first, &sources)
    };
    within.map(one).collect()
}

impl Shape for Found {
    fn list(&self, group: &Group, places: &Places<'_, '_>, report: &mut KernelReport) {
        let tree = &self.tree;
        let (rule, reason) = group.kept_by().unzip();
        let mut lines: Vec<u32> = tree.accesses.iter().map(|at| places.line(*at)).collect();
        lines.sort_unstable();
        lines.dedup();
        let named = tree.stored.map(|register| &places.flow.registers[register]);
        let ty = tree.accesses.last().and_then(|at| {
            let inst = places.flow.insts[*at].ast;
            (inst.form.opcode == Opcode::St).then(|| inst.form.last_type())?
        });
        let register = named.map_or_else(String::new, ToString::to_string);
        report.collectives.push(CollectiveReport {
            line: places.line(tree.branch),
            lines,
            source: places.origin(tree.branch),
            register: register.clone(),
            of: register,
            computes: "tree".to_owned(),
            ty: ty.map_or("", |ty| ty.name()).to_owned(),
            lanes: tree.elements as u32,
            shuffles: 0,
            steps: steps(tree, places),
            barriers: tree.plan.as_ref().ok().map(|plan| plan.barriers),
            decision: if group.is_chosen() { Decision::By(group.strategy) } else { Decision::Keep },
            becomes: tree.plan.is_ok().then(|| "shfl.sync.down".to_owned()),
            guards: group.is_chosen().then(|| vec!["one-row".to_owned()]),
            cost: group.weighed().map(Price::cost),
            rule,
            reason,
        });
    }
}
