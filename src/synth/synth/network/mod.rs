//! Scan networks: which lane's value each step puts in front of (or behind) a lane's own, and under which condition.
//!
//! In: a sketch with `op`, `state` and `repeat`, and holes for sources and conditions; the network itself is drawn for
//! one number of lanes (`example`), or only its goal is given. Out: expressions with which the steps compute
//! the scan for every number of lanes from 2 to 1,024, executed; and depth, operations, shuffles and conflicts.
//!
//! The operator is only assumed to be associative, unless the sketch says more: a value is an interval of consecutive
//! inputs, and combining intervals that are not adjacent has no value.
//!
//! - `ast`, `read`, `problem`: the tree and its meaning. `run`, `execute`: executing it. `fit`: expressions for tables.
//! - `search`: both searches, `example` and `goal`, and their shared parts (`context`, `tuples`). `resolve`:
//!   which lanes have to combine, where sources are known.
//! - `outcome`, `order`, `measure`, `report`: solutions and their costs. `emit`: their code, `check`: the execution of
//!   that code.

pub mod ast;
mod check;
mod context;
pub mod emit;
mod example;
mod execute;
mod fit;
mod goal;
mod law;
mod measure;
mod order;
mod outcome;
mod problem;
mod read;
mod report;
mod resolve;
mod run;
mod search;
mod tuples;

pub use check::{check, check_code, operators};
pub use emit::{Operator, cuda, ptx, reads};
pub use measure::Measures;
pub use outcome::{Outcome, Solution, Unsat};
pub use problem::Network;
pub use read::problem;
pub use report::{empty, extent, json, table};
pub use search::search;

use super::ast::Statement;

/// Whether a sketch is one of a network.
pub fn is_network(tree: &[Statement]) -> bool {
    tree.iter().any(|statement| matches!(statement, Statement::Network(_)))
}
