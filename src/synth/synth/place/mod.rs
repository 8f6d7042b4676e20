//! Where the elements of an array lie in shared memory, so that warps access it in few wavefronts.
//!
//! In: a sketch with `shared` and `access`. Out: the cheapest padding or xor swizzle (all are tried), and a lower bound
//! for any placement.
//!
//! - `ast`, `problem`: the tree and its meaning. `family`: the placements to try.
//!   `search`: trying them. `report`: the result. `emit`: a kernel with these accesses.
//!   `check`: its execution.

pub mod ast;
mod check;
mod emit;
mod family;
mod problem;
mod report;
mod search;

pub use check::check;
pub use emit::ptx;
pub use problem::{Placement, problem};
pub use report::{empty, json, table};
pub use search::{Outcome, search};

use super::ast::Statement;

/// Whether a sketch is one of a placement.
pub fn is_placement(tree: &[Statement]) -> bool {
    tree.iter().any(|statement| matches!(statement, Statement::Place(_)))
}
