//! Who is told what a block does, beside the counters.
//!
//! In: micro-operations that lanes have executed. Out: nothing that the block would see. The execution loop is
//! compiled once for those who want to be told and once for the others, who do not pay for it.

use super::access::Spaces;
use crate::interp::counters::{Counters, Tally};
use crate::interp::profile::Profile;
use crate::interp::program::Pc;
use crate::interp::registers::{LANES, Mask, Registers};

/// A tally that may be told more than events.
pub trait Follow: Tally {
    /// Whether it wants to be told.
    const FOLLOWS: bool = false;

    /// Lanes of a warp have executed a micro-operation of the kernel by themselves.
    fn executed(&mut self, _: &Executed<'_>) {}

    /// The sources of a micro-operation of the kernel that may differ in launches which follow: bit `n` for source `n`.
    fn varies(&self, _: Pc) -> u8 {
        0
    }

    /// Lanes of a warp are about to store. Returns those whose store is taken for one that changes memory even if it does
    /// not.
    fn stores(&mut self, _: &Executed<'_>) -> Mask {
        0
    }

    /// Lanes of a warp have executed shuffles together: which micro-operations, and which lanes of each; and from
    /// where each lane has read.
    fn shuffled(&mut self, _warp: u32, _parts: &[(Pc, Mask)], _from: &[From; LANES]) {}
}

impl Follow for Counters {}
impl Follow for Profile {}

/// A micro-operation that was executed.
pub struct Executed<'a> {
    /// The warp.
    pub warp: u32,
    /// The micro-operation.
    pub pc: Pc,
    /// The lanes.
    pub lanes: Mask,
    /// Their registers.
    pub registers: &'a Registers,
    /// Their memory.
    pub spaces: &'a Spaces<'a>,
}

/// What a lane reads in a shuffle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum From {
    /// The value of a lane that takes part.
    Lane(usize),
    /// That of a lane which takes no part.
    Nobody(u32),
}
