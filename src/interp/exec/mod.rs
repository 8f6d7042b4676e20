//! A decoded kernel is executed: grid, blocks, warps, lanes.

mod access;
mod barrier;
mod block;
mod call;
mod collective;
mod grid;
mod machine;
mod printf;
mod warp;

pub use grid::{run, run_side_by_side};
pub use machine::Machine;
