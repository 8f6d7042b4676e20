//! The real ptxas: its options, where it is, how it is run; and putting the stand-in in front of it.
//!
//! In: a command line meant for ptxas, and texts. Out: its results, its messages, its exit status.
//!
//! Promises: a call that ptxas accepts is accepted; any failure of ours leads to the original input. At no moment of an
//! installation is there no real assembler. Nothing here knows how PTX is rewritten: the rewriter is handed in as a
//! function.
//!
//! # Where to start
//!
//! - `src/assembler/ptxas/command_line.rs`: the inputs and the output of a call
//! - `src/assembler/ptxas/assemble.rs`: a whole call, which falls back to the originals
//! - `src/assembler/ptxas/check.rs`: assembles both texts and undoes a rewrite that lost
//! - `src/assembler/ptxas/invoke.rs`: starts the real ptxas
//! - `src/assembler/install/mod.rs`: installs in front of an assembler
//!
//! Example: `cargo run -p ptxasw-assembler --example call`.

use ptxasw_machine::sass;
#[cfg(feature = "internals")]
use ptxasw_ptx::unit_tests;
use ptxasw_ptx::{isa, source};

pub mod install;
pub mod ptxas;
