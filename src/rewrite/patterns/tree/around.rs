//! The code around the steps of a tree: barriers, readers of registers, the thread's number.

use rustc_hash::FxHashSet;

use crate::cfg::{Arg, BlockId, Flow, Inst, RegisterId};
use crate::emulate::{Effect, KernelTrace, definitions, effect, reads};
use crate::isa::{Opcode, Qualifier, Special};
use crate::ptx::StateSpace;

/// Whether a register may be read from the start of a block on before it is written.
pub(super) fn is_read(flow: &Flow<'_, '_>, from: BlockId, register: RegisterId) -> bool {
    let mut seen: FxHashSet<BlockId> = FxHashSet::default();
    let mut work = vec![from];
    while let Some(block) = work.pop() {
        if !seen.insert(block) {
            continue;
        }
        let mut written = false;
        for at in flow.block(block).instructions() {
            let inst = &flow.insts[at];
            if reads(inst).contains(&register) {
                return true;
            }
            if definitions(inst).contains(&register) {
                written = true;
                break;
            }
        }
        if !written {
            work.extend(flow.block(block).successors.iter().map(|edge| edge.to));
        }
    }
    false
}

/// Whether a barrier of the whole block stands in front of the end of a block on all ways, and nothing else but
/// arithmetic in between.
pub(super) fn begins_at_barrier(flow: &Flow<'_, '_>, guard: BlockId) -> bool {
    let mut seen: FxHashSet<BlockId> = FxHashSet::default();
    let mut work = vec![guard];
    while let Some(block) = work.pop() {
        if !seen.insert(block) {
            continue;
        }
        let noticed = flow.block(block).instructions().rev().find(|at| !is_quiet(&flow.insts[*at]));
        match noticed {
            Some(at) if is_barrier(&flow.insts[at]) => {}
            Some(_) => return false,
            None => {
                work.extend(flow.block(block).predecessors.iter().map(|edge| edge.from));
            }
        }
    }
    true
}

/// Whether a barrier of the whole block is the first thing in a block that others notice.
pub(super) fn ends_at_barrier(flow: &Flow<'_, '_>, block: BlockId) -> bool {
    let mut insts = flow.block(block).instructions();
    let noticed = insts.find(|at| !is_quiet(&flow.insts[*at]));
    noticed.is_some_and(|at| is_barrier(&flow.insts[at]))
}

/// Whether a block has a barrier of the whole block.
pub(super) fn has_barrier(flow: &Flow<'_, '_>, block: BlockId) -> bool {
    flow.block(block).instructions().any(|at| is_barrier(&flow.insts[at]))
}

/// A register that holds `%tid.x` at the end of a block.
pub(super) fn thread(
    flow: &Flow<'_, '_>,
    trace: &KernelTrace,
    guard: BlockId,
) -> Option<RegisterId> {
    let end = flow.block(guard).end.before();
    flow.dominators.chain(guard).find_map(|block| {
        flow.block(block).instructions().find_map(|at| {
            let inst = &flow.insts[at];
            let (Opcode::Mov, [Arg::Register(to), Arg::Special(Special::Tid(axis))], None) =
                (inst.ast.form.opcode, &inst.args[..], inst.guard)
            else {
                return None;
            };
            let named = &flow.registers[*to];
            let once = trace.definitions[*to] == 1;
            let first = axis.index() == 0 && named.ty.bits() == 32;
            let before = at < end && flow.visible(*to, end);
            (once && first && before).then_some(*to)
        })
    })
}

/// Whether others notice nothing of an instruction, and it depends on nothing that they do.
fn is_quiet(inst: &Inst<'_, '_>) -> bool {
    match effect(inst) {
        Effect::Pure => true,
        Effect::Load => inst.ast.form.space() == StateSpace::Param,
        Effect::Control => inst.ast.form.opcode == Opcode::Bra,
        _ => false,
    }
}

/// Whether an instruction is a barrier of the whole block: by a number in the text, without a number of threads.
pub(super) fn is_barrier(inst: &Inst<'_, '_>) -> bool {
    let form = &inst.ast.form;
    matches!(form.opcode, Opcode::Bar | Opcode::Barrier)
        && form.has(Qualifier::Sync)
        && !form.has_any(&[Qualifier::Warp, Qualifier::Arrive, Qualifier::Red])
        && matches!(inst.args[..], [Arg::Constant(_)])
        && inst.guard.is_none()
}
