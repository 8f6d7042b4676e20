//! Execution of a decoded kernel: grid, blocks, warps, lanes.

mod access;
mod atomic;
mod banks;
mod barrier;
mod blame;
mod block;
mod bulk;
mod call;
mod collective;
mod copy;
mod fragment;
mod gates;
mod grid;
mod group;
mod heap;
mod join;
mod machine;
mod mbarrier;
mod part;
mod printf;
mod schedule;
mod stack;
mod step;
mod symbols;
mod tally;
mod together;
mod warp;
mod watch;

pub(super) use access::Spaces;
pub(super) use grid::{run, run_blocks, run_side_by_side};
pub(super) use heap::Heap;
pub(super) use machine::Machine;
pub(super) use mbarrier::pending_count;
pub(super) use part::AccessFault;
pub(super) use symbols::format_of;
