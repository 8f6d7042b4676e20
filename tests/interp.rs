//! The concrete interpreter against results that were computed without it.

use std::path::Path;

#[path = "interp/abreast.rs"]
mod abreast;
#[expect(clippy::disallowed_methods, reason = "finds and starts the real ptxas")]
#[path = "common/assembler.rs"]
mod assembler;
#[path = "interp/bed.rs"]
mod bed;
#[path = "interp/classic.rs"]
mod classic;
#[path = "interp/cli.rs"]
mod cli;
#[path = "interp/coverage.rs"]
mod coverage;
#[path = "interp/faults.rs"]
mod faults;
#[path = "interp/instructions.rs"]
mod instructions;
#[path = "interp/matrix.rs"]
mod matrix;
#[path = "interp/meet.rs"]
mod meet;
#[path = "interp/numeric.rs"]
mod numeric;
#[path = "interp/races.rs"]
mod races;
#[path = "interp/random.rs"]
mod random;
#[path = "interp/samples.rs"]
mod samples;
#[path = "interp/stack.rs"]
mod stack;
#[path = "interp/stencils.rs"]
mod stencils;
#[path = "interp/syntax.rs"]
mod syntax;
#[path = "interp/tensor.rs"]
mod tensor;
#[path = "interp/transaction.rs"]
mod transaction;
#[path = "interp/uninitialized.rs"]
mod uninitialized;

/// The root of the repository.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
