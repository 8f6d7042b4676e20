//! Runs kernels on the CPU: a launch file, and an interpreter with checks of each access.
//!
//! In: a module and a [`launch::Launch`]. Out: the buffers afterwards, and each race, access out of bounds or use of
//! memory that nobody wrote, with its line. The meaning of instructions is this crate's own: it shares none with the
//! emulation or the validator, and so judges both.
//!
//! # Modules
//!

#[macro_use]
extern crate ptxasw_ptx;

use ptxasw_ptx::{isa, kernels, parallel, ptx, source};

pub mod float;
pub mod interp;
pub mod launch;
