//! Facts about a function as a whole, from its text: the shape of its blocks, whether it writes global memory, the
//! traces of an earlier rewrite.

use rustc_hash::FxHashSet;

use super::distance::base_address;
use super::eligible::{MAX_ADDRESS, OWN_REGISTERS};
use crate::cfg::{Arg, Base, Flow, Inst, InstId, LoopForest, RegisterId};
use crate::emulate::{Effect, KernelTrace, definitions};
use crate::isa::limits::WARP_SIZE;
use crate::isa::{Opcode, Qualifier};
use crate::lanes::{BlockShape, Shifter};
use crate::ptx::{Function, StateSpace};

/// The registers that the code of an earlier rewrite sends, or copies to send them.
pub(super) fn sent(flow: &Flow<'_, '_>) -> FxHashSet<RegisterId> {
    let is_own = |register: RegisterId| flow.registers[register].name.starts_with(OWN_REGISTERS);
    let mut sent = FxHashSet::default();
    if !flow.registers.iter().any(|register| register.name.starts_with(OWN_REGISTERS)) {
        return sent;
    }
    for inst in &flow.insts {
        // (A move to a register of the original text stands under a predicate of the rewrite.)
        let added = definitions(inst).into_iter().any(is_own)
            || inst.guard.is_some_and(|(register, _)| is_own(register));
        if added {
            sent.extend(inst.args.iter().flat_map(|arg| {
                match arg {
                    Arg::Register(register) => vec![*register],
                    Arg::Vector(all) => all
                        .iter()
                        .filter_map(|one| match one {
                            Arg::Register(register) => Some(*register),
                            _ => None,
                        })
                        .collect(),
                    _ => Vec::new(),
                }
            }));
        }
    }
    sent
}

/// Whether an instruction writes the register that it is addressed by.
pub(super) fn overwrites_address(flow: &Flow<'_, '_>, inst: InstId) -> bool {
    let inst = &flow.insts[inst];
    inst.args.iter().any(|arg| match arg {
        Arg::Memory { base: Base::Register(base), .. } => definitions(inst).contains(base),
        _ => false,
    })
}

/// Bytes from one lane's address to the next one's, where that is a constant.
pub fn lane_stride(loops: &LoopForest, trace: &mut KernelTrace, index: usize) -> Option<i64> {
    let address = trace.accesses[index].address?;
    if trace.arena.is_nearly_spent() || trace.arena.are_larger_than([address], MAX_ADDRESS) {
        return None;
    }
    let place = loops.innermost(trace.accesses[index].block);
    let next = Shifter::new().shift(trace, loops, address, 1, place);
    let (here, next) =
        (base_address(&mut trace.arena, address), base_address(&mut trace.arena, next));
    (here.key == next.key).then(|| next.constant.wrapping_sub(here.constant))
}

/// Whether `.reqntid` makes the lanes of every warp consecutive in `tid.x`; `None` where only the
/// launch decides. (`.maxntid` bounds the number of threads, not the shape: PTX ISA, ".maxntid".)
pub(super) fn linear_lanes(function: &Function<'_>) -> Option<bool> {
    Some(BlockShape::Known(function.extents("reqntid")?).is_linear())
}

/// Whether a function's blocks have less threads than a warp.
pub(super) fn is_narrow(function: &Function<'_>) -> bool {
    let below = |name: &str| {
        let block = function.extents(name)?;
        let threads = block.iter().try_fold(1, |threads: u64, &size| threads.checked_mul(size))?;
        Some(threads < u64::from(WARP_SIZE))
    };
    below("reqntid").or_else(|| below("maxntid")).unwrap_or(false)
}

/// Whether an instruction's result tells which lanes are together.
pub(super) fn observes_lanes(inst: &Inst<'_, '_>) -> bool {
    let form = &inst.ast.form;
    match form.opcode {
        Opcode::ActiveMask => true,
        Opcode::Shfl | Opcode::Vote => !form.has(Qualifier::Sync),
        _ => false,
    }
}

/// Whether a function may write global memory.
pub(super) fn writes_global(trace: &KernelTrace) -> bool {
    trace.accesses.iter().any(|access| match access.effect {
        Effect::Store => {
            !matches!(access.space, StateSpace::Local | StateSpace::Param | StateSpace::Shared)
        }
        Effect::Atomic => access.space != StateSpace::Shared,
        Effect::Call | Effect::Opaque => true,
        _ => false,
    })
}
