//! Translation validation: proves that a rewritten PTX file does what the original does.
//!
//! In: two files. Out: a [`Verification`]: for each function *equal*, *different* with a
//! counterexample, or *unknown* with the reason. Nothing here knows how our own rewriter works: both
//! texts are evaluated symbolically, a shuffle that only the rewritten one has delivers "the value
//! of the same expression in lane L + n" where the warp is whole, and every store, atomic, call,
//! barrier and exit must happen under the same condition with the same operands. So rewrites by hand
//! are judged as well.
//!
//! **Architecture invariant:** nothing here uses `emulate`, `reuse`, `select` or `rewrite`. What is shared
//! with the analysis are syntax, graph, terms and the solver: `beliefs` says which beliefs that are,
//! and what checks each from outside.
//!
//! What is taken for granted, and shown with every verdict: the original is free of data races;
//! lanes that `activemask` reports together in a loop are in the same iteration, wherever control
//! flow lets them meet only so.

mod align;
mod apart;
mod beliefs;
mod commute;
mod compare;
mod comparison;
mod concrete;
mod conditions;
mod converged;
mod counterexample;
mod current;
mod cuts;
mod describe;
mod difference;
mod division;
mod evaluate;
mod events;
mod execute;
mod execution;
mod facts;
mod faults;
mod hardware;
mod induction;
mod instructions;
mod joins;
mod lanes;
mod memory;
mod module;
mod moves;
mod opaque;
mod operands;
mod outside;
mod parts;
mod place;
mod program;
mod proof;
mod prove;
mod query;
mod rounds;
mod same_load;
mod semantics;
mod setp;
mod settle;
mod special;
mod state;
mod symbols;
mod taint;
mod verdict;
mod versions;
mod warp;
mod window;
mod witness;
mod wrap;

use std::path::PathBuf;

pub use module::verify;
pub use verdict::{Counterexample, FunctionReport, Problem, Verdict, Verification};

/// Bounds on the work, by count, so that giving up is reproducible.
#[derive(Clone, Debug)]
pub struct Options {
    /// Only this kernel or function.
    pub kernel: Option<String>,
    /// z3's resource limit for one query.
    pub solver_limit: u32,
    /// What all queries for one function may take together, in z3's units.
    pub solver_budget: u64,
    /// Queries for one function.
    pub queries: u32,
    /// Work with terms for one function, in the steps of [`crate::expr::Arena::charge`].
    pub steps: u64,
    /// Instructions of a function.
    pub instructions: usize,
    /// Registers carried times blocks.
    pub merges: usize,
    /// Instructions times the loops around them.
    pub nesting: usize,
    /// Write each query to this folder as SMT-LIB.
    pub dump_queries: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            kernel: None,
            solver_limit: 2_000_000,
            solver_budget: 40_000_000,
            queries: 4096,
            steps: 40_000_000,
            instructions: 100_000,
            merges: 20_000_000,
            nesting: 4_000_000,
            dump_queries: None,
        }
    }
}
