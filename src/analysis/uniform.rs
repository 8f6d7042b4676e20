//! Values that are the same in all lanes of a warp, and the places that all threads of a block come to.
//!
//! In: the memory trace, or the control flow of a function. Out, for a warp: whether a symbol, a term or a branch is
//! [uniform](Uniformity) among lanes that have met. For a block: the places that all its threads come to ([`Together`]),
//! as branches on values show that depend on the block alone. A register does if each of its definitions computes it from
//! parameters, constants, extents and the block's number, where all threads come by. (`%tid`, loads of memory and results
//! of warp instructions differ.)

use rustc_hash::FxHashSet;
use typed_index_collections::{TiVec, ti_vec};

use crate::cfg::{
    Arg, BlockId, EdgeCondition, Flow, Inst, LoopForest, LoopId, PostDominators, RegisterId,
    reached,
};
use crate::emulate::{Effect, KernelTrace, Uniformity, definitions, effect, reads};
use crate::expr::{Node, SymbolId, TermId};
use crate::isa::{Opcode, Special};
use crate::ptx::StateSpace;

impl Uniformity {
    /// Whether a symbol has one value for all lanes of a warp that are in the same iteration of every loop.
    pub fn in_iteration(&self, symbol: SymbolId) -> bool {
        self.symbols.get(symbol).copied().unwrap_or(false)
    }

    /// Whether all lanes of a warp have left the loops around `from`, as far as they are not around `place`, in the same
    /// iteration. (A value from a loop that lanes have left is that of each lane's own last iteration.)
    pub fn left_together(
        &self,
        loops: &LoopForest,
        from: Option<LoopId>,
        place: Option<LoopId>,
    ) -> bool {
        let mut left = loops.around(from).take_while(|&around| !loops.nested(place, around));
        left.all(|left| self.exits[left] || planted!(Bug::LoopExit))
    }
}

impl KernelTrace {
    /// Whether a term has one value for all lanes of a warp that have met in a block within the given loop.
    pub fn is_uniform_term(&self, loops: &LoopForest, term: TermId, place: Option<LoopId>) -> bool {
        let (mut work, mut seen) = (vec![term], FxHashSet::default());
        while let Some(next) = work.pop() {
            if !seen.insert(next) {
                continue;
            }
            self.arena.charge(1);
            match self.arena.node(next) {
                Node::Symbol(symbol) => {
                    let from = self.symbols.info(*symbol).created_in;
                    if !self.uniformity.in_iteration(*symbol)
                        || !self.uniformity.left_together(loops, from, place)
                    {
                        return false;
                    }
                }
                _ => work.extend(self.arena.operands(next)),
            }
        }
        true
    }

    /// Whether all lanes of a warp that are together at the end of a block take the same branch.
    pub fn is_uniform_branch(&self, flow: &Flow<'_, '_>, block: BlockId) -> bool {
        let place = flow.loops.innermost(block);
        self.branches[block].is_some_and(|term| self.is_uniform_term(&flow.loops, term, place))
    }
}

/// Functions with more blocks times registers are not looked at.
const MAX_WORK: usize = 20_000_000;

/// The blocks by which all threads come together, and those behind a call.
#[derive(Debug)]
pub struct Together {
    apart: FxHashSet<BlockId>,
    behind_calls: FxHashSet<BlockId>,
}

impl Together {
    /// Looks for them in a kernel.
    pub fn of(flow: &Flow<'_, '_>) -> Together {
        let behind = PostDominators::of(flow);
        if flow.blocks.len() * flow.registers.len() > MAX_WORK {
            let apart = flow.block_ids().collect();
            return Together { apart, behind_calls: FxHashSet::default() };
        }
        let (mut own, mut apart) = (unset(flow), FxHashSet::default());
        let mut parting: FxHashSet<BlockId> = FxHashSet::default();
        loop {
            let before = (own.len(), apart.len());
            for block in flow.block_ids() {
                let is_apart = apart.contains(&block);
                for at in flow.block(block).instructions() {
                    let inst = &flow.insts[at];
                    if is_apart || is_of_thread(inst, &own) {
                        own.extend(definitions(inst));
                    }
                }
                if !parting.contains(&block) && parts(flow, block, &own) {
                    parting.insert(block);
                    apart.extend(behind.between(flow, block));
                }
            }
            if before == (own.len(), apart.len()) {
                break;
            }
        }
        let calls = flow.block_ids().filter(|block| {
            let mut insts = flow.block(*block).instructions();
            insts.any(|at| effect(&flow.insts[at]) == Effect::Call)
        });
        let behind_calls = reached(&flow.blocks, calls, None);
        Together { apart, behind_calls: behind_calls.into_iter().collect() }
    }

    /// Whether all threads of the block come by a place, each as often as the others, and none has left the kernel before.
    pub fn come_by(&self, block: BlockId) -> bool {
        !self.apart.contains(&block) && !self.behind_calls.contains(&block)
    }
}

/// The registers that may be read before they are written: their values are undefined.
fn unset(flow: &Flow<'_, '_>) -> FxHashSet<RegisterId> {
    let mut before: TiVec<BlockId, FxHashSet<RegisterId>> =
        ti_vec![FxHashSet::default(); flow.blocks.len()];
    let mut work: Vec<BlockId> = flow.block_ids().collect();
    while let Some(block) = work.pop() {
        let of = flow.block(block);
        let next = of.successors.iter().flat_map(|edge| before[edge.to].iter().copied());
        let mut read: FxHashSet<RegisterId> = next.collect();
        for at in of.instructions().rev() {
            let inst = &flow.insts[at];
            definitions(inst).iter().for_each(|register| _ = read.remove(register));
            read.extend(reads(inst));
        }
        if read.len() > before[block].len() {
            before[block] = read;
            work.extend(of.predecessors.iter().map(|edge| edge.from));
        }
    }
    before.swap_remove(BlockId(0))
}

/// Whether threads that come to the end of a block may go on in different ways.
fn parts(flow: &Flow<'_, '_>, block: BlockId, own: &FxHashSet<RegisterId>) -> bool {
    let of = flow.block(block);
    let Some(last) = of.instructions().next_back() else { return false };
    let by_index = of.successors.iter().any(|edge| edge.condition == EdgeCondition::Index);
    let guarded = flow.insts[last].guard.is_some_and(|(register, _)| own.contains(&register));
    let several = of.successors.len() > 1 || of.leaves && !of.successors.is_empty();
    several && (by_index || guarded)
}

/// Whether an instruction's result may differ between threads that execute it together.
fn is_of_thread(inst: &Inst<'_, '_>, own: &FxHashSet<RegisterId>) -> bool {
    let is_plain = match effect(inst) {
        Effect::Pure => true,
        Effect::Load => inst.ast.form.space() == StateSpace::Param,
        _ => return true,
    };
    !is_plain
        || inst.ast.form.opcode == Opcode::Unknown
        || reads(inst).iter().any(|register| own.contains(register))
        || inst.args.iter().any(|arg| {
            let differs = |special: &Special| {
                !matches!(special, Special::Ntid(_) | Special::Ctaid(_) | Special::Nctaid(_))
            };
            match arg {
                Arg::Special(special) => differs(special),
                Arg::Vector(parts) => parts.iter().any(|part| match part {
                    Arg::Special(special) => differs(special),
                    _ => false,
                }),
                _ => false,
            }
        })
}
