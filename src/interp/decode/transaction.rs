//! `mbarrier`, the bulk forms of `cp.async` and `cp.reduce.async`, and the instructions of
//! clusters, which have one block here.

use super::atomic as atomics;
use super::body::Decoder;
use super::inst::Inst;
use super::operand::file_of;
use crate::interp::exec::pending_count;
use crate::interp::fault::Fault;
use crate::interp::program::transaction::{BulkCopy, MBarrier, MBarrierKind};
use crate::interp::program::{Barrier, BarrierKind, Op};
use crate::interp::registers::{File, warp};
use crate::ptx::ScalarType::{B64, Pred, U32};
use crate::ptx::{Operand, StateSpace};

/// Modifiers that say who sees what when: nothing is ever reordered here.
fn is_ordering(modifier: &str) -> bool {
    matches!(modifier, "acquire" | "release" | "relaxed" | "cta" | "cluster" | "sem" | "b64")
}

/// `mbarrier.op{.shared}.b64 ...`.
pub fn mbarrier<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &mut Inst<'m, 's>,
) -> Result<(), Fault> {
    const OPERATIONS: [&str; 9] = [
        "init",
        "inval",
        "expect_tx",
        "complete_tx",
        "arrive",
        "arrive_drop",
        "test_wait",
        "try_wait",
        "pending_count",
    ];
    // `arrive.expect_tx` is an arrival.
    let mut operation = inst.take_with(|m| OPERATIONS.into_iter().find(|&name| name == m));
    let (mut expects, no_complete) = (false, inst.take("noComplete"));
    if matches!(operation, Some("arrive" | "arrive_drop")) {
        expects = inst.take("expect_tx");
    }
    let parity = inst.take("parity");
    inst.drop_hints(is_ordering);
    let space = inst.take_space();
    if inst.finish().is_err() {
        operation = None;
    }
    let one = cx.immediate(File::W32, 1);
    let number = |cx: &mut Decoder<'_, 'm, 's>, index| cx.source(inst.operand(index)?, U32);
    let (at, kind) = match operation {
        Some("init") => (0, MBarrierKind::Init(number(cx, 1)?)),
        Some("inval") => (0, MBarrierKind::Invalidate),
        Some("expect_tx") => (0, MBarrierKind::ExpectTx(number(cx, 1)?)),
        Some("complete_tx") => (0, MBarrierKind::CompleteTx(number(cx, 1)?)),
        Some(name @ ("arrive" | "arrive_drop")) => {
            let state = match inst.operand(0)? {
                Operand::Sink(_) => None,
                state => Some(cx.dest(state, B64)?),
            };
            let given = match inst.operands().len() {
                3 => Some(number(cx, 2)?),
                _ => None,
            };
            let (count, expect) = if expects { (one, given) } else { (given.unwrap_or(one), None) };
            if expects && expect.is_none() {
                return Err(inst.unsupported("`expect_tx` needs a number of bytes"));
            }
            let drop = name == "arrive_drop";
            (1, MBarrierKind::Arrive { count, expect, drop, no_complete, state })
        }
        Some(name @ ("test_wait" | "try_wait")) => {
            let ty = if parity { U32 } else { B64 };
            let phase = (file_of(ty), cx.source(inst.operand(2)?, ty)?);
            let done = cx.dest(inst.operand(0)?, Pred)?;
            (1, MBarrierKind::Test { done, phase, waits: name == "try_wait" })
        }
        Some("pending_count") => {
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
    cx.emit(Op::MBarrier(Box::new(MBarrier { place, kind })));
    Ok(())
}

/// `cp.async.mbarrier.arrive{.noinc}.b64 [object]`: copies are performed at once, so that their
/// arrival follows on the spot. Without `.noinc` the phase expects one more beforehand, and nothing
/// changes.
pub fn copy_arrives<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &mut Inst<'m, 's>,
) -> Result<(), Fault> {
    let counts = inst.take("noinc");
    inst.drop_hints(|m| is_ordering(m) || matches!(m, "async" | "mbarrier" | "arrive"));
    let space = inst.take_space();
    inst.finish()?;
    let place = cx.place(inst.operand(0)?, space)?;
    if counts {
        let count = cx.immediate(File::W32, 1);
        let kind = MBarrierKind::Arrive {
            count,
            expect: None,
            drop: false,
            no_complete: false,
            state: None,
        };
        cx.emit(Op::MBarrier(Box::new(MBarrier { place, kind })));
    }
    Ok(())
}

/// `cp.async.bulk.dst.src.completion [to], [from], size{, [object]}{, policy}`, the same with
/// `cp.reduce`, and the group instructions, which have nothing left to wait for.
pub fn copy_bulk<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &mut Inst<'m, 's>,
) -> Result<(), Fault> {
    let unsupported = |inst: &Inst<'m, 's>| {
        Err(inst.unsupported(format!("`{}` is not modelled", inst.ast.opcode.text)))
    };
    if inst.ast.has("tensor") {
        return unsupported(inst);
    }
    if ["commit_group", "wait_group", "prefetch"].iter().any(|m| inst.ast.has(m)) {
        return Ok(());
    }
    let reduces = inst.take("reduce");
    inst.take("async");
    inst.take("bulk");
    let transacts = inst.take("mbarrier::complete_tx::bytes");
    if !transacts && !inst.take("bulk_group") {
        return unsupported(inst);
    }
    inst.drop_hints(|m| m == "L2::cache_hint" || m == "noftz");
    let (to, from) = (inst.take_space(), inst.take_space());
    let reduce = if reduces {
        let operation = inst.take_with(|m| atomics::OPERATIONS.into_iter().find(|&o| o == m));
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

/// `barrier.cluster.arrive`, `barrier.cluster.wait`: the cluster is the block. All the waiting is
/// done by `wait`.
pub fn cluster_barrier<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &mut Inst<'m, 's>,
) -> Result<(), Fault> {
    inst.drop_hints(|m| is_ordering(m) || m == "aligned");
    let waits = inst.take("wait");
    if !waits && !inst.take("arrive") {
        return Err(inst.unsupported("this barrier of a cluster is not modelled"));
    }
    inst.finish()?;
    cx.emit(if waits {
        Op::Barrier(Box::new(Barrier { id: None, threads: None, kind: BarrierKind::Sync }))
    } else {
        Op::Fence
    });
    Ok(())
}

/// `mapa{.space}.type d, a, rank` and `getctarank{.space}.u32 d, a`: the only rank is 0.
pub fn map_address<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &mut Inst<'m, 's>,
) -> Result<(), Fault> {
    let ty = {
        inst.take_space();
        inst.take_type()?
    };
    inst.finish()?;
    if inst.ast.mnemonic() == "getctarank" {
        let zero = cx.immediate(File::W32, 0);
        let d = cx.dest(inst.operand(0)?, U32)?;
        cx.emit_lanes(warp!(|a: u32| -> u32 { a }), &[d], &[zero]);
        return Ok(());
    }
    cx.scalar(inst, ty, &[ty, U32], |[a, rank, ..]| match rank {
        0 => Ok(a),
        _ => Err("the cluster has no block of this rank: it is one block"),
    })
}
