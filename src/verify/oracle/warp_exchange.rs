//! Stores of a warp's lanes for each other: between two barriers of the warp that only the rewritten program has
//! are stores that the original performs at another place, or in other lanes.
//!
//! In: the evaluation at each of these barriers. Out: an [`Exchange`] if some stores of the original in a row make
//! the same version of memory of the one in front of the barriers. That they are the same stores is an
//! assumption here; it is proved when both programs have been evaluated (`stores_by_other_lanes`).

use crate::cfg::{BlockId, InstId};
use crate::expr::TermId;
use crate::lane::Evaluation;
use crate::program::{Program, Role, Window, role, written};
use crate::ptx::StateSpace;
use crate::record::{Memory, StoreRecord};
use crate::terms::{Kind, Origin, conditions};

/// The state behind a barrier of the warp.
#[derive(Clone, Debug)]
pub(crate) struct Opened {
    block: BlockId,
    at: InstId,
    /// The versions of memory there, simplified by the path condition.
    memory: Memory,
}

/// Stores of the rewritten program that replace stores of the original.
#[derive(Clone, Debug)]
pub(crate) struct WarpExchange {
    /// The block of the rewritten program, and its stores.
    pub block: BlockId,
    pub stores: Vec<InstId>,
    /// The original's stores.
    pub replaced: Vec<InstId>,
    /// For each of these, whether all of its values are those of memory at the first barrier.
    pub current: Vec<bool>,
}

impl Opened {
    /// The state at the barrier that is being evaluated.
    pub(crate) fn new(here: &mut Evaluation<'_, '_>) -> Opened {
        let path = match here.path() {
            Some(path) => conditions::literals(&mut here.terms.arena, path).to_vec(),
            None => Vec::new(),
        };
        let memory =
            here.memory.map(|version| conditions::simplify(&mut here.terms.arena, version, &path));
        Opened { block: here.block, at: here.at, memory }
    }

    /// The exchange between this barrier and the one that is being evaluated, if there are stores between them
    /// and nothing else: then the memory from here on equals the original's behind its stores.
    pub(crate) fn close(self, here: &mut Evaluation<'_, '_>) -> Option<WarpExchange> {
        if self.block != here.block {
            return None;
        }
        let (program, reference) = (here.program, here.reference?);
        let between = self.at.next().to(here.at);
        let is_own = |at: &InstId| {
            let inst = &program.flow.insts[*at];
            let store = role(inst) == Role::Store
                && inst.guard.is_none()
                && reference.matched[*at].is_none();
            store || role(inst) == Role::Pure
        };
        if !between.clone().all(|at| is_own(&at)) {
            return None;
        }
        let is_store = |at: &InstId| role(&program.flow.insts[*at]) == Role::Store;
        let stores: Vec<InstId> = between.filter(is_store).collect();
        let first = *stores.first()?;
        let space = program.flow.insts[first].ast.form.space();
        let alike = |at: &InstId| program.flow.insts[*at].ast.form.space() == space;
        if !matches!(space, StateSpace::Global | StateSpace::Generic) || !stores.iter().all(alike) {
            return None;
        }
        let bytes: u32 = here
            .out
            .stores
            .values()
            .filter(|record| stores.contains(&record.inst))
            .map(|record| record.bytes)
            .sum();
        let replaced = self.chain(here, bytes)?;
        let insts = &reference.program.flow.insts;
        if !replaced.iter().all(|at| insts[*at].ast.form.space() == space) {
            return None;
        }
        // As memory was where the lanes gave each other the values.
        here.memory = self.memory;
        let mut current = Vec::new();
        for &at in &replaced {
            let event = reference.execution.events.iter().find(|event| event.inst == at)?;
            let values = event.operands[1..].to_vec();
            current.push(values.into_iter().all(|value| here.is_current(value)));
        }
        let last = *replaced.last()?;
        for &window in written(space) {
            let kind = Kind::Memory(window, Origin::Event(last));
            here.memory[window as usize] = here.terms.symbol(kind, 32, here.here());
        }
        Some(WarpExchange { block: self.block, stores, replaced, current })
    }

    /// Consecutive stores of the original, of `bytes` bytes in all, that follow the memory behind this barrier and
    /// are performed wherever the barrier is reached.
    fn chain(&self, here: &mut Evaluation<'_, '_>, bytes: u32) -> Option<Vec<InstId>> {
        let reference = here.reference?;
        let records = &reference.execution.stores;
        let mut ends: Vec<(InstId, TermId)> =
            records.iter().map(|(version, record)| (record.inst, *version)).collect();
        ends.sort_unstable();
        let path = here.path()?;
        let known = conditions::literals(&mut here.terms.arena, path);
        for (_, end) in ends {
            let (mut chain, mut left, mut version) = (Vec::new(), bytes, end);
            while let Some(&StoreRecord { inst, before, bytes, .. }) = records.get(&version) {
                here.terms.arena.charge(1);
                chain.push(inst);
                version = before;
                match left.checked_sub(bytes) {
                    Some(rest) if rest > 0 => left = rest,
                    Some(_) if version == self.memory[Window::Global as usize] => {
                        chain.reverse();
                        let Some(block) = row(reference.program, &chain) else { break };
                        let needed = reference.execution.path[block];
                        let needed = needed.map(|n| conditions::literals(&mut here.terms.arena, n));
                        let loops = (reference.program.loop_of(block), here.here());
                        if loops.0 == loops.1
                            && needed.is_some_and(|needed| {
                                conditions::hold(&here.terms.arena, &needed, &known)
                            })
                        {
                            return Some(chain);
                        }
                        break;
                    }
                    _ => break,
                }
            }
        }
        None
    }
}

/// The block of some stores, if all are of one block, unguarded, with nothing but loads and arithmetic between them.
fn row(program: &Program<'_, '_>, chain: &[InstId]) -> Option<BlockId> {
    let (first, last) = (*chain.first()?, *chain.last()?);
    let block = program.flow.block_ids().find(|id| {
        let instructions = program.flow.block(*id).instructions();
        instructions.contains(&first) && instructions.contains(&last)
    })?;
    let side_effect_free = |at: InstId| {
        let inst = &program.flow.insts[at];
        match role(inst) {
            Role::Store => chain.contains(&at) && inst.guard.is_none(),
            role => matches!(role, Role::Pure | Role::Load),
        }
    };
    first.to(last.next()).all(side_effect_free).then_some(block)
}
