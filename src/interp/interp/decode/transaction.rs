//! `mbarrier`, the bulk forms of `cp.async` and `cp.reduce.async`, and the instructions of clusters; a
//! cluster is one block here.

use super::atomic as atomics;
use super::decoder::Decoder;
use super::inst::Inst;
use super::operand::file_of;
use crate::algebra::Meaning;
use crate::interp::exec::pending_count;
use crate::interp::fault::Fault;
use crate::interp::program::transaction::{BulkCopy, CopyGroup, MBarrier, MBarrierKind};
use crate::interp::program::{Barrier, BarrierKind, Op, Scope};
use crate::interp::registers::{File, warp};
use crate::isa::{Modifier, Opcode, Qualifier};
use crate::ptx::ScalarType::{B64, Pred, U32};
use crate::ptx::{Operand, StateSpace};

/// Modifiers that say which accesses are visible to whom, and when: the interpreter never reorders
/// any.
fn is_ordering(qualifier: Qualifier) -> bool {
    matches!(
        qualifier,
        Qualifier::Acquire
            | Qualifier::Release
            | Qualifier::Relaxed
            | Qualifier::Cta
            | Qualifier::Cluster
    )
}

/// The operations of `mbarrier`.
const MBARRIER_OPERATIONS: &[Qualifier] = &[
    Qualifier::Init,
    Qualifier::Inval,
    Qualifier::ExpectTx,
    Qualifier::CompleteTx,
    Qualifier::Arrive,
    Qualifier::ArriveDrop,
    Qualifier::TestWait,
    Qualifier::TryWait,
    Qualifier::PendingCount,
];

/// `mbarrier.op{.shared}.b64 ...`.
pub(crate) fn mbarrier<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &mut Inst<'m, 's>,
) -> Result<(), Fault> {
    // `arrive.expect_tx` is an arrival.
    let mut operation = inst.take_one_of(MBARRIER_OPERATIONS);
    let (mut expects, no_complete) = (false, inst.take(Qualifier::NoComplete));
    if matches!(operation, Some(Qualifier::Arrive | Qualifier::ArriveDrop)) {
        expects = inst.take(Qualifier::ExpectTx);
    }
    let parity = inst.take(Qualifier::Parity);
    let relaxed = inst.ast.form.has(Qualifier::Relaxed);
    inst.drop_hints(is_ordering);
    inst.take_modifier(Modifier::Type(B64));
    let space = inst.take_space();
    if inst.finish().is_err() {
        operation = None;
    }
    let number = |cx: &mut Decoder<'_, 'm, 's>, index| cx.source(inst.operand(index)?, U32);
    let (at, kind) = match operation {
        Some(Qualifier::Init) => (0, MBarrierKind::Init(number(cx, 1)?)),
        Some(Qualifier::Inval) => (0, MBarrierKind::Invalidate),
        Some(Qualifier::ExpectTx) => (0, MBarrierKind::ExpectTx(number(cx, 1)?)),
        Some(Qualifier::CompleteTx) => (0, MBarrierKind::CompleteTx(number(cx, 1)?)),
        Some(name @ (Qualifier::Arrive | Qualifier::ArriveDrop)) => {
            let state = match inst.operand(0)? {
                Operand::Sink(_) => None,
                state => Some(cx.dest(state, B64)?),
            };
            let one = cx.immediate(File::W32, 1);
            let given = match inst.operands().len() {
                3 => Some(number(cx, 2)?),
                _ => None,
            };
            let (count, expect) = match (expects, given) {
                (true, None) => {
                    return Err(inst.unsupported("`expect_tx` needs a number of bytes"));
                }
                (true, given) => (one, given),
                (false, given) => (given.unwrap_or(one), None),
            };
            let drop = name == Qualifier::ArriveDrop;
            (1, MBarrierKind::Arrive { count, expect, drop, no_complete, state })
        }
        Some(Qualifier::TestWait | Qualifier::TryWait) => {
            let ty = if parity { U32 } else { B64 };
            let phase = (file_of(ty), cx.source(inst.operand(2)?, ty)?);
            let done = cx.dest(inst.operand(0)?, Pred)?;
            (1, MBarrierKind::Test { done, phase })
        }
        Some(Qualifier::PendingCount) => {
            let run = warp!(|state: u64| -> u32 { pending_count(state) as u32 });
            let (state, d) = (cx.source(inst.operand(1)?, B64)?, cx.dest(inst.operand(0)?, U32)?);
            cx.emit_lanes(run, &[d], &[state]);
            return Ok(());
        }
        _ => {
            let name = inst.ast.opcode.text;
            return Err(inst.unsupported(format!("`{name}` is not modelled")));
        }
    };
    let place = cx.place(inst.operand(at)?, space)?;
    cx.emit(Op::MBarrier(Box::new(MBarrier { place, kind, relaxed })));
    Ok(())
}

/// `cp.async.mbarrier.arrive{.noinc}.b64 [object]`: copies are performed at once, so they end here and their arrival follows
/// at once. Without `.noinc` the phase first expects one arrival more, so the object stays as
/// it is.
pub(super) fn copy_arrives<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &mut Inst<'m, 's>,
) -> Result<(), Fault> {
    let counts = inst.take(Qualifier::Noinc);
    inst.drop_hints(|m| {
        is_ordering(m) || matches!(m, Qualifier::Async | Qualifier::Mbarrier | Qualifier::Arrive)
    });
    inst.take_modifier(Modifier::Type(B64));
    let space = inst.take_space();
    inst.finish()?;
    let place = cx.place(inst.operand(0)?, space)?;
    cx.emit(Op::CopyGroup(CopyGroup::All));
    if counts {
        let count = cx.immediate(File::W32, 1);
        let kind = MBarrierKind::Arrive {
            count,
            expect: None,
            drop: false,
            no_complete: false,
            state: None,
        };
        cx.emit(Op::MBarrier(Box::new(MBarrier { place, kind, relaxed: false })));
    }
    Ok(())
}

/// `cp.async.bulk.dst.src.completion [to], [from], size{, [object]}{, policy}`, the same with
/// `cp.reduce`, and the instructions on groups of copies, for which no copy is left to wait for.
pub(super) fn copy_bulk<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &mut Inst<'m, 's>,
) -> Result<(), Fault> {
    let unsupported = |inst: &Inst<'m, 's>| {
        Err(inst.unsupported(format!("`{}` is not modelled", inst.ast.opcode.text)))
    };
    if inst.ast.form.has(Qualifier::Tensor) {
        return unsupported(inst);
    }
    if inst.ast.form.has_any(&[Qualifier::CommitGroup, Qualifier::WaitGroup, Qualifier::Prefetch]) {
        return Ok(());
    }
    let reduces = inst.take(Qualifier::Reduce);
    inst.take(Qualifier::Async);
    inst.take(Qualifier::Bulk);
    let transacts = inst.take(Qualifier::MbarrierCompleteTxBytes);
    if !transacts && !inst.take(Qualifier::BulkGroup) {
        return unsupported(inst);
    }
    inst.drop_hints(|m| m == Qualifier::L2CacheHint || m == Qualifier::Noftz);
    let (to, from) = (inst.take_space(), inst.take_space());
    let reduce = if reduces {
        let operation = inst.take_qualifier(|m| atomics::OPERATIONS.into_iter().find(|&o| o == m));
        let ty = inst.take_type()?;
        let run = operation.and_then(|name| atomics::operation(name, ty, true));
        Some((run.ok_or_else(|| inst.bad_type(ty))?, ty.bits() / 8))
    } else {
        None
    };
    inst.finish()?;
    if matches!((to, from), (StateSpace::Generic, _) | (_, StateSpace::Generic)) {
        return unsupported(inst);
    }
    let to = cx.place(inst.operand(0)?, to)?;
    let from = cx.place(inst.operand(1)?, from)?;
    let size = cx.source(inst.operand(2)?, U32)?;
    let barrier =
        if transacts { Some(cx.place(inst.operand(3)?, StateSpace::Shared)?) } else { None };
    cx.emit(Op::CopyBulk(Box::new(BulkCopy { to, from, size, barrier, reduce })));
    Ok(())
}

/// `barrier.cluster.arrive`, `barrier.cluster.wait`: the cluster is the block. Only `wait` waits.
pub(crate) fn cluster_barrier<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &mut Inst<'m, 's>,
) -> Result<(), Fault> {
    let aligned = inst.take(Qualifier::Aligned);
    inst.drop_hints(is_ordering);
    let waits = inst.take(Qualifier::Wait);
    if !waits && !inst.take(Qualifier::Arrive) {
        return Err(inst.unsupported("this barrier of a cluster is not modelled"));
    }
    inst.finish()?;
    cx.emit(if waits {
        Op::Barrier(Box::new(Barrier { id: None, threads: None, kind: BarrierKind::Sync, aligned }))
    } else {
        Op::Fence(Some(Scope::Block))
    });
    Ok(())
}

/// `mapa{.space}.type d, a, rank` and `getctarank{.space}.u32 d, a`: the only rank is 0.
pub(crate) fn map_address<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &mut Inst<'m, 's>,
) -> Result<(), Fault> {
    let ty = {
        inst.take_space();
        inst.take_type()?
    };
    inst.finish()?;
    if inst.opcode() == Opcode::Getctarank {
        let zero = cx.immediate(File::W32, 0);
        let d = cx.dest(inst.operand(0)?, U32)?;
        cx.emit_lanes(warp!(bits 1; |a: u32| -> u32 { a }), &[d], &[zero]);
        return Ok(());
    }
    cx.scalar(inst, ty, (&[ty, U32], Meaning::Unknown), |[a, rank, ..]| match rank {
        0 => Ok(a),
        _ => Err("the cluster has no block of this rank: it is one block"),
    })
}
