//! Finds trees: steps in a row, or one step in a loop, whose strides are halved down to the last one.
//!
//! In: the steps of a function. Out: each [`Tree`] with the steps that one warp may do, or the obstacle. The
//! steps stay beside the new code, for blocks of other shapes.

use rustc_hash::FxHashSet;

use super::around::begins_at_barrier;
use super::search::{FEWEST, Search, Steps, Tree};
use super::step::Stride;
use crate::cfg::{BlockId, InstId};
use crate::collective::Obstacle;
use crate::emulate::{Effect, effect};
use crate::isa::Qualifier;
use crate::ptx::StateSpace;
use crate::uniform::Together;

impl Search<'_, '_, '_, '_> {
    /// All trees.
    pub(super) fn trees(&mut self) -> Vec<Tree> {
        let candidates = self.traced.candidates();
        let mut steps = Steps::default();
        for candidate in candidates {
            if let Some(step) = self.traced.step(candidate, self.line) {
                steps.insert(candidate.0, step);
            }
        }
        let flow = self.traced.flow;
        let mut trees = self.of_one_warp();
        if steps.is_empty() {
            return trees;
        }
        let together = Together::of(flow);
        let mut order: Vec<BlockId> = steps.keys().copied().collect();
        order.sort_unstable();
        let mut used: FxHashSet<BlockId> = FxHashSet::default();
        for guard in order.iter().copied() {
            if used.contains(&guard) {
                continue;
            }
            let (stride, step) = &steps[&guard];
            let found = match (flow.loops.innermost(guard), stride) {
                (Some(of), Stride::Term(term)) => self.of_loop(of, guard, *term, step),
                (None, Stride::Term(_)) => None,
                (_, Stride::Constant(_)) => self.of_row(guard, &steps, &mut used),
            };
            used.insert(guard);
            let Some(mut tree) = found else { continue };
            if tree.blocks.iter().any(|block| (self.is_version)(*block)) {
                continue;
            }
            if tree.plan.is_ok() {
                let closed = begins_at_barrier(flow, tree.blocks[0]);
                let obstacle = match () {
                    () if !self.is_kernel => Some(Obstacle::TreeFunction),
                    () if !together.come_by(tree.blocks[0]) && !planted!(Bug::TreeParted) => {
                        Some(Obstacle::TreeOfSomeThreads)
                    }
                    () if !closed && !planted!(Bug::TreeBegins) => Some(Obstacle::TreeBegins),
                    () => None,
                };
                if let Some(obstacle) = obstacle {
                    tree.plan = Err(obstacle);
                }
            }
            trees.push(tree);
        }
        trees
    }

    /// The steps that one warp does by volatile accesses.
    fn of_one_warp(&self) -> Vec<Tree> {
        let flow = self.traced.flow;
        let found = flow.block_ids().filter_map(|block| {
            let accesses: Vec<InstId> = flow
                .block(block)
                .instructions()
                .filter(|at| {
                    let form = &flow.insts[*at].ast.form;
                    form.has(Qualifier::Volatile) && form.space() == StateSpace::Shared
                })
                .collect();
            let store = |at: &&InstId| effect(&flow.insts[**at]) == Effect::Store;
            let stores = accesses.iter().filter(store).count();
            (stores >= FEWEST && accesses.len() >= 2 * stores).then(|| Tree {
                branch: accesses[0],
                accesses: accesses.clone(),
                blocks: vec![block],
                stored: None,
                elements: 64,
                plan: Err(Obstacle::TreeOfOneWarp),
            })
        });
        found.filter(|_| self.is_kernel).collect()
    }
}
