//! The shared code of the searches from an example and from a goal.

use super::execute::traced;
use super::fit::{self, Pool};
use super::measure::measures;
use super::outcome::Solution;
use super::problem::{Network, Stage};
use super::run::Instance;
use crate::synth::expr::Expr;

/// How many expressions are kept for one hole of an example, and how many conditions for a hole.
pub(super) const MOST_FITTED: usize = 48;

/// A sketch with the numbers of lanes at which expressions are looked at.
pub(super) struct Context<'n> {
    /// The sketch.
    pub network: &'n Network,
    /// What conditions are resolved on, and expressions fitted to.
    pub main: Vec<Instance>,
    /// What tells expressions apart that are equal on those.
    pub others: Vec<Instance>,
}

impl Context<'_> {
    /// The expressions of a hole.
    pub(super) fn pool(&self, hole: usize) -> Pool {
        let hole = &self.network.holes[hole];
        let instances: Vec<Instance> = self.main.iter().chain(&self.others).cloned().collect();
        Pool::new(self.network, hole, &instances, fit::operators(hole))
    }

    /// The steps in their order: for each the round, its repeat, and the step itself.
    pub(super) fn stages(&self, lanes: usize) -> Vec<(usize, i64, &Stage)> {
        let rounds = self.network.rounds(&self.network.params(lanes)).unwrap_or_default();
        let stages = |(repeat, value): (usize, i64)| {
            self.network.repeats[repeat].stages.iter().map(move |stage| (repeat, value, stage))
        };
        rounds.into_iter().flat_map(stages).collect()
    }

    /// A choice with its costs.
    pub(super) fn solution(&self, choice: Vec<Vec<Expr>>, turned: bool) -> Solution {
        let lanes = self.network.lanes;
        let trace = traced(self.network, &choice, turned, lanes);
        let measures = measures(self.network, lanes, &trace, Some(&choice));
        Solution { choice, turned, measures }
    }
}
