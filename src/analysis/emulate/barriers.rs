//! The memory that lanes see behind a barrier, a call, or an unknown instruction.
//!
//! Behind a barrier at which lanes have waited for each other they see the same writes, and so read
//! the same values. But lanes that come to one barrier need not have waited there for each other: a
//! lane's k-th arrival at any barrier meets the other lanes' k-th arrival, at whatever instruction
//! that is (PTX ISA, "bar.warp.sync", "barrier"), so lanes that have waited more often than others
//! wait here for an arrival of the others that is still to come:
//!
//! ```text
//!     @p bra J;            // one lane
//!     bar.warp.sync -1;    // the others wait until that lane is at J
//! J:  bar.warp.sync -1;    // and here until it is at E; it has read before it stored, they read after
//!     ld x; @!p bra E; st x; bar.warp.sync -1;
//! E:
//! ```
//!
//! So the barriers that lanes have waited at are followed like a part of memory ([`Window::Waits`]),
//! and where they may differ nothing is known behind a barrier. Only `.aligned` barriers are executed
//! by whole warps at once.
//!
//! In: an instruction. Out: how memory, and the barriers that lanes have waited at, differ between
//! lanes behind it.

use super::effects::Effect;
use super::operands;
use super::state::State;
use super::symbols::LaneDependence;
use super::window::Window;
use crate::cfg::{Arg, Inst};
use crate::expr::TermId;
use crate::isa::{Opcode, Qualifier};

/// How memory, and the barriers that lanes have waited at, differ between lanes behind an instruction.
pub(super) struct Behind<F> {
    /// How the barriers waited at differ between lanes, if the instruction changes them.
    pub waits: Option<LaneDependence>,
    /// How memory differs between lanes, as a function of the version that it had before.
    pub seen: F,
}

/// Who waits at an instruction.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Waiting {
    /// Nobody. A fence by itself shows no new writes.
    Fence,
    /// Whole warps at once.
    Aligned,
    /// Each thread, until all of its warp or block have come.
    All,
    /// Members that the instruction names in its text, or something else than threads: no barrier at
    /// which all wait.
    Some,
    /// Members chosen at run time, or whoever comes first.
    Unknown,
}

fn waiting(inst: &Inst<'_, '_>) -> Waiting {
    let ast = inst.ast;
    let has = |qualifier| ast.form.has(qualifier);
    match ast.form.opcode {
        Opcode::Fence | Opcode::Membar => Waiting::Fence,
        Opcode::Bar | Opcode::Barrier if has(Qualifier::Arrive) => Waiting::Fence,
        Opcode::Bar if has(Qualifier::Warp) => match inst.args.last() {
            Some(Arg::Constant(mask)) => match mask.as_integer() {
                Some(mask) if mask as u32 == u32::MAX => Waiting::All,
                _ => Waiting::Some,
            },
            _ => Waiting::Unknown,
        },
        Opcode::Bar => Waiting::Aligned,
        Opcode::Barrier if has(Qualifier::Aligned) => Waiting::Aligned,
        // With a number of threads, a barrier releases that number of threads.
        Opcode::Barrier if inst.args.len() < 2 => Waiting::All,
        Opcode::Barrier => Waiting::Unknown,
        _ => Waiting::Some,
    }
}

pub(super) fn behind<'s>(
    state: &mut State<'_, '_, 's>,
    inst: &Inst<'_, 's>,
    effect: Effect,
    guard: Option<TermId>,
) -> Behind<impl Fn(TermId) -> LaneDependence + use<'s>> {
    // A called function may wait in each lane by itself; nobody knows what unknown code does.
    let waiting = if effect == Effect::Barrier { waiting(inst) } else { Waiting::Unknown };
    let chosen = match waiting {
        _ if planted!(Bug::MemoryBehindBarriers) && effect == Effect::Barrier => {
            Some(LaneDependence::Uniform)
        }
        Waiting::Aligned | Waiting::All => Some(chosen(state, inst, guard, waiting)),
        Waiting::Fence | Waiting::Some | Waiting::Unknown => None,
    };
    let waits = match waiting {
        Waiting::Fence | Waiting::Some => None,
        _ => Some(chosen.clone().unwrap_or(LaneDependence::Varying)),
    };
    let seen = move |before| match (&chosen, waiting) {
        (Some(chosen), _) => chosen.clone(),
        (None, Waiting::Fence) => LaneDependence::DependsOn(vec![before]),
        (None, _) => LaneDependence::Varying,
    };
    Behind { waits, seen }
}

/// The terms that decide whether a lane waits at the instruction, where, and with whom: its guard,
/// its operands, and the barriers that the lane has waited at before.
fn chosen<'s>(
    state: &mut State<'_, '_, 's>,
    inst: &Inst<'_, 's>,
    guard: Option<TermId>,
    waiting: Waiting,
) -> LaneDependence {
    let mut chosen: Vec<TermId> = guard.into_iter().collect();
    chosen.extend(inst.args.iter().map(|arg| match operands::value(state, arg, 32) {
        Some(value) => value,
        None => state.unknown(32),
    }));
    if waiting != Waiting::Aligned && !planted!(Bug::UnequalWaits) {
        chosen.push(state.memory[Window::Waits as usize]);
    }
    LaneDependence::DependsOn(chosen)
}
