//! What is said in the end: verdicts, terms in words, and counterexamples that are executed.
//!
//! Uses `terms`, `record` and `proof`. The files, each of which uses only those before it:
//! - `verdict`: what is said in the end
//! - `reachable`: what holds in every state that can come up
//! - `describe`: terms in words
//! - `concrete`: a counterexample worked out on numbers
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
