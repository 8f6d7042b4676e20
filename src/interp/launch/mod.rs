//! The launch file: which kernel to run, on how many threads, with which contents of its buffers.
//! `run`, `verify` and `ab` share it.
//!
//! In: a text in JSON (see [`Launch::from_json`] for its form). Out: plain bytes, the same on every
//! machine.

pub mod bind;
mod expect;
mod fill;
mod json;
mod meet;
mod model;
mod number;
mod object;

pub use expect::{Difference, Expectation, Tolerance};
pub use meet::Meet;
pub use model::{Argument, Buffer, DEFAULT_LIMIT, Launch, Pointer};
pub use number::{Type, show};
