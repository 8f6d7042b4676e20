//! Synthesis of data movement: sketches of programs whose index expressions are to be found.
//!
//! A sketch (`grammar/sketch.pest`) says where values are, where they shall go, and in which steps; in the place of an
//! unknown index it names a family of expressions. Out: the members of the families with which every goal cell holds
//! its value, and their costs; or the proof that there are none.
//!
//! - `parse`, `ast`, `expr`: the text and its tree. `lower`: the tree as a straight line over cells (`program`).
//! - `term`: the value of a cell. `family`: the search space of a hole. `enumerate`: expressions bottom up. `search`:
//!   the search. `report`, `states`, `resources`: its results.
//! - `network`, `place`: networks of scans, and places in shared memory, each with a search of its own.
//! - `scan`: sketches of loops, for which an associative operator is looked for.
//! - `declared`: params and axes of all kinds of sketches. `problem`: all kinds of sketches behind one trait.
//! - `emit`: solutions as PTX and CUDA, and the checks of that code. `library`: headers of solutions.

pub mod ast;
mod declared;
pub mod emit;
mod enumerate;
pub mod expr;
pub mod family;
pub mod library;
pub mod lower;
pub mod network;
mod parse;
pub mod place;
pub mod problem;
pub mod program;
pub mod report;
pub mod resources;
pub mod scan;
pub mod search;
pub mod term;

pub use lower::{Defines, Lowered};
pub use parse::parse;

/// The params of a sketch.
pub fn params(tree: &[ast::Statement]) -> impl Iterator<Item = &str> {
    tree.iter().filter_map(|statement| match statement {
        ast::Statement::Param(name, _) => Some(name.text.as_str()),
        _ => None,
    })
}
