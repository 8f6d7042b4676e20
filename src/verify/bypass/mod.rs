//! Branches of the rewritten program around code that does the same: proves that such a branch may be left out.
//!
//! In: the rewritten function. Out: its text without the branches whose two sides are shown to do the same, for the
//! comparison with the original. A side that exchanges values by shuffles is left out where the other side, which
//! exchanges them through shared memory and barriers, leaves the same values in all registers and in shared memory. That
//! is shown for the whole thread block: each thread is evaluated by its own number, on the same unknown registers and
//! memory, from the branch to a place where both sides have met.
//!
//! The branch must be taken by all threads of the block or by none, so the predicate is the same in all of them, and none
//! has left the kernel before. No access stands between the branch and the barrier in front of it, nor between the end of the
//! side that is left out and the next barrier: so the order of accesses outside is unchanged.
//!
//! A part of the original may also be compared with a part of the rewritten program (`tails`), from a barrier on: in blocks
//! of one known shape, or of all shapes. Both are then left out.
//!
//! Uses `program` and `terms`. Each file uses only those before it:
//! - `uniform`: registers with one value for the whole thread block, and live registers
//! - `known`: the facts about registers and the shape of thread blocks that a branch's predicate implies
//! - `values`: the terms of one thread block
//! - `operation`: the result of an instruction
//! - `memory`: shared memory between barriers
//! - `threads`: evaluates all threads of a block, from barrier to barrier
//! - `accesses`: the accesses of a thread to shared memory
//! - `warp`: what the lanes of a warp do together
//! - `actions`: what threads do outside of shared memory
//! - `paths`: threads whose path depends on an unknown value
//! - `sides`: compares the two sides of a branch
//! - `stages`: one thread that stands for all, from barrier to barrier
//! - `text`: the text of the rewritten file without such branches
//! - `same`: whether parts of two programs do the same, in blocks of one shape or of all shapes
//! - `tails`: finds parts of two programs that do the same
//! - `cut`: the texts of two files without such parts

mod accesses;
mod actions;
mod cut;
mod known;
mod memory;
mod operation;
mod paths;
mod same;
mod sides;
mod stages;
mod tails;
mod text;
mod threads;
mod uniform;
mod values;
mod warp;

pub(crate) use cut::without_parts;
pub(crate) use operation::{Thread, compute, operand};
pub(crate) use text::without_bypasses;
pub(crate) use values::Values;
