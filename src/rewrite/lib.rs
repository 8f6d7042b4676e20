//! From the analysis to a new text: patterns, their costs, the choice, and edits of the original.
//!
//! In: a file and options ([`pipeline::Options`]). Out: the text in which only what was chosen has changed, and a report of
//! each decision ([`report`]). The original is never printed anew: where there is no edit, no byte changes.
//!
//! # Modules
//!

#[macro_use]
extern crate ptxasw_ptx;

use ptxasw_analysis::{collective, emulate, reuse, traffic};
use ptxasw_graph as cfg;
use ptxasw_machine::{cost, sass};
#[cfg(feature = "internals")]
use ptxasw_ptx::unit_tests;
use ptxasw_ptx::{bytes, isa, kernels, parallel, planted, ptx, source, strategies, timings};
use ptxasw_terms::{expr, solver};
use ptxasw_verify as verify;

pub mod patterns;
pub mod pipeline;
pub mod profile;
pub mod remarks;
pub mod report;
pub mod requests;
pub mod rewrite;
pub mod select;
pub mod tracing;
