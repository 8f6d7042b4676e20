//! Costs: data files for each architecture, and the static schedule of machine code.
//!
//! In: a choice, or a cubin. Out: cycles, registers, resident warps.
//!
//! # Modules
//!

#[cfg(feature = "internals")]
use ptxasw_ptx::unit_tests;
use ptxasw_ptx::{isa, parallel};

pub mod cost;
pub mod sass;
