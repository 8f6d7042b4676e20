//! Sketches of data movement whose index expressions are searched for, and calls of holes in kernels.
//!
//! In: a sketch, or a kernel with holes and its specification. Out: solutions as PTX and CUDA, executed for a check.
//!
//! # Modules
//!

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
