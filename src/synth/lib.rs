//! Sketches of data movement whose index expressions are searched for, and calls of holes in kernels.
//!
//! In: a sketch, or a kernel with holes and its specification. Out: solutions as PTX and CUDA, executed for a check; or the
//! proof that there are none.
//!
//! Promises: a solution meets all goals of its sketch for all lanes. The search is bounded by counts, and its results do
//! not depend on the number of threads. A filled kernel is proved equal to its specification.
//!
//! # Where to start
//!
//! - `src/synth/synth/problem/mod.rs`: the kinds of sketches behind one trait
//! - `src/synth/synth/search/mod.rs`: the search for tables
//! - `src/synth/synth/scan/mod.rs`: from a serial loop to an associative operator
//! - `src/synth/synth/emit/mod.rs`: solutions as code
//! - `src/synth/holes/mod.rs`: holes in CUDA kernels
//!
//! Example: `cargo run -p ptxasw-synth --example structs`.

#[macro_use]
extern crate ptxasw_ptx;

use ptxasw_analysis::{emulate, reuse};
use ptxasw_graph as cfg;
use ptxasw_interp::{interp, launch};
use ptxasw_machine::cost;
#[cfg(feature = "internals")]
use ptxasw_ptx::unit_tests;
use ptxasw_ptx::{isa, parallel, ptx, source};
use ptxasw_rewrite::rewrite;
use ptxasw_terms::solver;

pub mod holes;
pub mod synth;
