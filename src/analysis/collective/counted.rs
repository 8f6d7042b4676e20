//! Loops of straight code around shuffles whose number of iterations is known, evaluated to their end.
//!
//! In: the control flow of a function. Out: each [`CountedLoop`], with a chain that has the tables that registers have
//! where the loop is entered and where it is left. Values at the entry that have come from other lanes are leaves: where a
//! warp lacks lanes they may differ in any way.

use std::rc::Rc;

use super::chain::{Chain, Chains, is_exchange};
use super::members::has_all_members;
use super::value::{LANES, Table};
use crate::cfg::{BlockId, Edge, EdgeCondition, InstId, InstRange, RegisterId};
use crate::emulate::{Effect, effect, reads};
use crate::isa::Opcode;

/// The most iterations of a loop that are followed: as many as a network has steps that visit each lane.
const MAX_ITERATIONS: u32 = LANES as u32;

/// The most blocks in front of a loop that are evaluated.
const MAX_BLOCKS: usize = 16;

/// A loop of straight code, evaluated to its end.
#[derive(Debug)]
pub(super) struct CountedLoop {
    /// The loop's blocks, which stand one behind the other in the text.
    pub blocks: Vec<BlockId>,
    /// The loop's instructions, the branch included.
    pub insts: InstRange,
    /// The registers that the loop reads as they are at its entry, each with its table there.
    pub entered: Vec<(RegisterId, Rc<Table>)>,
    /// How often the loop is executed.
    pub iterations: u32,
    /// The block behind the loop.
    pub exit: BlockId,
    /// Whether the instruction in front in the text leads to the loop by falling through.
    pub is_behind_entry: bool,
    /// The shuffles whose member mask is not the constant of all lanes in each iteration.
    pub partial: Vec<InstId>,
    /// An instruction that does something else than exchange and combine values.
    pub work: Option<InstId>,
}

/// The iterations of a loop.
#[derive(Default)]
struct Run {
    /// The registers that the loop reads as they are at its entry, each with its table there.
    entered: Vec<(RegisterId, Rc<Table>)>,
    /// The shuffles whose member mask is not the constant of all lanes in each iteration.
    partial: Vec<InstId>,
    /// How often the loop is executed.
    iterations: u32,
}

/// A loop of straight code.
struct Tested {
    /// Its blocks, in order.
    blocks: Vec<BlockId>,
    /// The edge of the test that leads to a further iteration, or into the rest of one.
    again: Edge,
    /// The block behind the loop.
    exit: BlockId,
    /// The branch of the test.
    test: InstId,
}

impl Chains<'_, '_, '_> {
    /// The loops of straight code around shuffles whose number of iterations is known, each with a chain: the code in front,
    /// if that leads nowhere else, and the loop. The steps are those of the last iteration.
    pub(super) fn counted_loops(&mut self) -> Vec<(Chain, CountedLoop)> {
        let headers: Vec<BlockId> = self.flow.loops.loops.iter().map(|one| one.header).collect();
        headers.into_iter().filter_map(|header| self.counted_loop(header)).collect()
    }

    fn counted_loop(&mut self, header: BlockId) -> Option<(Chain, CountedLoop)> {
        let flow = self.flow;
        let Tested { blocks, again, exit, test } = self.tested(header)?;
        let latch = *blocks.last()?;
        let is_adjacent = |pair: &[BlockId]| flow.block(pair[0]).end == flow.block(pair[1]).first;
        if !blocks.windows(2).all(is_adjacent) {
            return None;
        }
        let insts = flow.block(header).first.to(flow.block(latch).end);
        let is_shuffle = |at: InstId| flow.insts[at].ast.form.opcode == Opcode::Shfl;
        insts.clone().find(|at| is_shuffle(*at))?;
        // Behind the code that takes the loop's place comes the next instruction of the text.
        if flow.block(exit).first != insts.end {
            return None;
        }
        let EdgeCondition::Predicate(predicate, again) = again.condition else { return None };
        let [_, entry] = by_target(&flow.block(header).predecessors, |edge| edge.from == latch)?;
        if entry.from > header {
            return None;
        }
        let (mut chain, is_joined) = self.in_front(entry.from, header);
        // Places in the chain are compared by the text.
        if !chain.insts.is_sorted() || chain.insts.last().is_some_and(|last| *last > insts.start) {
            return None;
        }
        let run = self.run_to_end(&mut chain, (&insts, test), (predicate, again))?;
        let Run { entered, partial, iterations } = run;
        if is_joined {
            chain.blocks.extend(&blocks);
        } else {
            (chain.blocks, chain.insts) = (blocks.clone(), insts.clone().collect());
        }
        chain.insts.sort_unstable();
        chain.insts.dedup();
        let branch = insts.end.before();
        let is_work = |at: &InstId| {
            let inst = &flow.insts[*at];
            *at != branch && *at != test && !is_exchange(inst) && effect(inst) != Effect::Pure
        };
        let scope = |at: InstId| flow.scopes.scope_at(flow.insts[at].ast.span.start as usize);
        let in_front = (insts.start > InstId(0)).then(|| insts.start.before());
        let found = CountedLoop {
            is_behind_entry: flow.block(entry.from).end == insts.start
                && in_front.is_some_and(|at| {
                    scope(at) == scope(branch) && !flow.insts[at].targets.contains(&insts.start)
                }),
            work: insts.clone().find(is_work),
            exit,
            blocks,
            insts,
            entered,
            iterations,
            partial,
        };
        Some((chain, found))
    }

    /// Evaluates all iterations of a loop.
    fn run_to_end(
        &mut self,
        chain: &mut Chain,
        (insts, test): (&InstRange, InstId),
        (predicate, again): (RegisterId, bool),
    ) -> Option<Run> {
        // Up to the test and behind it.
        let (first, second) = (insts.start.to(test.next()), test.next().to(insts.end));
        let is_tested_first = second.start < second.end;
        let ends_early = planted!(Bug::CollectiveIteration);
        let mut run = Run::default();
        let mut heads = Vec::new();
        loop {
            if ends_early {
                heads.push(chain.written.clone());
            }
            self.iterate(chain, (insts, first.clone()), &mut run)?;
            run.iterations += u32::from(!is_tested_first);
            let taken = self.of(chain, predicate);
            let decided = self.values.constant_of(taken[0])?;
            if taken.iter().any(|one| *one != taken[0]) {
                return None;
            }
            if (decided != 0) != again {
                break;
            }
            self.iterate(chain, (insts, second.clone()), &mut run)?;
            run.iterations += u32::from(is_tested_first);
            if run.iterations > MAX_ITERATIONS {
                return None;
            }
        }
        if let Some(head) = heads.into_iter().rev().nth(usize::from(is_tested_first)) {
            chain.written = head;
        }
        (run.iterations > 0).then_some(run)
    }

    /// The blocks of a loop of straight code with one test, at its end or behind its first block.
    fn tested(&self, header: BlockId) -> Option<Tested> {
        let flow = self.flow;
        let blocks = self.blocks(header);
        let last = *blocks.last()?;
        let branch = flow.block(last).end.before();
        let successors = &flow.block(last).successors;
        if let Some([again, exit]) = by_target(successors, |edge| edge.to == header) {
            return Some(Tested { blocks, again, exit: exit.to, test: branch });
        }
        let leads_back = |edge: &Edge| {
            let body = self.blocks(edge.to);
            let last = flow.block(body[body.len() - 1]);
            matches!(last.successors[..], [back] if back.to == header) && !last.leaves
        };
        let [again, exit] = by_target(successors, leads_back)?;
        let is_only_way = flow.block(again.to).predecessors.len() == 1;
        let body = self.blocks(again.to);
        let blocks = blocks.into_iter().chain(body).collect();
        is_only_way.then_some(Tested { blocks, again, exit: exit.to, test: branch })
    }

    /// Evaluates a part of one iteration of a loop; notes the registers that are read as they are at its entry, and
    /// shuffles of some lanes.
    fn iterate(
        &mut self,
        chain: &mut Chain,
        (insts, part): (&InstRange, InstRange),
        run: &mut Run,
    ) -> Option<()> {
        for at in part {
            if self.is_full() {
                return None;
            }
            let inst = &self.flow.insts[at];
            for register in reads(inst) {
                let writer = chain.written.get(&register);
                let is_own = writer.is_some_and(|(from, _)| insts.contains(from));
                if !is_own && run.entered.iter().all(|(known, _)| *known != register) {
                    let table = self.of(chain, register);
                    run.entered.push((register, table));
                }
            }
            self.push(chain, at);
            if inst.ast.form.opcode == Opcode::Shfl && !has_all_members(self, chain, at) {
                run.partial.push(at);
            }
        }
        Some(())
    }

    /// The only way to a loop, evaluated, and whether it leads nowhere else.
    fn in_front(&mut self, last: BlockId, header: BlockId) -> (Chain, bool) {
        let flow = self.flow;
        let (mut blocks, mut is_joined) = (vec![last], true);
        loop {
            let block = flow.block(blocks[blocks.len() - 1]);
            let next = if blocks.len() == 1 { header } else { blocks[blocks.len() - 2] };
            is_joined &= !block.leaves && block.successors.iter().all(|edge| edge.to == next);
            match block.predecessors[..] {
                [edge] if edge.from < edge.to && blocks.len() < MAX_BLOCKS => {
                    blocks.push(edge.from);
                }
                _ => break,
            }
        }
        blocks.reverse();
        let insts = blocks.iter().flat_map(|block| flow.block(*block).instructions());
        let insts: Vec<InstId> = insts.collect();
        let mut chain = self.evaluate(blocks, insts);
        let crossing: Vec<RegisterId> = chain
            .written
            .iter()
            .filter(|(_, (at, table))| {
                let is_known = table.iter().all(|one| self.values.constant_of(*one).is_some());
                chain.steps[at].crosses && !is_known
            })
            .map(|(register, _)| *register)
            .collect();
        // (In any order: each gets a leaf of its own.)
        for register in crossing {
            let table = Rc::new(self.values.fresh());
            chain.written.entry(register).and_modify(|known| known.1 = table);
        }
        (chain, is_joined)
    }
}

/// Of two edges the one that is asked for and the other one.
fn by_target(edges: &[Edge], is_first: impl Fn(&Edge) -> bool) -> Option<[Edge; 2]> {
    let [a, b] = edges[..] else { return None };
    match (is_first(&a), is_first(&b)) {
        (true, false) => Some([a, b]),
        (false, true) => Some([b, a]),
        _ => None,
    }
}
