//! Translation validation: proves that a rewritten PTX file does what the original does.
//!
//! In: two files. Out: a [`Verification`]: for each function *equal*, *different* with a
//! counterexample, or *unknown* with the reason. The validator does not know how our own rewriter
//! works: both texts are evaluated symbolically, a shuffle that only the rewritten one has delivers
//! "the value of the same expression in lane L + n" where the warp is whole, and every store, atomic,
//! call, barrier and exit must happen under the same condition with the same operands. So rewrites by
//! hand are judged as well.
//!
//! **Architecture invariant:** no file here uses `emulate`, `reuse`, `select` or `rewrite`. Shared
//! with the analysis are syntax, graph, terms and the solver: `beliefs` says which beliefs that are,
//! and what checks each from outside.
//!
//! Two assumptions are taken for granted, and shown with every verdict: the original is free of data
//! races; and lanes that `activemask` reports together in a loop are in the same iteration, wherever
//! control flow lets them meet only so.
//!
//! # The files, from the ground up
//!
//! Each file uses only those before it, so they can be read in this order (a test checks it).
//!
//! The two programs:
//! - `beliefs`: what is shared with the analysis, and what checks it; no code
//! - `window`: the parts of memory that have versions of their own
//! - `special`: which special registers keep their values, and for whom
//! - `instructions`: what each instruction is: pure, a load, or an event
//! - `program`: a function prepared for evaluation
//! - `signatures`: which instructions an assembler takes
//! - `wellformed`: whether an assembler takes a function's text
//! - `difference`: what two sequences have in common
//! - `align`: which instruction of the one program stands for which of the other
//! - `split`: vector stores that stand for several stores
//! - `apart`: reasons for lanes to part that only the rewritten program has
//! - `arrays`: the arrays in shared memory and all accesses to them
//!
//! Terms:
//! - `functions`: the uninterpreted functions of terms
//! - `symbols`: the free symbols of both programs, and the terms made of them
//! - `conditions`: path conditions, and terms simplified by them
//! - `truth`: which predicates others decide by logic alone
//! - `commute`: operands whose order does not matter
//! - `division`: facts about quotients and remainders
//! - `wrap`: equal unless something wraps around, decided without a solver
//! - `parts`: what the equality of two terms comes to by their structure
//! - `hardware`: what holds of every lane by the layout of blocks
//! - `layout`: functions that say where the bytes of an array in shared memory have gone
//!
//! What an evaluation gives:
//! - `execution`: events, loads, stores and loops, as data
//! - `versions`: versions of memory, and why two lanes read the same from one
//! - `turns`: terms of a loop's header where it is entered and comes round
//! - `place`: a block with everything that is known to hold there
//! - `layouts`: the layout of each array in shared memory, from both texts
//!
//! Evaluating one lane of one program; no claim is proved here, other lanes are a `Guide`'s business:
//! - `state`: the values at an instruction, and the `Guide` that is asked about them
//! - `operands`: operands as terms, results into destinations
//! - `opaque`: instructions as uninterpreted functions
//! - `moves`: `mov`
//! - `setp`: comparisons
//! - `semantics`: what the other instructions compute
//! - `memory`: loads and stores
//! - `current`: whether what was loaded is what memory holds now
//! - `joins`: where ways meet: conditions of edges, joined states, loops
//! - `cuts`: the same for cycles with several entries
//! - `evaluate`: each block once
//! - `congruence`: which registers go round loops alike
//!
//! Other lanes, and proofs:
//! - `shifted`: a term in another lane, given how symbols are related
//! - `lanes`: how they are related, by induction over iterations
//! - `facts`: what the solver is told of a place
//! - `flags`: what predicates that go round loops say
//! - `induction`: registers of a loop that keep their distance
//! - `remainder`: the low bits of what goes round loops
//! - `pinned`: symbols that can have only one value
//! - `by_lane`: terms of one lane, and what shuffles deliver lane by lane
//! - `claims`: claims decided by search and by the solver, and remembered
//! - `query`: a claim put to the solver
//! - `same_load`: when two loads deliver the same
//! - `proof`: what a claim came to
//! - `prove`: whether two terms are equal at a place
//!
//! The `Guide` of the rewritten program:
//! - `taint`: which values came from another lane
//! - `together`: whether lanes that were together still are
//! - `exchange`: stores between two barriers of a warp, and the original's in whose place they stand
//! - `warp`: `activemask`, `shfl.sync`, `vote.sync`
//! - `settle`: the rewritten program's values brought back to the original's
//!
//! The comparison:
//! - `verdict`: what is said in the end
//! - `reachable`: what holds in every state that can come up
//! - `describe`: terms in words
//! - `concrete`: a counterexample worked out on numbers
//! - `counterexample`: a state in which two terms differ
//! - `execute`: both kernels run in the interpreter
//! - `comparison`: two evaluated functions, and what was found wrong so far
//! - `witness`: a claim that was not shown becomes a problem, with a counterexample if there is one
//! - `rounds`: what goes into loops and comes round
//! - `events`: event by event
//! - `carried`: what registers that only the rewritten program has hold in each iteration
//! - `elsewhere`: what other lanes of the warp load
//! - `exchanged`: what other lanes of the warp store
//! - `faults`: what only the rewritten program loads
//! - `stores`: whether a vector store does what the stores of its elements do
//! - `converged`: results that depend on which lanes are together
//! - `compare`: two functions
//! - `outside`: what stands outside of functions
//! - `renamed`: a kernel under the names of another one
//! - `module`: two files

mod align;
mod apart;
mod arrays;
mod beliefs;
mod by_lane;
mod carried;
mod claims;
mod commute;
mod compare;
mod comparison;
mod concrete;
mod conditions;
mod congruence;
mod converged;
mod counterexample;
mod current;
mod cuts;
mod describe;
mod difference;
mod division;
mod elsewhere;
mod evaluate;
mod events;
mod exchange;
mod exchanged;
mod execute;
mod execution;
mod facts;
mod faults;
mod flags;
mod functions;
mod hardware;
mod induction;
mod instructions;
mod joins;
mod lanes;
mod layout;
mod layouts;
mod memory;
mod module;
mod moves;
mod opaque;
mod operands;
mod outside;
mod parts;
mod pinned;
mod place;
mod program;
mod proof;
mod prove;
mod query;
mod reachable;
mod remainder;
mod renamed;
mod rounds;
mod same_load;
mod semantics;
mod setp;
mod settle;
mod shifted;
mod signatures;
mod special;
mod split;
mod state;
mod stores;
mod symbols;
mod taint;
mod together;
mod truth;
mod turns;
mod verdict;
mod versions;
mod warp;
mod wellformed;
mod window;
mod witness;
mod wrap;

use std::path::PathBuf;

pub use module::verify;
pub use renamed::under_names;
pub use verdict::{Counterexample, FunctionReport, Problem, Verdict, Verification};

/// Bounds on the work, by count, so that giving up is reproducible.
#[derive(Clone, Debug)]
pub struct Options {
    /// The only kernel or function to look at, if one is named.
    pub kernel: Option<String>,
    /// The shape that blocks are taken to have, in threads; of kernels with `.reqntid` they have that one.
    pub block: Option<[u32; 3]>,
    /// Parameters of the original that are taken to be multiples of a power of two, each with that number.
    pub aligned: Vec<(String, u64)>,
    /// z3's resource limit for one query.
    pub solver_limit: u32,
    /// What all queries for one function may take together, in z3's units.
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
    /// A folder to write each query to as SMT-LIB.
    pub dump_queries: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            kernel: None,
            block: None,
            aligned: Vec::new(),
            solver_limit: 2_000_000,
            solver_budget: 40_000_000,
            queries: 4096,
            steps: 400_000_000,
            instructions: 100_000,
            merges: 20_000_000,
            nesting: 4_000_000,
            dump_queries: None,
        }
    }
}

#[cfg(feature = "unit-tests")]
mod tests {
    use std::collections::BTreeSet;
    use std::{fs, path::Path};

    crate::unit_tests!(files_can_be_read_in_the_order_of_the_list);

    /// Reads the files in the order above, and the files that each uses.
    fn files_can_be_read_in_the_order_of_the_list() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/verify");
        let listed = include_str!("mod.rs").lines().filter_map(|line| line.strip_prefix("//! - `"));
        let mut before = BTreeSet::from(["Options"]);
        for name in listed.filter_map(|line| line.split('`').next()) {
            let file = folder.join(name).with_extension("rs");
            let text = fs::read_to_string(&file).expect("a file of the list can be read");
            let code = text.split("#[cfg(feature").next().unwrap_or_default();
            for line in code.lines().filter(|line| !line.trim_start().starts_with("//")) {
                for rest in line.split("super::").skip(1) {
                    let used = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next();
                    let used = used.unwrap_or_default();
                    assert!(before.contains(used), "{name} uses {used}, which stands behind it");
                }
            }
            before.insert(name);
        }
        let files = fs::read_dir(&folder).expect("the folder can be read");
        let files = files.flatten().map(|entry| entry.path()).filter(|path| path.is_file());
        // `Options` stands for this file.
        assert_eq!(before.len(), files.count(), "files that are not in the list");
    }
}
