//! The output: verdicts, terms in words, counterexamples and their execution.
//!
//! Uses `program`, `terms`, `record` and `proof`. Each file uses only those before it:
//! - `verdict`: the verdict and its reasons
//! - `reachable`: facts of every reachable state
//! - `describe`: terms in words
//! - `concrete`: evaluates a counterexample on numbers
//! - `counterexample`: a state in which two terms differ
//! - `execute`: both kernels run in the interpreter

mod concrete;
pub(in crate::verify) mod counterexample;
mod describe;
pub(in crate::verify) mod execute;
pub(in crate::verify) mod reachable;
mod verdict;

pub(in crate::verify) use concrete::Seen;
pub(in crate::verify) use describe::{missing, why};
pub use verdict::{Counterexample, FunctionReport, Problem, Verdict, Verification};
