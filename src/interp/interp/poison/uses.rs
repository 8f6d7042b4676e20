//! Which operands of a micro-operation have to be determined, because they decide its effect, and which registers it
//! writes.

use smallvec::SmallVec;

use crate::interp::program::rare::{Cell, StackKind};
use crate::interp::program::transaction::MBarrierKind;
use crate::interp::program::{
    BarrierKind, Base, Callee, Collective, CollectiveKind, CopyLimit, Formal, Op, Place,
};
use crate::interp::registers::{FULL, File, Mask};

/// An operand that has to be determined.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Use {
    /// The register.
    pub cell: Cell,
    /// The lanes whose operand counts, of those that execute.
    pub lanes: Mask,
    /// The operand in words, for a message.
    pub what: &'static str,
}

/// Some operands.
type Uses = SmallVec<[Use; 4]>;

/// The address of an access.
pub(super) const ADDRESS: &str = "the address of this access";
/// The operand of an atomic operation.
pub(crate) const OPERAND: &str = "the operand of this atomic operation";
const SIZE: &str = "the size of this copy";

fn push(uses: &mut Uses, cell: Cell, what: &'static str) {
    uses.push(Use { cell, lanes: FULL, what });
}

fn address(uses: &mut Uses, place: &Place) {
    match place.base {
        Base::Absolute | Base::Frame => {}
        Base::W32(slot) => push(uses, (File::W32, slot), ADDRESS),
        Base::W64(slot) => push(uses, (File::W64, slot), ADDRESS),
    }
}

/// The operands that have to be determined, except for the guard and the stored value.
pub(crate) fn uses(op: &Op) -> Uses {
    let mut uses = Uses::new();
    match op {
        Op::Load(load) => address(&mut uses, &load.place),
        Op::Store(store) => address(&mut uses, &store.place),
        Op::Atomic(atomic) => {
            address(&mut uses, &atomic.place);
            let b = atomic.elements.iter().map(|&(_, b)| b);
            for (file, slot) in b.chain(atomic.c) {
                push(&mut uses, (file, slot), OPERAND);
                if atomic.wide.is_some() {
                    push(&mut uses, (file, slot.plus(1)), OPERAND);
                }
            }
        }
        Op::CopyAsync(copy) => {
            address(&mut uses, &copy.to);
            address(&mut uses, &copy.from);
            match copy.limit {
                CopyLimit::All => {}
                CopyLimit::Bytes(slot) => push(&mut uses, (File::W32, slot), SIZE),
                CopyLimit::Ignore(slot) => push(&mut uses, (File::Pred, slot), SIZE),
            }
        }
        Op::CopyBulk(copy) => {
            address(&mut uses, &copy.to);
            address(&mut uses, &copy.from);
            push(&mut uses, (File::W32, copy.size), SIZE);
            if let Some(barrier) = &copy.barrier {
                address(&mut uses, barrier);
            }
        }
        Op::Fragment(fragment) => {
            address(&mut uses, &fragment.place);
            let givers = FULL >> (32 - fragment.givers.clamp(1, 32));
            uses.iter_mut().for_each(|operand| operand.lanes = givers);
            if let Some(stride) = fragment.stride {
                push(&mut uses, (File::W32, stride), "the stride of this matrix");
            }
        }
        Op::MBarrier(mbarrier) => {
            address(&mut uses, &mbarrier.place);
            let what = "the operand of this `mbarrier` instruction";
            match mbarrier.kind {
                MBarrierKind::Init(slot)
                | MBarrierKind::ExpectTx(slot)
                | MBarrierKind::CompleteTx(slot) => push(&mut uses, (File::W32, slot), what),
                MBarrierKind::Invalidate => {}
                MBarrierKind::Arrive { count, expect, .. } => {
                    push(&mut uses, (File::W32, count), what);
                    if let Some(slot) = expect {
                        push(&mut uses, (File::W32, slot), what);
                    }
                }
                MBarrierKind::Test { phase, .. } => push(&mut uses, phase, what),
            }
        }
        Op::IndexedBranch(branch) => {
            push(&mut uses, (File::W32, branch.index), "the target of this branch");
        }
        Op::Call(call) => {
            if let Callee::Indirect(slot) = call.callee {
                push(&mut uses, (File::W64, slot), "the function that is called here");
            }
        }
        Op::Stack(stack) => push(&mut uses, stack.value, "the size of this allocation"),
        Op::Barrier(barrier) => {
            for slot in [barrier.id, barrier.threads].into_iter().flatten() {
                push(&mut uses, (File::W32, slot), "the operand of this barrier");
            }
            match barrier.kind {
                BarrierKind::Sync | BarrierKind::Arrive => {}
                BarrierKind::Popc { p, .. }
                | BarrierKind::And { p, .. }
                | BarrierKind::Or { p, .. } => {
                    push(&mut uses, (File::Pred, p), "the predicate of this barrier");
                }
            }
        }
        Op::Collective(collective) => {
            let what = "the operand of this instruction";
            if let Some(slot) = collective.members {
                push(&mut uses, (File::W32, slot), what);
            }
            if let CollectiveKind::Shuffle(_) = collective.kind {
                let [_, b, c] = collective.s;
                push(&mut uses, (File::W32, b), what);
                push(&mut uses, (File::W32, c), what);
            }
        }
        Op::Lanes(..)
        | Op::Scalar(_)
        | Op::CrossLane(_)
        | Op::FrameAddress(..)
        | Op::Branch { .. }
        | Op::Return
        | Op::Exit
        | Op::Trap
        | Op::ActiveMask(_)
        | Op::Clock(..)
        | Op::IsSpace(..)
        | Op::Nothing
        | Op::CopyGroup(_)
        | Op::Fence(_)
        | Op::Unsupported(_) => {}
    }
    uses
}

/// The register that each lane contributes to a collective of its warp.
pub(crate) fn contributed(collective: &Collective) -> Option<Cell> {
    let a = collective.s[0];
    match collective.kind {
        CollectiveKind::Shuffle(_) | CollectiveKind::Redux(_) => Some((File::W32, a)),
        CollectiveKind::All
        | CollectiveKind::Any
        | CollectiveKind::Uni
        | CollectiveKind::Ballot => Some((File::Pred, a)),
        CollectiveKind::MatchAny(file) | CollectiveKind::MatchAll(file) => Some((file, a)),
        CollectiveKind::Sync | CollectiveKind::Elect => None,
    }
}

/// The registers among values that cross a call.
fn registers(formals: &[Formal]) -> impl Iterator<Item = Cell> {
    formals.iter().filter_map(|formal| match *formal {
        Formal::Register(file, slot) => Some((file, slot)),
        Formal::Memory { .. } => None,
    })
}

/// The registers that a micro-operation reads, its guard aside.
pub(crate) fn reads(op: &Op) -> SmallVec<[Cell; 8]> {
    let mut cells: SmallVec<[Cell; 8]> = uses(op).iter().map(|operand| operand.cell).collect();
    match op {
        Op::Lanes(op, slots) => {
            let pairs = op.s.iter().zip(slots.s);
            cells.extend(pairs.filter_map(|(file, slot)| Some(((*file)?, slot))));
        }
        Op::Scalar(scalar) => cells.extend(scalar.s.iter().copied()),
        Op::CrossLane(cross_lane) => cells.extend(cross_lane.sources.iter().copied()),
        Op::Store(store) => cells.extend(store.sources.iter().copied()),
        Op::Fragment(fragment) if fragment.store => {
            cells.extend(fragment.elements.iter().map(|&(cell, _)| cell));
        }
        Op::Collective(collective) => cells.extend(contributed(collective)),
        Op::Call(call) => cells.extend(registers(&call.args)),
        Op::IsSpace(_, a, _) => cells.push((File::W64, *a)),
        _ => {}
    }
    cells
}

/// The registers that a micro-operation writes.
pub(crate) fn writes(op: &Op) -> SmallVec<[Cell; 4]> {
    match op {
        Op::CrossLane(cross_lane) => cross_lane.results.iter().copied().collect(),
        Op::Collective(collective) => {
            let d = match collective.kind {
                CollectiveKind::All | CollectiveKind::Any | CollectiveKind::Uni => File::Pred,
                _ => File::W32,
            };
            let d = collective.d.map(|slot| (d, slot));
            d.into_iter().chain(collective.p.map(|slot| (File::Pred, slot))).collect()
        }
        Op::Call(call) => registers(&call.results).collect(),
        op => results(op).unwrap_or_else(|| other_results(op)),
    }
}

/// The registers that a micro-operation writes, except those of pure operations, whose poison [`super::Poison`]
/// computes. None if more depends on the guard than registers.
pub(crate) fn results(op: &Op) -> Option<SmallVec<[Cell; 4]>> {
    let mut cells = SmallVec::new();
    match op {
        Op::Load(load) => {
            let dests = load.dests.iter().flatten();
            cells.extend(dests.map(|dest| (dest.file, dest.slot)));
        }
        Op::Lanes(op, slots) => {
            let pairs = op.d.iter().zip(slots.d);
            cells.extend(pairs.filter_map(|(file, slot)| Some(((*file)?, slot))));
        }
        Op::Scalar(scalar) => cells.push(scalar.d),
        Op::FrameAddress(file, slot, _) | Op::Clock(file, slot) => cells.push((*file, *slot)),
        Op::ActiveMask(slot) => cells.push((File::W32, *slot)),
        Op::IsSpace(p, ..) => cells.push((File::Pred, *p)),
        Op::Nothing | Op::CopyGroup(_) => {}
        _ => return None,
    }
    Some(cells)
}

/// The registers that a micro-operation writes whose guard decides more than their values.
pub(crate) fn other_results(op: &Op) -> SmallVec<[Cell; 4]> {
    let mut cells = SmallVec::new();
    match op {
        Op::Atomic(atomic) => {
            for (file, slot) in atomic.elements.iter().filter_map(|&(d, _)| d) {
                cells.push((file, slot));
                if atomic.wide.is_some() {
                    cells.push((file, slot.plus(1)));
                }
            }
        }
        Op::Fragment(fragment) if !fragment.store => {
            cells.extend(fragment.elements.iter().map(|&(cell, _)| cell));
        }
        Op::MBarrier(mbarrier) => match mbarrier.kind {
            MBarrierKind::Arrive { state: Some(slot), .. } => cells.push((File::W64, slot)),
            MBarrierKind::Test { done, .. } => cells.push((File::Pred, done)),
            _ => {}
        },
        Op::Stack(stack) => match stack.kind {
            StackKind::Allocate { d, .. } | StackKind::Save { d } => cells.push(d),
            StackKind::Restore => {}
        },
        Op::Barrier(barrier) => match barrier.kind {
            BarrierKind::Popc { d, .. } => cells.push((File::W32, d)),
            BarrierKind::And { d, .. } | BarrierKind::Or { d, .. } => cells.push((File::Pred, d)),
            BarrierKind::Sync | BarrierKind::Arrive => {}
        },
        _ => {}
    }
    cells
}
