//! The concrete interpreter against results that were computed without it.

use crate::common::assembler;
use std::path::Path;

mod bed;
mod classic;
mod cli;
mod coverage;
mod faults;
mod faulty;
mod fidelity;
mod instructions;
mod marked;
mod matrix;
mod meet;
mod numeric;
mod races;
mod random;
mod samples;
mod stack;
mod stencils;
mod syntax;
mod tensor;
mod transaction;
mod uninitialized;

/// The root of the repository.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
