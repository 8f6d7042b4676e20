//! Turns decisions into edits of the original text: drafts of code, then their text at its place ([`Draft`]).
//!
//! In: the text and what [`crate::select`] chose. Out: a new text and a map of its lines. The program
//! is never printed anew: bytes that no edit touches stay as they are. A [`Strategy`] says which code
//! stands for a decision; all strategies work on the same plan.
//!
//! What every strategy has to respect stands in [`laws`], each with what breaks without it.

mod arrays;
mod bytes;
mod carried;
mod checks;
mod edit;
mod fields;
pub mod laws;
mod mention;
mod names;
mod plan;
mod rows;
mod strategy;
mod structs;
mod taps;
mod vectors;

pub use bytes::{Assembly, SentWord};
pub use edit::{Edit, Edits, Overlap};
pub use mention::{Draft, Misplaced};
pub use names::{Fresh, Names};
pub use plan::{KernelPlan, Replacement, Transfer, plan};
pub use strategy::{Mode, Strategy, strategy};
