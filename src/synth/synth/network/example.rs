//! Networks from a drawing: it gives the value of each hole at the points of its number of lanes.

use super::context::{Context, MOST_FITTED};
use super::execute::{executed, traced};
use super::law::product;
use super::outcome::{Outcome, Unsat};
use super::problem::{Kind, Slot, Stage};
use super::run::{Choice, Instance, Names, goals, initial, run};
use super::tuples::tuples;
use crate::synth::expr::Expr;

/// How many combinations of expressions are executed, for one resolved network and for an example.
const MOST_COMBINED: usize = 4096;

/// How often all holes of an example are gone through.
const MOST_SWEEPS: usize = 6;

/// Numbers of lanes at which expressions differ early: small ones, and around powers.
const TELLING: [usize; 14] = [2, 3, 4, 5, 7, 8, 9, 10, 16, 18, 27, 28, 32, 55];

impl Context<'_> {
    /// Looks for expressions that give the drawn steps.
    pub(super) fn drawn_network(&self) -> Outcome {
        let Some(drawn) = &self.network.drawn else {
            return Outcome::unsat(Unsat::NoExpression(0, 0, 0), false);
        };
        let stages = self.stages(drawn.lanes);
        let mut lists: Vec<Vec<Vec<Expr>>> = vec![Vec::new(); self.network.holes.len()];
        let pairs: Vec<Vec<(u32, u32)>> = drawn
            .steps
            .iter()
            .map(|step| step.iter().map(|pair| (pair.0, pair.1)).collect())
            .collect();
        for (number, hole) in self.network.holes.iter().enumerate() {
            let pool = self.pool(number);
            let mut sources = Vec::new();
            let mut guards = Vec::new();
            for ((_, _, stage), pairs) in stages.iter().zip(&pairs) {
                let own = match hole.kind {
                    Kind::Initial => false,
                    Kind::Source => matches!(stage.source, Slot::Hole(own) if own == number),
                    Kind::Guard => stage.guard == Some(number),
                };
                for lane in (0..drawn.lanes as u32).filter(|_| own) {
                    let pair = pairs.iter().find(|pair| pair.1 == lane);
                    sources.push(pair.map(|pair| pair.0 as i32));
                    guards.push(Some(pair.is_some()));
                }
            }
            lists[number] = match hole.kind {
                Kind::Guard => pool.conditions(&guards, MOST_FITTED),
                _ => {
                    let found = pool.with_values(&sources, MOST_FITTED);
                    found.into_iter().map(|expr| vec![(*expr).clone()]).collect()
                }
            };
            if lists[number].is_empty() {
                return Outcome::unsat(Unsat::Hole(number), pool.0.cut);
            }
        }
        // A drawing that is wrong has no solution; it is said where.
        if let Slot::Fixed(index) = &self.network.initial
            && let Err(unsat) = self.drawn_is_right(&pairs, index, &stages)
        {
            return Outcome::unsat(unsat, false);
        }
        if let Some(choice) = self.improved(&lists).filter(|choice| self.as_drawn(choice, &pairs)) {
            return Outcome::solved(self.solution(choice, false));
        }
        let bounds: Vec<usize> = lists.iter().map(Vec::len).collect();
        let (mut found, mut tried) = (None, 0);
        let over = !tuples(&bounds, MOST_COMBINED, &mut |tuple| {
            tried += 1;
            let choice: Vec<Vec<Expr>> =
                tuple.iter().zip(&lists).map(|(&at, list)| list[at].clone()).collect();
            let right =
                self.as_drawn(&choice, &pairs) && executed(self.network, &choice, false).is_ok();
            if right {
                found = Some(choice);
            }
            !right
        });
        match found {
            Some(choice) => Outcome::solved(self.solution(choice, false)),
            None => {
                let cut = lists.iter().any(|list| list.len() >= MOST_FITTED);
                Outcome::unsat(Unsat::NoExpression(tried, tried, 0), over || cut)
            }
        }
    }

    /// A choice that is right for every number of lanes, found hole by hole: each takes what leaves the fewest lanes
    /// wrong, until nothing is wrong or nothing gets better.
    fn improved(&self, lists: &[Vec<Vec<Expr>>]) -> Option<Vec<Vec<Expr>>> {
        let sizes = self.network.sizes().into_iter().filter(|lanes| TELLING.contains(lanes));
        let sizes: Vec<Instance> = sizes.map(Instance::whole).collect();
        let wrong = |choice: &Choice| -> usize {
            let each =
                sizes.iter().map(|instance| run(self.network, choice, false, instance, None));
            each.map(|wrong| wrong.unwrap_or(1)).sum()
        };
        let mut choice: Vec<Vec<Expr>> = lists.iter().map(|list| list[0].clone()).collect();
        let mut least = wrong(&choice);
        for _ in 0..MOST_SWEEPS {
            let before = least;
            for (hole, list) in lists.iter().enumerate() {
                let old = choice[hole].clone();
                let mut best = None;
                for one in list {
                    if least == 0 {
                        break;
                    }
                    choice[hole].clone_from(one);
                    let now = wrong(&choice);
                    if now < least {
                        (least, best) = (now, Some(one.clone()));
                    }
                }
                choice[hole] = best.unwrap_or(old);
            }
            if least == 0 || least == before {
                break;
            }
        }
        (least == 0 && executed(self.network, &choice, false).is_ok()).then_some(choice)
    }

    /// Whether a choice gives the drawn steps.
    fn as_drawn(&self, choice: &Choice, pairs: &[Vec<(u32, u32)>]) -> bool {
        let trace = traced(self.network, choice, false, self.main[0].lanes);
        trace.iter().zip(pairs).all(|(ours, drawn)| {
            ours.len() == drawn.len() && drawn.iter().all(|pair| ours.contains(pair))
        })
    }

    fn drawn_is_right(
        &self,
        pairs: &[Vec<(u32, u32)>],
        index: &Expr,
        stages: &[(usize, i64, &Stage)],
    ) -> Result<(), Unsat> {
        let instance = &self.main[0];
        let names = Names::new(self.network, instance);
        let mut values = initial(&names, index, instance.lanes);
        for ((_, _, stage), pairs) in stages.iter().zip(pairs) {
            let old = values.clone();
            for &(source, target) in pairs {
                let (own, other) = (old[target as usize], old[source as usize]);
                let (a, b) = if stage.behind { (own, other) } else { (other, own) };
                values[target as usize] = product(a, b, self.network.law());
            }
        }
        let goals = goals(self.network, &names, instance);
        match (0..instance.lanes).find(|&l| goals[l].is_some() && goals[l] != values[l]) {
            Some(lane) => Err(Unsat::Drawn(lane, values[lane], goals[lane])),
            None => Ok(()),
        }
    }
}
