//! Runs kernels on the CPU: a launch file, and an interpreter with checks of each access.
//!
//! In: a module and a [`launch::Launch`]. Out: the buffers afterwards and counts of events; or a fault with its line: a race,
//! an access out of bounds, a deadlock, a use of memory that nobody wrote.
//!
//! Promises: the meaning of instructions is this crate's own. It shares none with the emulation or the validator, and so
//! judges both. A run is deterministic. An instruction that is not modelled is refused by name.
//!
//! # Where to start
//!
//! - `src/interp/interp/mod.rs`: what a run promises
//! - `src/interp/interp/ops/mod.rs`: instructions: decoding, by family
//! - `src/interp/interp/exec/warp.rs`: one warp: diverged lanes, reconvergence, the loop of execution
//! - `src/interp/interp/memory/mod.rs`: the address space and its bytes
//! - `src/interp/launch/json.rs`: launch files
//!
//! Example: `cargo run -p ptxasw-interp --example vecadd`.

#[macro_use]
extern crate ptxasw_ptx;

#[cfg(feature = "internals")]
use ptxasw_ptx::unit_tests;
use ptxasw_ptx::{isa, kernels, parallel, ptx, source};

mod algebra;
pub mod float;
pub mod interp;
pub mod launch;
