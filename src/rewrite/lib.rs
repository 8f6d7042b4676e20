//! From the analysis to a new text: patterns, their costs, the choice, and edits of the original.
//!
//! In: a file and options ([`pipeline::Options`]). Out: the text with the chosen changes, and a report of each decision
//! ([`report`]).
//!
//! Promises: the original is never printed anew; outside of edits each byte stays. The laws of a rewrite are
//! numbered in `src/rewrite/rewrite/laws.rs`. The output depends on the bytes of the input and on the options alone.
//!
//! # Where to start
//!
//! - `src/rewrite/pipeline/mod.rs`: a file from text to text, as one function
//! - `src/rewrite/patterns/mod.rs`: the patterns and their order
//! - `src/rewrite/patterns/finder.rs`: the search state that patterns share, and whether a replacement is profitable
//! - `src/rewrite/select/mod.rs`: the choice
//! - `src/rewrite/rewrite/laws.rs`: the laws, each with what breaks without it
//!
//! Example: `cargo run -p ptxasw-rewrite --example stencil`.

#[macro_use]
extern crate ptxasw_ptx;

use ptxasw_analysis::{collective, emulate, lanes, loops, reuse, traffic, uniform};
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
