//! Registers with one value for the whole thread block, blocks that all of its threads pass alike, and live registers.
//!
//! A register is uniform if all its definitions are computed from uniform values and stand where all threads come
//! by alike. Blocks between a branch on anything else and the place where its sides have met are passed by some threads
//! only, or by some more often than by others: so for loops that threads leave in different iterations.

use rustc_hash::FxHashSet;
use typed_index_collections::{TiVec, ti_vec};

use crate::cfg::{Arg, Base, BlockId, EdgeCondition, Flow, Inst, PostDominators, RegisterId};
use crate::isa::Opcode;
use crate::program::{Role, belief, results, role};
use crate::ptx::StateSpace;

/// Registers and blocks that are uniform over the thread block.
pub(super) struct Uniform {
    /// By register, whether its value may differ between threads.
    varies: TiVec<RegisterId, bool>,
    /// By block, whether threads may pass it in different numbers.
    parted: TiVec<BlockId, bool>,
    /// By block, whether threads are known to take different ways at its end.
    parting: TiVec<BlockId, bool>,
}

impl Uniform {
    /// An optimistic fixpoint: everything is uniform until a definition or branch shows otherwise.
    pub(super) fn of(flow: &Flow<'_, '_>, behind: &PostDominators) -> Uniform {
        let mut found = Uniform {
            varies: ti_vec![false; flow.registers.len()],
            parted: ti_vec![false; flow.blocks.len()],
            parting: ti_vec![false; flow.blocks.len()],
        };
        // A register that may be read before it is written is undefined.
        let at_entry = live_into(flow);
        at_entry[BlockId(0)].iter().for_each(|register| found.varies[*register] = true);
        let mut changed = true;
        while changed {
            changed = false;
            for block in flow.block_ids() {
                changed |= found.visit(flow, behind, block);
            }
        }
        found
    }

    fn visit(&mut self, flow: &Flow<'_, '_>, behind: &PostDominators, block: BlockId) -> bool {
        let mut changed = false;
        for at in flow.block(block).instructions() {
            let inst = &flow.insts[at];
            if self.parted[block] || self.differs(inst) {
                for register in results(inst) {
                    changed |= !std::mem::replace(&mut self.varies[register], true);
                }
            }
        }
        if !self.parting[block] && self.parts(flow, block) {
            self.parting[block] = true;
            for other in behind.between(flow, block) {
                changed |= !std::mem::replace(&mut self.parted[other], true);
            }
        }
        changed
    }

    /// Whether threads that come to the end of a block together may go different ways.
    fn parts(&self, flow: &Flow<'_, '_>, block: BlockId) -> bool {
        let of = flow.block(block);
        let ways = of.successors.len() + usize::from(of.leaves);
        let Some(last) = of.instructions().next_back() else { return false };
        let last = &flow.insts[last];
        let by_index = of.successors.iter().any(|edge| edge.condition == EdgeCondition::Index);
        let guard = last.guard.is_some_and(|(register, _)| self.varies(register));
        ways > 1 && (by_index || guard)
    }

    /// Whether the results of an instruction may differ between threads that execute it together.
    fn differs(&self, inst: &Inst<'_, '_>) -> bool {
        let alike = match role(inst) {
            Role::Pure => true,
            Role::Load => inst.ast.form.space() == StateSpace::Param,
            _ => false,
        };
        let mut differs = !alike;
        inst.args.iter().skip(1).for_each(|arg| {
            each(arg, &mut |leaf| match leaf {
                Leaf::Register(register) => differs |= self.varies(register),
                Leaf::Special(register) => differs |= !belief(register).is_uniform(),
            });
        });
        differs || inst.guard.is_some_and(|(register, _)| self.varies(register))
    }

    /// Whether a register's value may differ between threads.
    pub(super) fn varies(&self, register: RegisterId) -> bool {
        self.varies[register]
    }

    /// Whether all threads of the block come by a place equally often.
    pub(super) fn all_pass(&self, block: BlockId) -> bool {
        !self.parted[block]
    }
}

/// A register that an operand reads.
pub(super) enum Leaf {
    Register(RegisterId),
    Special(crate::isa::Special),
}

/// Visits the registers that an operand reads.
pub(super) fn each(arg: &Arg<'_>, visit: &mut dyn FnMut(Leaf)) {
    match arg {
        Arg::Register(register)
        | Arg::Not(register)
        | Arg::Modified(register)
        | Arg::Sum(register, _) => visit(Leaf::Register(*register)),
        Arg::Special(register) => visit(Leaf::Special(*register)),
        Arg::Vector(parts) => parts.iter().for_each(|part| each(part, visit)),
        Arg::Pair(parts) => parts.iter().for_each(|part| each(part, visit)),
        Arg::Memory { base, rest, .. } => {
            if let Base::Register(register) = base {
                visit(Leaf::Register(*register));
            }
            rest.iter().for_each(|part| each(part, visit));
        }
        Arg::Constant(_) | Arg::Symbol { .. } | Arg::Sink => {}
    }
}

/// The registers that an operand names, bases of addresses as well.
pub(super) fn named(arg: &Arg<'_>) -> Vec<RegisterId> {
    let mut found = Vec::new();
    each(arg, &mut |leaf| {
        if let Leaf::Register(register) = leaf {
            found.push(register);
        }
    });
    found
}

/// The registers that an instruction may read.
pub(super) fn reads(inst: &Inst<'_, '_>) -> Vec<RegisterId> {
    let first_is_result =
        matches!(role(inst), Role::Pure | Role::Load | Role::Observe | Role::Collective)
            && !matches!(
                inst.ast.form.opcode,
                Opcode::Prefetch | Opcode::Prefetchu | Opcode::NanoSleep | Opcode::PmEvent
            );
    let guard = inst.guard.iter().map(|(register, _)| *register);
    let args = inst.args.iter().skip(usize::from(first_is_result));
    guard.chain(args.flat_map(named)).collect()
}

/// For each block the registers whose values may be read there or behind before they are written.
pub(super) fn live_into(flow: &Flow<'_, '_>) -> TiVec<BlockId, FxHashSet<RegisterId>> {
    let mut live: TiVec<BlockId, FxHashSet<RegisterId>> =
        ti_vec![FxHashSet::default(); flow.blocks.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for block in flow.block_ids().rev() {
            let of = flow.block(block);
            let mut now: FxHashSet<RegisterId> = FxHashSet::default();
            for edge in &of.successors {
                now.extend(live[edge.to].iter().copied());
            }
            for at in of.instructions().rev() {
                let inst = &flow.insts[at];
                if inst.guard.is_none() {
                    results(inst).iter().for_each(|register| _ = now.remove(register));
                }
                now.extend(reads(inst));
            }
            if now.len() != live[block].len() {
                live[block] = now;
                changed = true;
            }
        }
    }
    live
}
