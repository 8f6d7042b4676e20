//! Kernels with random control-flow graphs.
//!
//! [`generate`] makes a graph of one seed: `structured` or `arbitrary` draws it, `limits` sees to it
//! that every thread comes to an end, `contents` says what its blocks do. [`emit`] spells it,
//! [`reduce`] takes parts out of it as long as the same judge complains. Nothing depends on a clock
//! or on the order of threads.

mod arbitrary;
mod conditions;
mod contents;
pub mod emit;
mod generate;
pub mod kernel;
mod limits;
pub mod reduce;
mod shapes;
mod structured;

pub use generate::{early_end, kernel, kind};
