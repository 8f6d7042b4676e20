//! Networks from their goal: tries the expressions for sources, resolves which lanes have to combine, and fits
//! conditions to these lanes.

use std::sync::Arc;

use super::context::{Context, MOST_FITTED};
use super::execute::executed;
use super::fit::Pool;
use super::law::Value;
use super::measure::measures;
use super::outcome::{Outcome, Solution, Unsat};
use super::problem::{Kind, MOST_LANES};
use super::resolve::{Plan, Step, resolve};
use super::run::{Choice, Instance, Names, Trace, filled, goals, initial};
use super::tuples::tuples;
use crate::synth::expr::Expr;

/// How many combinations of sources are resolved.
const MOST_RESOLVED: usize = 400_000;

/// How many resolved networks get conditions.
const MOST_GUARDED: usize = 300;

/// For each main instance its steps, and the plan of the lanes in them.
type Resolved = Vec<(Vec<Step>, Plan)>;

impl Context<'_> {
    /// The steps of an instance with the sources of a choice; nothing if a goal has more elements than they bring.
    fn steps(&self, instance: &Instance, choice: &Choice, turned: bool) -> Vec<Step> {
        let mut names = Names::new(self.network, instance);
        let stages = self.stages(instance.lanes);
        let mut steps = Vec::with_capacity(stages.len());
        for (repeat, value, stage) in stages {
            names.round = (&self.network.repeats[repeat].variable, value);
            let source = names.column(filled(&stage.source, choice));
            let guards: Vec<_> = stage.guards.iter().map(|guard| names.column(guard)).collect();
            let fixed = |lane: usize| match guards.iter().all(|guard| guard.at(lane) == 1) {
                false => Some(false),
                true => stage.guard.is_none().then_some(true),
            };
            steps.push(Step {
                source: (0..instance.lanes).map(|lane| source.at(lane)).collect(),
                behind: stage.behind != turned,
                fixed: (0..instance.lanes).map(fixed).collect(),
            });
        }
        steps
    }

    /// The lanes' plan in each main instance, if there is one.
    fn resolved(&self, choice: &Choice, turned: bool, cut: &mut bool) -> Option<Resolved> {
        let mut plans = Vec::new();
        for instance in &self.main {
            let names = Names::new(self.network, instance);
            let values = initial(&names, filled(&self.network.initial, choice), instance.lanes);
            let goals = goals(self.network, &names, instance);
            let held = |element: i32| values.contains(&Some((element, element)));
            if !goals.iter().flatten().all(|goal| held(goal.0) && held(goal.1)) {
                return None;
            }
            let steps = self.steps(instance, choice, turned);
            let (_, plan) = resolve(&steps, &values, &goals, self.network.law(), cut)?;
            plans.push((steps, plan));
        }
        Some(plans)
    }

    /// Conditions for resolved networks.
    fn guarded(
        &self,
        choice: &Choice,
        turned: bool,
        plans: &Resolved,
        pools: &[Option<Pool>],
    ) -> Option<Vec<Vec<Expr>>> {
        let guards: Vec<usize> = (0..self.network.holes.len())
            .filter(|&hole| self.network.holes[hole].kind == Kind::Guard)
            .collect();
        let mut lists = Vec::new();
        for &hole in &guards {
            let mut wanted = Vec::new();
            for (instance, (_, plan)) in self.main.iter().zip(plans) {
                for ((_, _, stage), step) in self.stages(instance.lanes).iter().zip(plan) {
                    if stage.guard == Some(hole) {
                        wanted.extend(step);
                    }
                }
            }
            let list = pools[hole].as_ref()?.conditions(&wanted, MOST_FITTED);
            if list.is_empty() {
                return None;
            }
            lists.push(list);
        }
        let bounds: Vec<usize> = lists.iter().map(Vec::len).collect();
        let mut found = None;
        tuples(&bounds, MOST_FITTED * 2, &mut |tuple| {
            let mut whole = choice.to_vec();
            for ((&hole, list), &at) in guards.iter().zip(&lists).zip(tuple) {
                whole[hole] = list[at].clone();
            }
            let right = executed(self.network, &whole, turned).is_ok();
            if right {
                found = Some(whole);
            }
            !right
        });
        found
    }

    /// A goal that has more elements than the steps can bring together.
    fn too_few_steps(&self) -> Option<Unsat> {
        let instance = &self.main[0];
        let names = Names::new(self.network, instance);
        let goals = goals(self.network, &names, instance);
        let steps = self.stages(instance.lanes).len();
        let most = 1u64.checked_shl(steps as u32).unwrap_or(u64::MAX);
        let long = |goal: &Value| goal.map_or(0, |goal| (goal.1 - goal.0 + 1) as u64);
        let lane = goals.iter().position(|goal| long(goal) > most)?;
        Some(Unsat::Steps(lane, long(&goals[lane]), steps))
    }

    /// Looks for the cheapest network with which the goal is met; of an opened one, for the nearest.
    pub(super) fn network_of_goal(&self) -> Outcome {
        if let Some(unsat) = self.too_few_steps() {
            return Outcome::unsat(unsat, false);
        }
        let network = self.network;
        let pools: Vec<Option<Pool>> =
            (0..network.holes.len()).map(|hole| Some(self.pool(hole))).collect();
        let mut free: Vec<usize> = Vec::new();
        let mut lists: Vec<Vec<Arc<Expr>>> = Vec::new();
        for (hole, pool) in pools.iter().enumerate() {
            let kind = network.holes[hole].kind;
            if let Some(pool) = pool.as_ref().filter(|_| kind != Kind::Guard) {
                let mut list: Vec<Arc<Expr>> =
                    pool.0.members().map(|member| member.expr.clone()).collect();
                if let [before] = network.holes[hole].before.as_slice() {
                    list.sort_by_cached_key(|expr| distance(expr, before));
                }
                free.push(hole);
                lists.push(list);
            }
        }
        let mut bounds: Vec<usize> = lists.iter().map(Vec::len).collect();
        // Whether operands change places is the last choice.
        bounds.push(if network.relaxed { 2 } else { 1 });
        let mut cut = pools.iter().flatten().any(|pool| pool.0.cut);
        let (mut tried, mut reached, mut guarded) = (0, 0, 0);
        let mut candidates: Vec<(Vec<u32>, Vec<Vec<Expr>>, Resolved)> = Vec::new();
        let mut first = None;
        let full = !tuples(&bounds, MOST_RESOLVED, &mut |tuple| {
            tried += 1;
            let turned = tuple[free.len()] == 1;
            let mut choice: Vec<Vec<Expr>> = vec![Vec::new(); network.holes.len()];
            for ((&hole, list), &at) in free.iter().zip(&lists).zip(tuple) {
                choice[hole] = vec![(*list[at]).clone()];
            }
            let Some(plans) = self.resolved(&choice, turned, &mut cut) else { return true };
            reached += 1;
            if network.relaxed {
                // The nearest is wanted, not the cheapest.
                guarded += 1;
                first = self.guarded(&choice, turned, &plans, &pools).map(|whole| (whole, turned));
                return first.is_none();
            }
            let key = self.key(&choice, &plans);
            candidates.push((key, choice, plans));
            true
        });
        if let Some((choice, turned)) = first {
            return Outcome::solved(self.solution(choice, turned));
        }
        candidates.sort_by(|a, b| a.0.cmp(&b.0));
        let mut best: Option<Solution> = None;
        for (key, choice, plans) in candidates.iter().take(MOST_GUARDED) {
            let best_key = best.as_ref().map(|best| best.measures.key(&network.order));
            if best_key.is_some_and(|best| *key >= best) {
                break;
            }
            guarded += 1;
            let Some(whole) = self.guarded(choice, false, plans, &pools) else { continue };
            let solution = self.solution(whole, false);
            let own = solution.measures.key(&network.order);
            if best.as_ref().is_none_or(|best| own < best.measures.key(&network.order)) {
                best = Some(solution);
            }
        }
        match best {
            Some(solution) => Outcome::solved(solution),
            None => Outcome::unsat(
                Unsat::NoExpression(tried, reached, guarded),
                // Conditions are not tried without bounds.
                full || cut || reached > 0,
            ),
        }
    }

    /// A lower bound of the costs of a resolved network.
    fn key(&self, choice: &Choice, plans: &Resolved) -> Vec<u32> {
        let Some((steps, plan)) = plans.first() else { return Vec::new() };
        let pairs = |(step, plan): (&Step, &Vec<Option<bool>>)| {
            let lanes = (0..plan.len()).filter(|&lane| plan[lane] == Some(true));
            lanes.map(|lane| (step.source[lane].max(0) as u32, lane as u32)).collect()
        };
        let trace: Trace = steps.iter().zip(plan).map(pairs).collect();
        let lanes = self.main[0].lanes.min(MOST_LANES);
        // Conditions are added later.
        measures(self.network, lanes, &trace, Some(choice)).key(&self.network.order)
    }
}

/// How far an expression is from another one: nodes that differ.
fn distance(a: &Expr, b: &Expr) -> usize {
    match (a, b) {
        (a, b) if a == b => 0,
        (Expr::Binary(o, a, b), Expr::Binary(p, c, d)) => {
            usize::from(o != p) + distance(a, c) + distance(b, d)
        }
        // One more operator around the old expression.
        (Expr::Binary(_, x, y), _) if **x == *b || **y == *b => 1,
        (a, b) => 1 + a.size().max(b.size()),
    }
}
