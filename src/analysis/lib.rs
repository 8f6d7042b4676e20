//! The memory accesses of a kernel, and the ones that may be replaced.
//!
//! In: a kernel and its graph. Out: a trace of symbolic addresses ([`emulate`]), every legal replacement with its guards or
//! the reason why there is none ([`reuse`], [`collective`]), and sectors and wavefronts of each access ([`traffic`]).
//! Nothing here chooses, and nothing writes text.
//!
//! # Modules
//!

#[macro_use]
extern crate ptxasw_ptx;

use ptxasw_graph as cfg;
#[cfg(feature = "internals")]
use ptxasw_ptx::unit_tests;
use ptxasw_ptx::{bytes, isa, planted, ptx, source};
use ptxasw_terms::{expr, solver};

pub mod collective;
pub mod emulate;
pub mod reuse;
pub mod traffic;
