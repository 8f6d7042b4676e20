//! The memory accesses of a kernel, and the ones that may be replaced.
//!
//! In: a kernel and its graph. Out: a trace of symbolic addresses ([`emulate`]); every legal replacement with its guards, or
//! the reason why there is none ([`reuse`], [`collective`]); scalar evolution ([`loops`]); values of terms in the lanes of a
//! warp ([`lanes`]), and those that are uniform ([`uniform`]); sectors and wavefronts of each access ([`traffic`]).
//!
//! Promises: nothing here chooses, and nothing writes text. An instruction that is not modelled makes its results unknown,
//! and an unknown forbids a replacement.
//!
//! # Where to start
//!
//! - `src/analysis/emulate/trace.rs`: the memory trace
//! - `src/analysis/emulate/semantics/mod.rs`: the values of instructions as terms
//! - `src/analysis/reuse/legality.rs`: the legal replacements of loads
//! - `src/analysis/reuse/availability.rs`: stores, barriers and calls that end the availability of a value
//! - `src/analysis/reuse/prove.rs`: the proof that two lanes have equal addresses
//!
//! Example: `cargo run -p ptxasw-analysis --example trace`.

#[macro_use]
extern crate ptxasw_ptx;

use ptxasw_graph as cfg;
#[cfg(feature = "internals")]
use ptxasw_ptx::unit_tests;
use ptxasw_ptx::{bytes, isa, planted, ptx, source};
use ptxasw_terms::{expr, solver};

pub mod collective;
pub mod emulate;
pub mod lanes;
pub mod loops;
pub mod reuse;
pub mod traffic;
pub mod uniform;
