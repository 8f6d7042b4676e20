//! Translation validation: proves that a rewritten PTX file is equivalent to the original.
//!
//! In: two files. Out: a [`Verification`]: for each function *equal*, *different* with a
//! counterexample, or *unknown* with the reason. The validator does not know how our own rewriter
//! works: both texts are evaluated symbolically, a shuffle that only the rewritten one has delivers
//! "the value of the same expression in lane L + n" where the warp is whole, and every store, atomic,
//! call, barrier and exit must happen under the same condition with the same operands. So rewrites by
//! hand are judged as well.
//!
//! **Architecture invariant:** this crate cannot name the analysis or the rewriter. It shares with them syntax, graph,
//! terms and the solver: `beliefs` lists these beliefs, and what checks each from outside.
//!
//! Two assumptions are taken for granted, and shown with every verdict: the original is free of data
//! races; and lanes that `activemask` reports together in a loop are in the same iteration, wherever
//! control flow lets them reconverge only so.
//!
//! # The rooms, from the ground up
//!
//! Each room uses only those before it, and each file of a room only those before it in the list of the room's
//! `mod.rs` (`tests/layering.rs` checks both):
//! - `program`: the two programs before evaluation: how the validator treats each instruction, and which instructions
//!   match
//! - `terms`: terms of both programs: their symbols and functions, and equalities that hold without a proof
//! - `undo`: undoes versions of code: branches whose sides do the same, loops beside the same loop, unrolled loops
//! - `record`: the results of an evaluation, as data
//! - `lane`: evaluates one lane of one program. It proves nothing: questions about other lanes go to an `Oracle`
//! - `proof`: terms as other lanes have them, and whether two terms are equal at a place
//! - `oracle`: the oracle of the rewritten program: the results of its warp instructions, and which terms equal the
//!   original's
//! - `witness`: the output: verdicts, terms in words, counterexamples and their execution
//! - `compare`: compares two evaluated functions, event by event, and two files
//!
//! # Where to start
//!
//! - `src/verify/program/beliefs.rs`: the beliefs that the validator shares with the analysis
//! - `src/verify/program/instructions.rs`: how it treats each instruction
//! - `src/verify/lane/evaluate.rs`: evaluates one lane of one program
//! - `src/verify/proof/prove.rs`: whether two terms are equal at a place
//! - `src/verify/compare/mod.rs`: compares two evaluated functions, event by event
//!
//! Example: `cargo run -p ptxasw-verify --example pair`.

#[macro_use]
extern crate ptxasw_ptx;

use ptxasw_graph as cfg;
use ptxasw_interp::{interp, launch};
#[cfg(feature = "internals")]
use ptxasw_ptx::unit_tests;
use ptxasw_ptx::{bytes, isa, kernels, parallel, ptx, source};
use ptxasw_terms::{expr, solver};

mod compare;
mod lane;
mod oracle;
mod program;
mod proof;
mod record;
mod terms;
mod undo;
mod witness;

use std::path::PathBuf;
use std::sync::Arc;

pub use compare::{only_kernels, under_names, verify};
pub use program::{Certificate, Change, FunctionCertificate, Kind, Lemma, Lines, Replaced};
pub use terms::Precondition;
#[cfg(feature = "internals")]
pub use undo::steps;
pub use witness::{
    CertificateOutcome, Counterexample, FunctionReport, Problem, Verdict, Verification,
};

/// Bounds on the work, by count, so that giving up is reproducible.
#[derive(Clone, Debug)]
pub struct Options {
    /// The only kernel or function to look at, if one is named.
    pub kernel: Option<String>,
    /// The name that the rewritten file gives that kernel, if it is another one; texts come with the original's name
    /// ([`under_names`]).
    pub against: Option<String>,
    /// The shape that blocks are taken to have, in threads; of kernels with `.reqntid` they have that one.
    pub block: Option<[u32; 3]>,
    /// Parameters of the original that are taken to be multiples of a power of two, each with that number.
    pub aligned: Vec<(String, u64)>,
    /// Conditions on the original's parameters that are taken to hold.
    pub preconditions: Vec<Precondition>,
    /// Pointer parameters of the original: no byte that is accessed by an address made of one of them is accessed by one
    /// made of another.
    pub no_alias: Vec<String>,
    /// Whether sums and products of fewer bits are taken not to wrap around where they are widened to an address.
    pub assume_no_wrap: bool,
    /// z3's resource limit for one query.
    pub solver_limit: u32,
    /// The budget of all queries for one function together, in z3's units.
    pub solver_budget: u64,
    /// The most queries for one function.
    pub queries: u32,
    /// The most work with terms for one function, in the steps of [`crate::expr::Arena::charge`].
    pub steps: u64,
    /// The most instructions of a function.
    pub instructions: usize,
    /// The most registers carried times blocks.
    pub merges: usize,
    /// The most instructions times the loops around them.
    pub nesting: usize,
    /// Whether functions that are not proved are compared without the parts that do the same in blocks of one shape. Our
    /// own rewrites need no such proof.
    pub by_parts: bool,
    /// The rewriter's description of its changes. Functions that are not proved with it are judged as without it.
    pub certificate: Option<Arc<Certificate>>,
    /// A function that is not proved with its certificate gets its budgets divided by this for the proof without.
    pub search_divisor: u32,
    /// Whether the first problem of a function is enough. No counterexample is looked for then.
    pub is_brief: bool,
    /// A folder to write each query to as SMT-LIB.
    pub dump_queries: Option<PathBuf>,
}

impl Options {
    /// Those of a proof in a build, which is not to take long beside the assembler: a rewriting that needs more work is not
    /// used.
    pub fn for_builds() -> Options {
        Options {
            steps: 10_000_000,
            solver_budget: 1_000_000,
            queries: 256,
            by_parts: false,
            search_divisor: 4,
            is_brief: true,
            ..Options::default()
        }
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            kernel: None,
            against: None,
            block: None,
            aligned: Vec::new(),
            preconditions: Vec::new(),
            no_alias: Vec::new(),
            assume_no_wrap: false,
            solver_limit: 2_000_000,
            solver_budget: 40_000_000,
            queries: 4096,
            steps: 400_000_000,
            instructions: 100_000,
            merges: 20_000_000,
            nesting: 4_000_000,
            by_parts: true,
            certificate: None,
            search_divisor: 1,
            is_brief: false,
            dump_queries: None,
        }
    }
}
