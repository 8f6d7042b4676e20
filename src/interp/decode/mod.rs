//! From the syntax tree to a [`Program`](super::program::Program): every name resolved, every instruction turned into
//! micro-operations.
//!
//! A function is decoded when the kernel can reach it. An instruction that is not modelled does
//! not stop the decoder: it becomes an operation that faults when a lane executes it, so that a
//! kernel runs as long as it stays clear of such instructions.

mod apply;
mod atomic;
mod body;
mod call;
mod collective;
mod control;
mod decoder;
mod graph;
mod inst;
mod kernel;
mod memory;
mod operand;
mod reconverge;
mod scope;
mod stack;
mod transaction;
mod unit;
mod vector;
mod ways;

pub use call::decode as call;
pub use collective::{active_mask, elect, matching, reduction, shuffle, vote, warp_barrier};
pub use control::{barrier, branch, indexed_branch, leave};
pub use decoder::Decoder;
pub use graph::Graph;
pub use inst::Inst;
pub use kernel::{MAX_LOCAL, decode};
pub use memory::{address, atomic, copy_async, fence, load, store};
pub use operand::file_of;
pub use stack::decode as stack;
pub use transaction::{cluster_barrier, map_address, mbarrier};
pub use vector::Element;
