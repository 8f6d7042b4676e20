//! Tools on top of the analysis: `lint`, drafts of launch files, the HTML page, and variants timed on a GPU.
//!
//! # Modules
//!

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
