//! Control flow: a body flattened to instructions with resolved names, its basic blocks, dominators and loops.
//!
//! In: a parsed function. Out: a [`Flow`].
//!
//! Promises: every path of control is an edge. An unresolved name (a label that does not exist, a register that was not
//! declared) is an error with a place, so no later stage works on a graph that misses a path. Blocks are numbered in
//! reverse postorder.
//!
//! # Where to start
//!
//! - `src/graph/graph.rs`: builds the graph
//! - `src/graph/resolve.rs`: names of registers in nested scopes
//! - `src/graph/transfer.rs`: instructions that transfer control
//! - `src/graph/loops.rs`: natural loops and their nesting
//! - `src/graph/convergence.rs`: temporal divergence: lanes that reconverge in different iterations
//!
//! Example: `cargo run -p ptxasw-graph --example blocks`.

#[macro_use]
extern crate ptxasw_ptx;

#[cfg(feature = "internals")]
use ptxasw_ptx::unit_tests;
use ptxasw_ptx::{isa, ptx, source};

mod behind;
mod block;
mod callee;
mod convergence;
mod dominators;
mod dot;
mod graph;
mod inst;
mod loops;
mod reach;
mod reconvergence_points;
mod register;
mod resolve;
mod scopes;
mod transfer;
mod warp;

pub use behind::{PostDominators, reached};
pub use block::{Block, BlockId, Edge, EdgeCondition};
pub use convergence::Divergence;
pub use dominators::DominatorTree;
pub use dot::dot;
pub use graph::{Flow, build, meeting_places};
pub use inst::{InstId, InstRange};
pub use loops::{Loop, LoopForest, LoopId};
pub use register::{Register, RegisterId};
pub use resolve::{Arg, Base, Inst};
pub use scopes::{DeclaredNames, NameMeaning, Scopes};
pub use transfer::Transfer;
