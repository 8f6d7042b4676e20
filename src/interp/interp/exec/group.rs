//! The state of a warp: groups of lanes that run together, the frames of their calls, and the places
//! where they meet again. Data alone: [`super::warp`] runs groups, [`super::join`] parts and unites them.

use crate::interp::poison::Poison;
use crate::interp::program::{FunctionId, Pc};
use crate::interp::registers::{Mask, Registers};

/// A call's registers and its part of local memory.
#[derive(Debug)]
pub(super) struct Frame {
    /// Which function runs in it.
    pub function: FunctionId,
    /// Its registers.
    pub registers: Registers,
    /// The poison in its registers, if there is some.
    pub poison: Option<Box<Poison>>,
    /// First byte of its local memory.
    pub local_base: u64,
    /// Bytes of local memory that it asked for, behind those that every call of the function has.
    pub dynamic: u64,
    /// No call uses it any more.
    pub free: bool,
}

/// Whether a group can run, and otherwise the reason why it waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// It can run.
    Ready,
    /// All its lanes wait at a collective instruction for other members.
    Collective,
    /// It waits at an instruction that all 32 lanes must execute as one group.
    Aligned,
    /// It stands at a barrier of the block.
    Barrier(u32),
}

/// Lanes that run together.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// The next micro-operation.
    pub pc: Pc,
    /// The lanes.
    pub mask: Mask,
    /// The lanes' frame.
    pub frame: usize,
    /// Where the lanes wait for others.
    pub join: Option<JoinId>,
    /// Whether the lanes can run.
    pub state: State,
}

/// Index of a [`Join`] in its warp.
pub(super) type JoinId = usize;

/// The continuation when all lanes of a [`Join`] have arrived.
#[derive(Clone, Copy, Debug)]
pub(super) enum Then {
    /// The lanes go on at the meeting point.
    Continue,
    /// The lanes go on in the caller's frame behind its call.
    Return { caller: usize, call: Pc },
}

/// A place where lanes meet: a branch's post-dominator or the end of a call.
#[derive(Clone, Debug)]
pub(super) struct Join {
    /// The micro-operation at which they meet; [`AT_RETURN`] for a call.
    pub at: Pc,
    /// The loop whose ways alone lead to that place: lanes that leave the loop will not come.
    pub within: Option<usize>,
    /// The lanes that will come, less those that ended.
    pub expected: Mask,
    /// The lanes that came.
    pub arrived: Mask,
    /// The meeting point at which the lanes wait next.
    pub parent: Option<JoinId>,
    /// The frame in which they meet.
    pub frame: usize,
    /// The continuation when all have arrived.
    pub then: Then,
}
