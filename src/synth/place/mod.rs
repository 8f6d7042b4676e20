//! Where the elements of an array lie in shared memory, so that warps access it in few wavefronts.
//!
//! In: a sketch with `shared` and `access`. Out: the cheapest of the paddings and xor swizzles, every one of which was
//! tried, and what no placement whatever can go below.
//!
//! - `ast`, `problem`: the tree and what it says. `family`: what is tried.
//!   `search`: trying it. `report`: what was found. `emit`: a kernel with these accesses.
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
