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
mod paths;
mod polling;
mod reconverge;
mod scope;
mod stack;
mod transaction;
mod unit;
mod vector;

pub(super) use call::decode as call;
pub(super) use collective::{active_mask, elect, matching, reduction, shuffle, vote, warp_barrier};
pub(super) use control::{barrier, branch, indexed_branch, leave};
pub(super) use decoder::Decoder;
pub(super) use graph::Graph;
pub(super) use inst::Inst;
pub(super) use kernel::{MAX_LOCAL, decode};
pub(super) use memory::{address, atomic, copy_async, fence, load, store};
pub(super) use operand::file_of;
pub(super) use stack::decode as stack;
pub(super) use transaction::{cluster_barrier, map_address, mbarrier};
pub(super) use vector::Element;
