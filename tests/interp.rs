//! The concrete interpreter against results that were computed without it.

#[path = "interp/bed.rs"]
mod bed;
#[path = "interp/classic.rs"]
mod classic;
#[path = "interp/cli.rs"]
mod cli;
#[path = "interp/faults.rs"]
mod faults;
#[path = "interp/instructions.rs"]
mod instructions;
#[path = "interp/matrix.rs"]
mod matrix;
#[path = "interp/numeric.rs"]
mod numeric;
#[path = "interp/samples.rs"]
mod samples;
#[path = "common/shapes.rs"]
mod shapes;
#[path = "interp/tensor.rs"]
mod tensor;
