//! Execution of a decoded kernel: grid, blocks, warps, lanes.

mod abreast;
mod access;
mod atomic;
mod banks;
mod barrier;
mod block;
mod bulk;
mod call;
mod collective;
mod copy;
mod follow;
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
mod tally;
mod together;
mod warp;
mod watch;

pub use abreast::{Plan, Room, Row, Sheet, run as run_abreast};
pub use access::AccessFault;
pub use follow::Follow;
pub use grid::{run, run_side_by_side};
pub use heap::Heap;
pub use machine::Machine;
pub use mbarrier::pending_count;
