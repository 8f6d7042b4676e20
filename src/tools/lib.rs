//! Tools on top of the analysis: `lint`, drafts of launch files, the HTML page, and variants timed on a GPU.
//!
//! In: PTX, or the JSON of other subcommands. Out: findings, a launch file, a page, a verdict about times.
//!
//! Promises: `lint` reports facts that are certain under its assumptions, and says nothing otherwise. A draft says what was
//! guessed. Nothing is timed before its output was compared with the original's, bit by bit.
//!
//! # Where to start
//!
//! - `src/tools/lint/rule.rs`: the rules of `lint` by name
//! - `src/tools/lint/rules/mod.rs`: the rules
//! - `src/tools/draft/mod.rs`: drafts of launch files
//! - `src/tools/page/mod.rs`: the HTML page
//! - `src/tools/ab/mod.rs`: timing on a GPU
//!
//! Example: `cargo run -p ptxasw-tools --example lint`.

use ptxasw_analysis::{collective, emulate, reuse, traffic};
use ptxasw_assembler::ptxas;
use ptxasw_graph as cfg;
use ptxasw_interp::{interp, launch};
#[cfg(feature = "internals")]
use ptxasw_ptx::unit_tests;
use ptxasw_ptx::{isa, kernels, parallel, ptx, source, strategies};
use ptxasw_rewrite::{pipeline, profile, report, select};
use ptxasw_terms::expr;

pub mod ab;
pub mod draft;
pub mod lint;
pub mod page;
