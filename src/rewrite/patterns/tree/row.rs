//! Trees in straight code: steps one behind the other.

use rustc_hash::FxHashSet;

use super::around::{ends_at_barrier, is_read, thread};
use super::search::{FEWEST, FIRST, Plan, Search, Steps, Tree, accesses};
use super::step::{Part, Step};
use super::walk::Walk;
use crate::cfg::{BlockId, InstId};
use crate::collective::Obstacle;
use crate::emulate::definitions;

impl Search<'_, '_, '_, '_> {
    /// The tree that begins with a step.
    pub(super) fn of_row(
        &self,
        guard: BlockId,
        steps: &Steps,
        used: &mut FxHashSet<BlockId>,
    ) -> Option<Tree> {
        let mut row: Vec<(&Step, u64)> = Vec::new();
        let mut blocks = Vec::new();
        let mut barriers = Vec::new();
        let (mut next, mut stopped, mut open) = (Some(guard), None, None);
        while let Some(guard) = next {
            let step = match steps.get(&guard) {
                Some((_, Ok(step))) => step,
                Some((_, Err(obstacle))) => {
                    stopped = Some(obstacle.clone());
                    used.insert(guard);
                    break;
                }
                None => break,
            };
            let line = (self.line)(self.traced.flow.block(guard).end.before());
            let Some(stride) = self.traced.is_below(step, None) else {
                stopped = Some(Obstacle::TreeGuard(line));
                used.insert(guard);
                break;
            };
            if row.last().is_some_and(|(before, wide)| {
                *wide != 2 * stride || !same_arrays(&before.parts, &step.parts)
            }) {
                break;
            }
            used.insert(guard);
            row.push((step, stride));
            blocks.extend([guard, step.body]);
            match self.to_next(step.join, steps, &mut blocks) {
                Ok((to, found)) => {
                    next = Some(to);
                    barriers.extend(found);
                    if found.is_none() {
                        open.get_or_insert(Obstacle::TreeNoBarrier(line));
                    }
                }
                Err(obstacle) => {
                    stopped = obstacle;
                    break;
                }
            }
        }
        self.row(&row, blocks, &barriers, (stopped, open))
    }

    fn row(
        &self,
        row: &[(&Step, u64)],
        mut blocks: Vec<BlockId>,
        barriers: &[InstId],
        (stopped, open): (Option<Obstacle>, Option<Obstacle>),
    ) -> Option<Tree> {
        let flow = self.traced.flow;
        let first = row.iter().position(|(_, stride)| FIRST.contains(stride));
        let replaced = first.map_or(&row[row.len()..], |first| &row[first..]);
        let shown = replaced.first().or(row.first())?;
        let enough = replaced.len() >= FEWEST;
        // A step or two by themselves are no tree, and with larger strides than a warp's nothing can be done.
        if !enough && (row.len() < FEWEST || first.is_none() && stopped.is_none()) {
            return None;
        }
        let steps: Vec<(Step, u64)> =
            replaced.iter().map(|(step, stride)| ((*step).clone(), *stride)).collect();
        let bodies: Vec<BlockId> = replaced.iter().map(|(step, _)| step.body).collect();
        let plan = match open.or(stopped.filter(|_| !enough)) {
            Some(obstacle) => Err(obstacle),
            None if !enough => Err(Obstacle::TreeStrides),
            None => {
                let last = replaced.last().map(|(step, _)| step.join)?;
                let plan = Plan {
                    steps,
                    begins: None,
                    sets: Vec::new(),
                    behind: last,
                    barrier: barriers.last().copied().filter(|_| !ends_at_barrier(flow, last)),
                    barriers: replaced.len() as u32 - 1,
                    thread: thread(flow, self.traced.trace, shown.0.guard),
                };
                let from = blocks.iter().position(|block| *block == shown.0.guard)?;
                let end = blocks.iter().position(|block| Some(block) == bodies.last())?;
                self.unread(&blocks[from..=end], last, &bodies)
                    .and_then(|()| self.checked(plan, &bodies))
            }
        };
        if let Some(from) = blocks.iter().position(|block| *block == shown.0.guard) {
            blocks.drain(..from);
        }
        Some(Tree {
            branch: flow.block(shown.0.guard).end.before(),
            accesses: replaced.iter().flat_map(|(step, _)| accesses(step)).collect(),
            blocks,
            stored: shown.0.parts.first().map(|part| part.stored),
            elements: 2 * shown.1,
            plan,
        })
    }

    /// The step behind the place where a step's threads meet, and a barrier on the way, if there is one.
    fn to_next(
        &self,
        join: BlockId,
        steps: &Steps,
        blocks: &mut Vec<BlockId>,
    ) -> Result<(BlockId, Option<InstId>), Option<Obstacle>> {
        let flow = self.traced.flow;
        let mut walk = Walk::default();
        let (mut block, mut passed) = (join, Vec::new());
        loop {
            let of = flow.block(block);
            if block != join && of.predecessors.len() != 1 || passed.len() > 8 {
                return Err(None);
            }
            for at in of.instructions() {
                walk.pass(flow, at, self.line).map_err(Some)?;
            }
            if steps.contains_key(&block) {
                break;
            }
            passed.push(block);
            let [edge] = of.successors[..] else { return Err(None) };
            block = edge.to;
        }
        blocks.extend(passed);
        Ok((block, walk.barrier))
    }

    /// That nothing which the blocks of replaced steps write is read behind them, bodies left aside.
    fn unread(
        &self,
        blocks: &[BlockId],
        join: BlockId,
        bodies: &[BlockId],
    ) -> Result<(), Obstacle> {
        let flow = self.traced.flow;
        let first = blocks.first().copied();
        let others =
            blocks.iter().filter(|block| !bodies.contains(block) && Some(**block) != first);
        for at in others.flat_map(|block| flow.block(*block).instructions()) {
            for register in definitions(&flow.insts[at]) {
                if is_read(flow, join, register) {
                    let name = flow.registers[register].to_string();
                    return Err(Obstacle::TreeRegister(name));
                }
            }
        }
        Ok(())
    }
}

/// Whether two steps are about the same arrays, in any order.
fn same_arrays(one: &[Part], other: &[Part]) -> bool {
    let is_in = |part: &Part| {
        other.iter().any(|known| {
            (known.own, known.bytes, known.carried) == (part.own, part.bytes, part.carried)
                && (!part.carried || known.stored == part.stored)
        })
    };
    one.len() == other.len() && one.iter().all(is_in)
}
