//! Compares the two sides of a branch: whether a thread block leaves the same results on both.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};
use typed_index_collections::{TiVec, ti_vec};

use super::edits::{Edits, Site};
use super::known::Definitions;
use super::memory::Memory;
use super::threads::{Block, Crew, End, Place, is_barrier, is_shuffle};
use super::uniform::{Uniform, live_into, reads};
use super::values::{Action, Unknown, Values};
use crate::bytes::ByteRange;
use crate::cfg::{BlockId, EdgeCondition, Flow, Inst, InstId, PostDominators, RegisterId, reached};
use crate::expr::TermId;
use crate::isa::Opcode;
use crate::isa::limits::WARP_SIZE;
use crate::program::{Array, Role, arrays, results, role};
use crate::ptx::{Function, FunctionKind, Module, StateSpace};

/// Functions with more blocks times registers are not looked at.
const MAX_SIZE: usize = 20_000_000;

/// How many places behind a branch are tried for the one where both sides have met.
const MAX_ENDS: usize = 8;

/// A function with its analyses.
pub(super) struct Subject<'p, 'm, 's> {
    pub function: &'p Function<'s>,
    module: &'p Module<'s>,
    pub flow: &'p Flow<'m, 's>,
    pub definitions: Definitions<'p, 'm, 's>,
    pub behind: PostDominators,
    pub uniform: Uniform,
    pub live: TiVec<BlockId, FxHashSet<RegisterId>>,
}

impl<'p, 'm, 's> Subject<'p, 'm, 's> {
    /// A kernel with its analyses, unless it is too large.
    pub(super) fn of(site: &Site<'p, 'm, 's>) -> Option<Self> {
        let Site { module, function, flow, .. } = *site;
        let size = flow.blocks.len() * flow.registers.len();
        if function.kind != FunctionKind::Entry || size > MAX_SIZE {
            return None;
        }
        let behind = PostDominators::of(flow);
        let uniform = Uniform::of(flow, &behind);
        let definitions = Definitions::of(flow, function);
        let live = live_into(flow);
        Some(Subject { function, module, flow, definitions, behind, uniform, live })
    }
}

/// Leaves out branches whose two sides do the same, with the code of the side that has shuffles.
pub(super) fn bypasses(site: &Site<'_, '_, '_>) -> Edits {
    let (flow, mut edits) = (site.flow, Edits::default());
    let candidate = |block: BlockId| {
        let [one, other] = flow.block(block).successors[..] else { return None };
        if !begins_at_barrier(flow, block) {
            return None;
        }
        [(one, other), (other, one)].into_iter().find_map(|(side, kept)| {
            let EdgeCondition::Predicate(register, true) = side.condition else { return None };
            let mut unused = only_by(flow, (block, side.to)).into_iter();
            let shuffles = unused.any(|block| has_shuffle(flow, block));
            shuffles.then_some((block, register, (side.to, kept.to)))
        })
    };
    let mut found = flow.block_ids().filter_map(candidate).peekable();
    if found.peek().is_none() {
        return edits;
    }
    let Some(subject) = Subject::of(site) else { return edits };
    for (block, register, (side, kept)) in found {
        if !subject.is_bypass(block, register, (side, kept)) {
            continue;
        }
        let (branch, mut own) = (flow.block(block).end.before(), Edits::default());
        let (side, kept) = if planted!(Bug::UndoneOtherSide) { (kept, side) } else { (side, kept) };
        let unused = only_by(flow, (block, side));
        match flow.insts[branch].targets.first() == Some(&flow.block(kept).first) {
            true => own.jump(site, branch),
            false => own.remove(site, [branch].into_iter()),
        }
        own.remove(site, unused.iter().flat_map(|block| flow.block(*block).instructions()));
        edits.join(own);
    }
    edits
}

fn has_shuffle(flow: &Flow<'_, '_>, block: BlockId) -> bool {
    flow.block(block).instructions().any(|at| is_shuffle(&flow.insts[at]))
}

/// The blocks to which all ways lead along one edge.
fn only_by(flow: &Flow<'_, '_>, edge: (BlockId, BlockId)) -> Vec<BlockId> {
    let mut seen = ti_vec![false; flow.blocks.len()];
    let mut work = vec![BlockId(0)];
    while let Some(block) = work.pop() {
        if std::mem::replace(&mut seen[block], true) {
            continue;
        }
        let edges = flow.block(block).successors.iter();
        work.extend(
            edges.map(|one| (one.from, one.to)).filter(|one| *one != edge).map(|one| one.1),
        );
    }
    flow.block_ids().filter(|block| !seen[*block]).collect()
}

/// Whether on all ways to a branch there is a barrier of the whole block, and nothing behind that which accesses memory
/// that changes, or waits.
fn begins_at_barrier(flow: &Flow<'_, '_>, branch: BlockId) -> bool {
    let mut seen = ti_vec![false; flow.blocks.len()];
    let mut work = vec![branch];
    while let Some(block) = work.pop() {
        if std::mem::replace(&mut seen[block], true) {
            continue;
        }
        let mut insts = flow.block(block).instructions().rev();
        match insts.find(|at| !is_quiet(&flow.insts[*at])) {
            Some(at) if is_barrier(&flow.insts[at]) => {}
            Some(_) => return false,
            None => work.extend(flow.block(block).predecessors.iter().map(|edge| edge.from)),
        }
    }
    true
}

/// Whether an instruction of a kernel neither accesses memory that changes nor waits.
fn is_quiet(inst: &Inst<'_, '_>) -> bool {
    match role(inst) {
        Role::Pure | Role::Branch => true,
        Role::Load => inst.ast.form.space() == StateSpace::Param,
        _ => false,
    }
}

impl Subject<'_, '_, '_> {
    /// Whether a thread block in which the predicate of a branch holds does the same on both sides, or none is of such a
    /// shape.
    fn is_bypass(
        &self,
        branch: BlockId,
        predicate: RegisterId,
        (side, kept): (BlockId, BlockId),
    ) -> bool {
        let flow = self.flow;
        let last = &flow.insts[flow.block(branch).end.before()];
        let is_branch = last.ast.form.opcode == Opcode::Bra;
        let together = self.uniform.all_pass(branch) && !self.uniform.varies(predicate);
        let insts = flow.block(branch).instructions();
        let noticed = insts.clone().rev().find(|at| !is_quiet(&flow.insts[*at]));
        let start = noticed.map_or(insts.start, InstId::next);
        let known = self.definitions.known(self.function, (branch, start), predicate);
        if is_branch && known.never {
            return true;
        }
        if !is_branch
            || !together
            || !known.one_row
            || known.most < known.least
            || self.may_have_called(branch)
        {
            return false;
        }
        let mut end = Some(branch);
        for _ in 0..MAX_ENDS {
            end = end.and_then(|block| self.behind.immediate(block));
            let Some(end) = end else { return false };
            let place = Place {
                flow,
                definitions: &self.definitions,
                uniform: &self.uniform,
                behind: &self.behind,
                live: &self.live,
                known: &known,
                start: (branch, start),
                reader: start,
                end: End::Block(end),
                branch: Some((branch, kept)),
                partners: None,
                state: None,
            };
            // One thread may stand for all that are not in the first warp.
            let crews = [Crew::FirstWarp, Crew::All];
            let mut crews = crews.into_iter().skip(usize::from(known.most <= WARP_SIZE));
            if crews.any(|crew| self.is_same(&place, (side, kept), end, crew)) {
                return true;
            }
        }
        false
    }

    /// Whether a function may have been called in front of a branch: some threads may have left the kernel there.
    pub(super) fn may_have_called(&self, branch: BlockId) -> bool {
        let calls = |block: &BlockId| {
            let mut insts = self.flow.block(*block).instructions();
            insts.any(|at| self.flow.insts[at].ast.form.opcode == Opcode::Call)
        };
        self.flow.block_ids().filter(calls).any(|block| {
            let reached = reached(&self.flow.blocks, [block], None);
            reached.contains(&branch)
        })
    }

    /// Whether others than the block's own threads may access its shared memory, or copies go on beside them.
    pub(super) fn has_others(&self) -> bool {
        let plain = [Opcode::Atom, Opcode::Red, Opcode::Ld, Opcode::St];
        self.flow
            .insts
            .iter()
            .any(|inst| role(inst) == Role::Effect && !plain.contains(&inst.ast.form.opcode))
    }

    /// Whether the first instruction of a block that may order anything is a barrier of the whole block.
    fn ends_at_barrier(&self, block: BlockId) -> bool {
        let mut insts = self.flow.block(block).instructions();
        let first = insts.find(|at| !is_quiet(&self.flow.insts[*at]));
        first.is_some_and(|at| is_barrier(&self.flow.insts[at]))
    }

    /// Whether both sides leave the same behind at a block.
    fn is_same(
        &self,
        place: &Place<'_, '_, '_>,
        (side, kept): (BlockId, BlockId),
        end: BlockId,
        crew: Crew,
    ) -> bool {
        let mut values = Values::default();
        let live = self.changed([side, kept], end);
        let mut evaluated = |side| {
            let block = Block::new(place, &mut values, (side, crew));
            evaluate(block, &live)
        };
        let Some(old) = evaluated(kept) else { return false };
        let Some(new) = evaluated(side) else { return false };
        // Each barrier of the block orders the accesses around it: one must be left, unless there was none.
        let ordered = new.barriers > 0 || old.barriers == 0 || self.ends_at_barrier(end);
        let closed = !new.memory.is_open() || self.ends_at_barrier(end);
        let last =
            [&old, &new].into_iter().flat_map(|one| [one.memory.last_thread(), one.shuffling]);
        let present = last.flatten().all(|thread| thread < place.known.least);
        let acts = [&old, &new].iter().any(|one| one.actions.iter().any(|own| !own.is_empty()));
        ordered
            && closed
            && present
            && !acts
            && (planted!(Bug::UndoneOtherValues) || old.registers == new.registers)
            && new.memory.is_within(&old.memory, &|_, _| false)
            && old.memory.difference(&new.memory).next().is_none()
            && self.are_apart(&mut values, [&old.memory, &new.memory])
    }

    /// The registers that may change between blocks and another one, and are live there.
    pub(super) fn changed(
        &self,
        from: impl IntoIterator<Item = BlockId>,
        end: BlockId,
    ) -> Vec<RegisterId> {
        let region = reached(&self.flow.blocks, from, Some(end));
        let insts = region.iter().flat_map(|block| self.flow.block(*block).instructions());
        let mut live: Vec<RegisterId> = insts
            .flat_map(|at| results(&self.flow.insts[at]))
            .filter(|register| self.live[end].contains(register))
            .collect();
        live.sort_unstable();
        live.dedup();
        live
    }

    /// The same in front of an instruction behind a place.
    pub(super) fn changed_before(&self, from: BlockId, to: InstId) -> Option<Vec<RegisterId>> {
        let flow = self.flow;
        let end = self.definitions.block_of(to)?;
        // (More than these are no mistake.)
        let region = reached(&flow.blocks, [from], Some(end));
        let insts = region.iter().flat_map(|block| flow.block(*block).instructions());
        let insts = insts.chain(flow.block(end).first.to(to));
        let mut found: Vec<RegisterId> = insts.flat_map(|at| results(&flow.insts[at])).collect();
        let read_behind = to.to(flow.block(end).end).flat_map(|at| reads(&flow.insts[at]));
        let mut live: FxHashSet<RegisterId> = read_behind.collect();
        let next = flow.block(end).successors.iter();
        live.extend(next.flat_map(|edge| &self.live[edge.to]));
        found.retain(|register| live.contains(register));
        found.sort_unstable();
        found.dedup();
        Some(found)
    }

    /// Whether no two arrays share bytes: there is one, or each is a variable of a known size and accessed within it.
    pub(super) fn are_apart(&self, values: &mut Values, memories: [&Memory; 2]) -> bool {
        let accessed = || memories.into_iter().flat_map(Memory::accessed);
        let mut starts = accessed().map(|(start, _)| start);
        let first = starts.next();
        if starts.all(|start| Some(start) == first) {
            return true;
        }
        let known = self.sizes(values);
        accessed().all(|(start, own)| known.get(&start).is_some_and(|array| array.covers(own)))
    }

    /// By their addresses the bytes of all arrays in shared memory whose size is known.
    pub(super) fn sizes(&self, values: &mut Values) -> FxHashMap<TermId, ByteRange> {
        let arrays = arrays::declared(self.function).into_iter();
        let arrays = arrays.chain(arrays::of_module(self.module));
        let address = |array: Array| {
            let start = values.unknown(Unknown::Address(array.name), 32);
            (start, ByteRange::new(0, array.bytes))
        };
        arrays.map(address).collect()
    }
}

/// The state of all threads at the end; of registers some.
pub(super) fn evaluate(mut block: Block<'_, '_, '_, '_>, live: &[RegisterId]) -> Option<Left> {
    block.run()?;
    let mut registers = Vec::new();
    for register in live {
        let terms = (0..block.at.len() as u32).map(|thread| block.value(thread, *register));
        registers.push((*register, terms.collect::<Option<_>>()?));
    }
    let Block { memory, actions, inherited, barriers, last_shuffling, .. } = block;
    Some(Left { registers, barriers, shuffling: last_shuffling, memory, actions, inherited })
}

/// Registers with their values in each thread.
pub(super) type Registers = Vec<(RegisterId, Vec<TermId>)>;

/// What threads leave behind.
pub(super) struct Left {
    /// By register, the value in each thread.
    pub registers: Registers,
    barriers: u32,
    shuffling: Option<u32>,
    pub memory: Memory,
    /// By thread.
    pub actions: Vec<Vec<Action>>,
    /// The registers whose values at the start decide.
    pub inherited: BTreeSet<RegisterId>,
}
