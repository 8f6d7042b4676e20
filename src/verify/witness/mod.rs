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
pub(crate) mod counterexample;
mod describe;
pub(crate) mod execute;
pub(crate) mod reachable;
mod verdict;

pub(crate) use concrete::Seen;
pub(crate) use describe::{missing, why};
pub use verdict::{
    CertificateOutcome, Counterexample, FunctionReport, Problem, Verdict, Verification,
};
