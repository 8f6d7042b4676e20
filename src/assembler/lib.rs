//! The real ptxas: its options, where it is, how it is run; and putting the stand-in in front of it.
//!
//! In: a command line meant for ptxas, and texts. Out: its results, its messages, its exit status. Knows nothing of how PTX
//! is rewritten.
//!
//! # Modules
//!

use ptxasw_machine::sass;
#[cfg(feature = "internals")]
use ptxasw_ptx::unit_tests;
use ptxasw_ptx::{isa, source};

pub mod install;
pub mod ptxas;
