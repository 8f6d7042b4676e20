//! Hash-consed bit-vector terms in normal form, and z3 behind three-valued answers.
//!
//! In: constants, symbols and operations. Out: terms with their ranges, and a proof of an equality or of its opposite.
//!
//! Promises: equal terms in normal form have equal ids. Work is bounded by counts, so an answer is the same on every
//! machine; an unknown is an answer. Nothing here knows PTX. z3's library is loaded for the first claim that needs it.
//!
//! # Where to start
//!
//! - `src/terms/expr/mod.rs`: terms and their normal form
//! - `src/terms/expr/linear.rs`: sums and products
//! - `src/terms/expr/facts.rs`: conjunctions of predicates that hold
//! - `src/terms/solver/mod.rs`: claims: cheap rules first, then z3
//! - `src/terms/expr/refute.rs`: contradictions among predicates
//!
//! Example: `cargo run -p ptxasw-terms --example identity`.

#[macro_use]
extern crate ptxasw_ptx;

use ptxasw_ptx::timings;
#[cfg(feature = "internals")]
use ptxasw_ptx::unit_tests;

pub mod expr;
pub mod solver;
