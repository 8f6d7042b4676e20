//! Hash-consed bit-vector terms in normal form, and z3 behind three-valued answers.
//!
//! In: constants, symbols and operations. Out: terms, equal ones being one, their ranges, and a proof of an equality or
//! of its opposite, within a budget by count. Nothing here knows PTX.
//!
//! # Modules
//!

#[macro_use]
extern crate ptxasw_ptx;

use ptxasw_ptx::timings;
#[cfg(feature = "internals")]
use ptxasw_ptx::unit_tests;

pub mod expr;
pub mod solver;
