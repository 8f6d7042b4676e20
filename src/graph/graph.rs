//! The control flow of one function: its instructions cut into blocks, with dominators and loops.

use smallvec::SmallVec;
use typed_index_collections::{TiSlice, TiVec, ti_vec};

use super::block::{Block, BlockId, Edge, EdgeCondition};
use super::convergence::{Divergence, temporal_divergence};
use super::dominators::DominatorTree;
use super::inst::InstId;
use super::loops::LoopForest;
use super::reconvergence_points::ReconvergencePoints;
use super::register::{Register, RegisterId};
use super::resolve::{Flat, Inst, flatten};
use super::scopes::{NameMeaning, Scopes};
use super::transfer::Transfer;
use super::warp::{Members, OwnMask};
use crate::isa::Opcode;
use crate::ptx::Function;
use crate::source::{Diagnostic, SourceFile};

/// The control flow of one function.
#[derive(Debug)]
pub struct Flow<'m, 's> {
    /// All registers.
    pub registers: TiVec<RegisterId, Register<'s>>,
    /// The scopes of names.
    pub scopes: Scopes<'s>,
    /// All instructions in source order.
    pub insts: TiVec<InstId, Inst<'m, 's>>,
    /// The reachable blocks in reverse postorder.
    pub blocks: TiVec<BlockId, Block>,
    /// Who dominates whom.
    pub dominators: DominatorTree,
    /// The loops.
    pub loops: LoopForest,
    /// All reasons why lanes may meet in different iterations of a loop. A loop without one is not
    /// temporally divergent: lanes that are together in it are in the same iteration.
    pub temporal_divergence: Vec<Divergence>,
}

/// Builds the control-flow graph of a body.
///
/// # Errors
/// A register that is not declared, a label that does not exist.
pub fn build<'m, 's>(
    source: &'m SourceFile,
    function: &'m Function<'s>,
) -> Result<Flow<'m, 's>, Diagnostic> {
    let Flat { registers, insts, scopes } = flatten(source, function)?;
    let blocks = blocks(source, &insts);
    let dominators = DominatorTree::new(&blocks);
    let loops = LoopForest::new(&blocks, &dominators);
    let temporal_divergence = temporal_divergence(function.kind, &blocks, &dominators, &loops);
    Ok(Flow { registers, scopes, insts, blocks, dominators, loops, temporal_divergence })
}

impl Flow<'_, '_> {
    /// All block ids in reverse postorder.
    pub fn block_ids(&self) -> impl DoubleEndedIterator<Item = BlockId> + use<> {
        self.blocks.keys()
    }

    /// Whether a register can be named where an instruction stands.
    pub fn visible(&self, register: RegisterId, at: InstId) -> bool {
        let place = self.insts[at].ast.span.start as usize;
        self.names(register, place)
    }

    /// Whether a register's name, in code that is put in front of a byte of the text, means that register.
    pub fn names(&self, register: RegisterId, byte: usize) -> bool {
        let named = &self.registers[register];
        self.scopes.meaning_at(named.name, byte)
            == Some(NameMeaning::Register(self.vector(register)))
    }

    /// The first element of the vector register that a register is an element of; the register itself otherwise.
    pub fn vector(&self, register: RegisterId) -> RegisterId {
        RegisterId(register.0 - self.registers[register].element())
    }

    /// Whether a register can be named at all of some instructions.
    pub fn visible_everywhere(&self, register: RegisterId, places: &[InstId]) -> bool {
        places.iter().all(|&at| self.visible(register, at))
    }

    /// The number of loops around each instruction, summed over all instructions: the steps that it
    /// takes to look at each loop's instructions.
    pub fn nesting(&self) -> usize {
        let of = |id: BlockId| {
            self.loops.depth(self.loops.innermost(id)) * self.block(id).instructions().len()
        };
        self.block_ids().map(of).sum()
    }

    /// A block by its id.
    pub fn block(&self, id: BlockId) -> &Block {
        &self.blocks[id]
    }
}

/// One draft block before numbering: instruction range and `(target instruction, condition)`.
struct Draft {
    first: InstId,
    end: InstId,
    successors: SmallVec<[(usize, EdgeCondition); 2]>,
    leaves: bool,
    synchronises: Option<Members>,
}

fn blocks(source: &SourceFile, insts: &TiSlice<InstId, Inst<'_, '_>>) -> TiVec<BlockId, Block> {
    let drafts = drafts(source, insts);
    let order = reverse_postorder(&drafts);
    let mut number = vec![None; drafts.len()];
    for (new, &old) in order.iter().enumerate() {
        number[old] = Some(BlockId(new as u32));
    }
    let mut blocks: TiVec<BlockId, Block> = TiVec::with_capacity(order.len());
    for &old in &order {
        let draft = &drafts[old];
        let from = blocks.next_key();
        let successors = draft
            .successors
            .iter()
            .filter_map(|&(to, condition)| Some(Edge { from, to: number[to]?, condition }))
            .collect();
        blocks.push(Block {
            first: draft.first,
            end: draft.end,
            successors,
            predecessors: SmallVec::new(),
            leaves: draft.leaves,
            traps: draft.leaves
                && insts[draft.first..draft.end]
                    .last()
                    .is_some_and(|last| last.ast.form.opcode == Opcode::Trap),
            synchronises: draft.synchronises,
        });
    }
    for from in blocks.keys() {
        for edge in blocks[from].successors.clone() {
            blocks[edge.to].predecessors.push(edge);
        }
    }
    blocks
}

fn drafts(source: &SourceFile, insts: &TiSlice<InstId, Inst<'_, '_>>) -> Vec<Draft> {
    let mut leader: TiVec<InstId, bool> = ti_vec![false; insts.len() + 1];
    leader[InstId(0)] = true;
    for inst in insts {
        inst.targets.iter().for_each(|&target| leader[target] = true);
    }
    // A call ends a block: the lanes of a warp may come back from it one by one, or not at all. So does
    // whatever lanes may pass one by one.
    let target = leader.clone();
    let mut own = OwnMask::new(insts);
    let mut synchronises: TiVec<InstId, Option<Members>> = ti_vec![None; insts.len()];
    for (at, inst) in insts.iter_enumerated() {
        // Lanes that have not taken the branch are in the same straight line still.
        let passed = at > InstId(0)
            && insts[at.before()].guard.is_some()
            && Transfer::of(insts[at.before()].ast.form.opcode) == Transfer::Branch;
        if target[at] || leader[at] && !passed {
            own.forget();
        }
        if target[at] {
            own.forget_constants();
        }
        synchronises[at] = own.step(source, inst);
        let synchronised = synchronises[at].is_some() && !planted!(Bug::MaskAcrossSync);
        if synchronised || Transfer::of(inst.ast.form.opcode) != Transfer::Sequential {
            leader[at.next()] = true;
        }
    }
    // The block behind the last instruction: where control falls off the end, or a label stands.
    leader[insts.next_key()] = true;
    let starts: Vec<InstId> = leader.keys().filter(|&at| leader[at]).collect();
    let mut draft_of: TiVec<InstId, usize> = ti_vec![0; insts.len() + 1];
    starts.iter().enumerate().for_each(|(draft, &at)| draft_of[at] = draft);
    starts
        .iter()
        .enumerate()
        .map(|(index, &first)| {
            let end = starts.get(index + 1).copied().unwrap_or(insts.next_key());
            let (successors, leaves) = ways_out(insts, end, first == end, &draft_of);
            let synchronises = synchronises[first..end].iter().find_map(|members| *members);
            Draft { first, end, successors, leaves, synchronises }
        })
        .collect()
}

fn ways_out(
    insts: &TiSlice<InstId, Inst<'_, '_>>,
    end: InstId,
    empty: bool,
    draft_of: &TiSlice<InstId, usize>,
) -> (SmallVec<[(usize, EdgeCondition); 2]>, bool) {
    let mut out: SmallVec<[(usize, EdgeCondition); 2]> = SmallVec::new();
    if empty {
        return (out, true);
    }
    let last = &insts[end.before()];
    let when = |taken: bool| match last.guard {
        None => EdgeCondition::Always,
        Some((register, negated)) => EdgeCondition::Predicate(register, taken != negated),
    };
    let next = (draft_of[end], when(false));
    let transfer = Transfer::of(last.ast.form.opcode);
    match transfer {
        Transfer::Sequential | Transfer::Call => out.push((draft_of[end], EdgeCondition::Always)),
        Transfer::Branch => {
            let target = draft_of[last.targets[0]];
            out.push((target, when(true)));
            if last.guard.is_some() {
                // Both ways to one place is not a branch at all.
                if target == next.0 {
                    out[0].1 = EdgeCondition::Always;
                } else {
                    out.push(next);
                }
            }
        }
        Transfer::IndexedBranch => {
            let mut targets: Vec<usize> =
                last.targets.iter().map(|&target| draft_of[target]).collect();
            if last.guard.is_some() {
                targets.push(next.0);
            }
            targets.sort_unstable();
            targets.dedup();
            out.extend(targets.into_iter().map(|target| (target, EdgeCondition::Index)));
        }
        Transfer::Leave if last.guard.is_some() => out.push(next),
        Transfer::Leave => {}
    }
    (out, transfer == Transfer::Leave)
}

fn reverse_postorder(drafts: &[Draft]) -> Vec<usize> {
    let mut seen = vec![false; drafts.len()];
    let mut order = Vec::with_capacity(drafts.len());
    let mut stack = vec![(0, 0)];
    seen[0] = true;
    while let Some((block, next)) = stack.last_mut() {
        // The last successor first: then the first one comes early in the reversed order and the
        // blocks stay close to source order.
        let successors = &drafts[*block].successors;
        if *next < successors.len() {
            let (to, _) = successors[successors.len() - 1 - *next];
            *next += 1;
            if !std::mem::replace(&mut seen[to], true) {
                stack.push((to, 0));
            }
        } else {
            order.push(*block);
            stack.pop();
        }
    }
    order.reverse();
    order
}

/// All blocks at which the lanes that part at the end of `branch` may meet again as far as control
/// flow decides, sorted; `None` if they may meet anywhere, or the function is too large.
pub fn meeting_places(flow: &Flow<'_, '_>, branch: BlockId) -> Option<Vec<BlockId>> {
    let Flow { blocks, dominators, loops, .. } = flow;
    let reconvergence_points = ReconvergencePoints::new(blocks, dominators, loops)?;
    let mut places: Vec<BlockId> = reconvergence_points
        .of(branch)?
        .flat_map(|ways| ways.places(&flow.loops, branch))
        .collect();
    places.sort_unstable();
    places.dedup();
    Some(places)
}
