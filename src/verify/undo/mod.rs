//! Undoes versions of code: proves that they do the same as the code beside them, and leaves them out of the text.
//!
//! In: two texts. Out: both without what the [`passes`] undo, for the comparison of the rest, and the names of the passes that
//! changed each function. After each pass both compute the same as before it (`tests/undone.rs`).
//!
//! **Bypasses** are branches around code that does the same. A side that exchanges values by shuffles is left out where the
//! other side, which exchanges them through shared memory and barriers, leaves the same values in all registers and in shared
//! memory. That is shown for the whole thread block: each thread is evaluated by its own number, on the same unknown registers
//! and memory, from the branch to a place where both sides have met. The branch must be taken by all threads of the block or by
//! none, so the predicate is the same in all of them, and none has left the kernel before. No access stands between the branch
//! and the barrier in front of it, nor between the end of the side that is left out and the next barrier: so the order of
//! accesses outside is unchanged.
//!
//! **Parts** of two kernels that do the same, from a barrier on, in blocks of one known shape or of all shapes, are left out of
//! both (`tails`, `parts`).
//!
//! **Promotions** are loops with `ld [p]` and `st [p]` beside the same loop that has copies between registers in their place,
//! loads `[p]` in front and stores it where the loop is left. Both have the same instructions otherwise, in the same order, are
//! entered at their heads, and left behind their ends or by the same branches. Then registers are equal in each iteration, and
//! memory is equal but for the bytes at `[p]`: their value is in the register, if it was loaded in front or stored. A value is
//! read in the loop only where one of both was the case. It is stored at an exit of the loop if each way there leads past a
//! store, or if another register says so, which is set to 1 with each store and to 0 in front. It is proved from the branch's
//! condition that no other access of the loop touches these bytes in the lane. Nothing in the loop publishes or orders
//! accesses, so another thread that looks at them would be a data race. A load in front is one that the first iteration
//! performs, on whatever way, before it stores there.
//!
//! **Unswitched** loops stand side by side and have the same blocks, which differ in accesses and arithmetic and lead to the
//! same places under the same conditions. The predicate of the branch in front, computed again at their heads, is the same in
//! each iteration. Then they are one loop with a branch in each iteration around the code that differs.
//!
//! Uses `program` and `terms`. Each file uses only those before it:
//! - `edits`: changes of a function's text
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
//! - `same`: whether parts of two programs do the same, in blocks of one shape or of all shapes
//! - `tails`: finds parts of two programs that do the same
//! - `parts`: takes them out of both
//! - `straight`: one lane along straight code
//! - `body`: the code of a loop
//! - `iterations`: the terms of a loop in its first iteration, in any one and in the next one, and how often it runs
//! - `apart`: proves that accesses of a loop touch different bytes
//! - `twins`: compares a loop with values in registers with one that has them in memory
//! - `unswitched`: finds two loops with a test in front that can be made in each iteration
//! - `unrolled`: unrolls loops around shuffles
//! - `passes`: the passes, and the driver

mod accesses;
mod actions;
mod apart;
mod body;
mod edits;
mod iterations;
mod known;
mod memory;
mod operation;
mod parts;
mod passes;
mod paths;
mod same;
mod sides;
mod stages;
mod straight;
mod tails;
mod threads;
mod twins;
mod uniform;
mod unrolled;
mod unswitched;
mod values;
mod warp;

#[cfg(feature = "internals")]
pub use passes::steps;
pub(crate) use passes::{LOOPS, Undone, VERSIONS, undone, with_parts};
