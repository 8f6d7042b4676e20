//! Trees in loops: one step whose stride is a value of the loop.
//!
//! The loop is followed on numbers from the iteration with a stride of 32 to its end.

use rustc_hash::FxHashMap;

use super::around::{has_barrier, is_read, thread};
use super::search::{FEWEST, FIRST, Plan, Search, Set, Tree, accesses};
use super::step::Step;
use super::walk::Walk;
use crate::cfg::{Arg, BlockId, EdgeCondition, LoopId, RegisterId};
use crate::collective::Obstacle;
use crate::emulate::definitions;
use crate::expr::{SymbolId, TermId};
use crate::isa::Opcode;

/// The most iterations of a loop that are followed.
const MAX_ITERATIONS: usize = 16;

impl Search<'_, '_, '_, '_> {
    /// The tree that one step in a loop is.
    pub(super) fn of_loop(
        &self,
        of: LoopId,
        guard: BlockId,
        term: TermId,
        step: &Result<Step, Obstacle>,
    ) -> Option<Tree> {
        let flow = self.traced.flow;
        let branch = flow.block(guard).end.before();
        let blocks: Vec<BlockId> = std::iter::once(guard)
            .chain(
                flow.block_ids().filter(|block| *block != guard && flow.loops.contains(of, *block)),
            )
            .collect();
        let tree = |accesses, stored, elements, plan| Tree {
            branch,
            accesses,
            blocks: blocks.clone(),
            stored,
            elements,
            plan,
        };
        let step = match step {
            Ok(step) => step,
            // Other loops with a load and a store under a condition are not listed.
            Err(obstacle) => {
                let waits = blocks.iter().any(|block| has_barrier(flow, *block));
                let is_tree =
                    waits && self.traced.loop_value(term).is_some() && self.halves(&blocks);
                return is_tree.then(|| tree(Vec::new(), None, 0, Err(obstacle.clone())));
            }
        };
        let found = self.traced.loop_value(term);
        let plan = match found {
            Some((symbol, register)) => self.iterations(of, step, (symbol, register)),
            None => Err(Obstacle::TreeStrides),
        };
        let elements = plan.as_ref().map_or(0, |plan| 2 * plan.steps[0].1);
        let first = step.parts.first()?;
        Some(tree(accesses(step), Some(first.stored), elements, plan))
    }

    /// Whether some instruction of a loop halves a number.
    fn halves(&self, blocks: &[BlockId]) -> bool {
        let flow = self.traced.flow;
        let mut insts = blocks.iter().flat_map(|block| flow.block(*block).instructions());
        insts.any(|at| {
            let inst = &flow.insts[at];
            let by = |number: i64| {
                matches!(inst.args.last(), Some(Arg::Constant(by)) if by.as_integer() == Some(number))
            };
            match inst.ast.form.opcode {
                Opcode::Shr => by(1),
                Opcode::Div => by(2),
                _ => false,
            }
        })
    }

    /// Follows a loop from the iteration with a stride of 32 to its end.
    fn iterations(
        &self,
        of: LoopId,
        step: &Step,
        (symbol, register): (SymbolId, RegisterId),
    ) -> Result<Plan, Obstacle> {
        let word = self.traced.flow.registers[register].ty.bits() == 32;
        let starts = [32, 64].into_iter().filter(|_| word);
        let mut reason = Obstacle::TreeStrides;
        for value in starts {
            match self.followed(of, step, (symbol, register), value) {
                Ok(plan) => return Ok(plan),
                Err(Obstacle::TreeStrides) => {}
                Err(obstacle) => reason = obstacle,
            }
        }
        Err(reason)
    }

    fn followed(
        &self,
        of: LoopId,
        step: &Step,
        (symbol, register): (SymbolId, RegisterId),
        value: u64,
    ) -> Result<Plan, Obstacle> {
        let flow = self.traced.flow;
        let header = flow.loops.get(of).header;
        let known = FxHashMap::from_iter([(register, value)]);
        let mut walk = Walk { known, ..Walk::default() };
        let mut block = header;
        let mut at_header = value;
        loop {
            if block == header && !walk.strides.is_empty() {
                at_header = *walk.known.get(&register).ok_or(Obstacle::TreeStrides)?;
            }
            if walk.strides.len() > MAX_ITERATIONS {
                return Err(Obstacle::TreeStrides);
            }
            for at in flow.block(block).instructions() {
                walk.pass(flow, at, self.line)?;
            }
            let next = if block == step.guard {
                let of_loop = Some((symbol, at_header));
                let line = (self.line)(flow.block(block).end.before());
                let stride =
                    self.traced.is_below(step, of_loop).ok_or(Obstacle::TreeGuard(line))?;
                self.next_stride(&mut walk, stride, line)?;
                for at in flow.block(step.body).instructions() {
                    definitions(&flow.insts[at]).iter().for_each(|one| _ = walk.known.remove(one));
                }
                step.join
            } else {
                self.next(block, &walk.known)?
            };
            block = next;
            if !flow.loops.contains(of, next) {
                break;
            }
        }
        let Some((_, last)) = walk.strides.last() else { return Err(Obstacle::TreeStrides) };
        if *last != 1 || walk.strides.len() < FEWEST {
            return Err(Obstacle::TreeStrides);
        }
        let sets = self.sets(of, (step, block), &walk)?;
        let steps = walk.strides.iter().map(|(_, stride)| (step.clone(), *stride)).collect();
        let plan = Plan {
            steps,
            begins: Some(Set { register, value }),
            sets,
            behind: block,
            barrier: walk.barrier,
            barriers: walk.barriers,
            thread: thread(flow, self.traced.trace, step.guard),
        };
        self.checked(plan, &[step.body])
    }

    /// Adds a step to those passed: its stride must be half of the one before, and a barrier must stand between them.
    fn next_stride(&self, walk: &mut Walk, stride: u64, line: u32) -> Result<(), Obstacle> {
        match walk.strides.last() {
            None if stride != FIRST[0] => return Err(Obstacle::TreeStrides),
            Some((_, before)) if *before != 2 * stride => return Err(Obstacle::TreeStrides),
            Some((barriers, _)) if *barriers == walk.barriers => {
                return Err(Obstacle::TreeNoBarrier(line));
            }
            _ => {}
        }
        walk.strides.push((walk.barriers, stride));
        Ok(())
    }

    /// The block behind another one, where known registers decide.
    fn next(
        &self,
        block: BlockId,
        known: &FxHashMap<RegisterId, u64>,
    ) -> Result<BlockId, Obstacle> {
        let of = self.traced.flow.block(block);
        let taken = of.successors.iter().find(|edge| match edge.condition {
            EdgeCondition::Always => true,
            EdgeCondition::Predicate(register, wanted) => {
                known.get(&register).is_some_and(|value| (*value != 0) == wanted)
            }
            EdgeCondition::Index => false,
        });
        let taken = taken.filter(|_| !of.leaves);
        taken.map(|edge| edge.to).ok_or(Obstacle::TreeStrides)
    }

    /// The registers that the loop changes and that are read behind it.
    fn sets(
        &self,
        of: LoopId,
        (step, behind): (&Step, BlockId),
        walk: &Walk,
    ) -> Result<Vec<Set>, Obstacle> {
        let flow = self.traced.flow;
        let blocks = flow.block_ids().filter(|block| flow.loops.contains(of, *block));
        let insts = blocks.filter(|block| *block != step.body);
        let changed = insts.flat_map(|block| flow.block(block).instructions());
        let mut changed: Vec<RegisterId> =
            changed.flat_map(|at| definitions(&flow.insts[at])).collect();
        changed.sort_unstable();
        changed.dedup();
        let mut sets = Vec::new();
        for register in changed.into_iter().filter(|one| is_read(flow, behind, *one)) {
            let named = &flow.registers[register];
            match walk.known.get(&register) {
                Some(value) if named.ty.bits() == 32 => sets.push(Set { register, value: *value }),
                _ => return Err(Obstacle::TreeRegister(named.to_string())),
            }
        }
        Ok(sets)
    }
}
