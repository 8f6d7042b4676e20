//! From a serial loop to an associative operator.
//!
//! In: a sketch with a `loop`. Out: auxiliary accumulators with which the state after two lists is a function of the
//! states after each, that function, and a proof of its laws for lists of all lengths; or why there is none.
//!
//! - `language`, `sorts`, `subject`: the loop. `term`: expressions. `examples`: lists on which loops are run.
//! - `auxiliary`: which accumulators are tried. `bank`, `fit`: the function, from examples. `growth`: loops
//!   for which there is none.
//! - `laws`, `invariants`: the proof. `search`: all of it; lists that refute a candidate become examples. `report`: the
//!   output. `emit`: code.

mod auxiliary;
mod bank;
pub mod emit;
mod examples;
mod fit;
mod growth;
mod invariants;
mod language;
mod laws;
pub mod report;
mod search;
mod sorts;
mod subject;
mod term;

pub use language::{is_loop, read};
pub use search::{Found, Outcome, solve};
pub use subject::Loop;
