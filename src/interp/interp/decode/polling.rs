//! Loads that poll: a loop repeats them until it likes their values, and does nothing else that others could see.
//!
//! In: the micro-operations of a function. Out: its strong loads in loops without stores and collectives, on whose values
//! it depends whether the loop goes on, are marked ([`Order::polls`]).

use std::collections::BTreeSet;

use typed_index_collections::TiSlice;

use crate::interp::poison::{reads, writes};
use crate::interp::program::rare::Cell;
use crate::interp::program::{Guard, MicroOp, Op, Order, Pc};
use crate::interp::registers::File;

/// Marks the loads that poll.
pub(super) fn mark(code: &mut TiSlice<Pc, MicroOp>) {
    let loops: Vec<(Pc, Pc)> = code
        .iter_enumerated()
        .filter_map(|(pc, micro)| match micro.op {
            Op::Branch { target, .. } if target <= pc => Some((target, pc)),
            _ => None,
        })
        .collect();
    for (first, last) in loops {
        let polls: Vec<Pc> = (first.0..=last.0)
            .map(Pc)
            .filter(|&pc| is_strong_load(&code[pc].op) && decides(code, (first, last), pc))
            .collect();
        for pc in polls {
            if let Op::Load(load) = &mut code[pc].op {
                load.order = load.order.map(|order| Order { polls: true, ..order });
            }
        }
    }
}

fn is_strong_load(op: &Op) -> bool {
    matches!(op, Op::Load(load) if load.order.is_some())
}

/// Whether the value that a load of a loop reads decides whether the loop goes on, and the loop changes nothing that
/// others see.
fn decides(code: &TiSlice<Pc, MicroOp>, (first, last): (Pc, Pc), load: Pc) -> bool {
    let body = &code[first..=last];
    let is_seen = |micro: &MicroOp| {
        matches!(
            micro.op,
            Op::Store(_) | Op::Barrier(_) | Op::Collective(_) | Op::Call(_) | Op::CopyBulk(_)
        )
    };
    if body.iter().any(is_seen) {
        return false;
    }
    let mut known: BTreeSet<(u8, u32)> = writes(&code[load].op).iter().map(key).collect();
    // To a fixpoint: a register may hand a value on to a register of the next iteration, and so on.
    let mut count = 0;
    while count < known.len() {
        count = known.len();
        for micro in body {
            let guard = guard(micro).is_some_and(|cell| known.contains(&key(&cell)));
            if guard || reads(&micro.op).iter().any(|cell| known.contains(&key(cell))) {
                known.extend(writes(&micro.op).iter().map(key));
            }
        }
    }
    (first.0..=last.0).map(Pc).any(|pc| {
        let leaves = match code[pc].op {
            Op::Branch { target, .. } => pc == last || target < first || target > last,
            Op::Return | Op::Exit => true,
            _ => false,
        };
        leaves && guard(&code[pc]).is_some_and(|cell| known.contains(&key(&cell)))
    })
}

fn guard(micro: &MicroOp) -> Option<Cell> {
    match micro.guard {
        Guard::Always => None,
        Guard::If(slot) | Guard::Unless(slot) => Some((File::Pred, slot)),
    }
}

fn key(&(file, slot): &Cell) -> (u8, u32) {
    (file as u8, slot.0)
}
