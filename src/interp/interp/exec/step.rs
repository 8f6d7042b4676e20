//! One micro-operation of a group of lanes that run together.
//!
//! In: the operation, the lanes, their registers and memory. Out: the registers and memory afterwards,
//! and where the group goes on. Operations that are frequent, that stop a group or that end its lanes
//! stand in the loop of [`super::warp`].

use smallvec::SmallVec;

use super::access::{AccessFault, Spaces};
use super::machine::Machine;
use super::watch::Watch;
use crate::interp::counters::Counters;
use crate::interp::fault::FaultKind;
use crate::interp::poison::Poison;
use crate::interp::program::rare::Scalar;
use crate::interp::program::{IndexedBranch, Op, Pc};
use crate::interp::registers::{File, LANES, Mask, Registers, Slot, lanes};

/// Where a micro-operation is executed, and by whom.
pub(super) struct Site<'a> {
    /// The state that all blocks share.
    pub machine: &'a Machine<'a>,
    /// The memory of its lanes.
    pub spaces: &'a Spaces<'a>,
    /// Instructions that the warp has executed.
    pub steps: u64,
    /// The index of the micro-operation.
    pub pc: Pc,
    /// The lanes that execute it; at least one.
    pub lanes: Mask,
    /// The lanes of the group.
    pub mask: Mask,
}

/// The ways that lanes take when they part: the lanes, and where the way begins.
pub(super) type WaysOn = SmallVec<[(Mask, Pc); 2]>;

/// Where a group goes on.
pub(super) enum Next {
    /// Behind the micro-operation.
    On,
    /// The same, and it has brought poison into registers.
    Poison,
    /// At another micro-operation.
    At(Pc),
    /// Behind the micro-operation, but other groups run first.
    Yield,
    /// The group's lanes part.
    Part {
        /// Where an assembler would let them meet again.
        meet: Pc,
        /// The lanes of each way, and where it begins.
        ways: WaysOn,
    },
}

/// Executes a micro-operation.
///
/// # Errors
/// The kernel faults.
pub(super) fn step(
    op: &Op,
    site: &Site<'_>,
    registers: &mut Registers,
    counters: &mut Counters,
    (watch, poison): (&mut Watch<'_>, Option<&Poison>),
) -> Result<Next, AccessFault> {
    let &Site { machine, spaces, steps, pc, lanes, mask } = site;
    match op {
        Op::Atomic(atomic) => {
            watch.arrived = true;
            spaces.atomic(registers, atomic, lanes, counters, (watch, poison))?;
        }
        Op::CopyAsync(copy) => spaces.copy(registers, copy, lanes, counters, watch)?,
        Op::CopyGroup(group) => watch.copies(lanes, *group),
        Op::CopyBulk(copy) => spaces.copy_bulk(registers, copy, lanes, counters, watch)?,
        Op::Scalar(scalar) => each_lane(registers, scalar, lanes)?,
        Op::CrossLane(cross_lane) => (cross_lane.run)(registers),
        Op::Fragment(fragment) => {
            spaces.fragment(registers, fragment, counters, (watch, poison))?;
        }
        Op::MBarrier(mbarrier) => {
            // Asking again tells nothing new before others have had a turn.
            if spaces.mbarrier(registers, mbarrier, lanes, counters, watch)? {
                return Ok(Next::Yield);
            }
        }
        Op::FrameAddress(file, slot, offset) => {
            let address = spaces.frame.wrapping_add(*offset);
            fill(registers, *file, *slot, address, lanes);
        }
        Op::Clock(file, slot) => fill(registers, *file, *slot, steps, lanes),
        Op::ActiveMask(slot) => {
            counters.votes += 1;
            fill(registers, File::W32, *slot, u64::from(lanes), lanes);
        }
        Op::IsSpace(p, a, space) => {
            let inside = machine.in_space(&registers.w64[*a], *space);
            let p = &mut registers.preds[*p];
            *p = *p & !lanes | inside & lanes;
        }
        Op::Branch { target, meet } => {
            counters.branches += 1;
            counters.divergent_branches += 1;
            let ways = SmallVec::from([(lanes, *target), (mask & !lanes, pc.next())]);
            return Ok(Next::Part { meet: *meet, ways });
        }
        Op::IndexedBranch(branch) => {
            counters.branches += 1;
            let mut ways = indexed(branch, &registers.w32[branch.index], lanes)?;
            if lanes != mask {
                ways.push((mask & !lanes, pc.next()));
            }
            if let [(_, only)] = ways[..] {
                return Ok(Next::At(only));
            }
            counters.divergent_branches += 1;
            return Ok(Next::Part { meet: branch.meet, ways });
        }
        Op::Trap => {
            return Err(fault(lanes, FaultKind::Trap, "the kernel executed a trap".to_owned()));
        }
        Op::Unsupported(message) => {
            return Err(fault(lanes, FaultKind::Unsupported, message.to_string()));
        }
        Op::Fence(scope) => watch.fence(lanes, *scope),
        Op::Nothing => {}
        // The loop of `warp` executes these by itself.
        Op::Lanes(..)
        | Op::Load(_)
        | Op::Store(_)
        | Op::Return
        | Op::Exit
        | Op::Barrier(_)
        | Op::Collective(_)
        | Op::Call(_)
        | Op::Stack(_) => {}
    }
    Ok(Next::On)
}

/// A fault that all of some lanes share, told of the first of them.
pub(super) fn fault(lanes: Mask, kind: FaultKind, message: String) -> AccessFault {
    AccessFault::new(lanes.trailing_zeros() as usize, kind, message)
}

/// Applies a function to the registers of some lanes.
fn each_lane(registers: &mut Registers, scalar: &Scalar, mask: Mask) -> Result<(), AccessFault> {
    for lane in lanes(mask) {
        let mut sources = [0; 4];
        for (value, &(file, slot)) in sources.iter_mut().zip(&scalar.s) {
            *value = registers.get(file, slot, lane);
        }
        let result = (scalar.run)(sources)
            .map_err(|message| AccessFault::new(lane, FaultKind::Undefined, message.to_owned()))?;
        registers.set(scalar.d.0, scalar.d.1, lane, result);
    }
    Ok(())
}

/// Where each lane of an indexed branch goes.
fn indexed(
    branch: &IndexedBranch,
    indices: &[u32; LANES],
    mask: Mask,
) -> Result<WaysOn, AccessFault> {
    let mut ways = WaysOn::new();
    for lane in lanes(mask) {
        let Some(&target) = branch.targets.get(indices[lane] as usize) else {
            let count = branch.targets.len();
            let message = format!(
                "the index {} is outside the list of {count} branch targets",
                indices[lane]
            );
            return Err(AccessFault::new(lane, FaultKind::Undefined, message));
        };
        match ways.iter_mut().find(|way| way.1 == target) {
            Some(way) => way.0 |= 1 << lane,
            None => ways.push((1 << lane, target)),
        }
    }
    Ok(ways)
}

/// Writes one value to a register of the lanes of a mask.
fn fill(registers: &mut Registers, file: File, slot: Slot, value: u64, mask: Mask) {
    for lane in lanes(mask) {
        registers.set(file, slot, lane, value);
    }
}
