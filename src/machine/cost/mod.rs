//! Cycles that a choice takes on an architecture, per warp and on one streaming multiprocessor (SM).
//!
//! In: a number for each thing that takes time, from a data file of the architecture (`data/sm_*.toml`, each number
//! with its source) or of the user; and a request: a warp-wide load, a shuffle, some instructions. Out: cycles of the
//! unit that the request keeps busy longest. This is a model of throughput: latencies and the other warps' work are
//! left out, so it ranks versions of one piece of code and does not predict times.
//!
//! This module depends neither on PTX nor on the choices that use it.

mod request;
mod table;

pub use crate::isa::banks;
pub use request::{Pipe, Request, SECTOR};
pub use table::Costs;

/// The compute capability whose numbers are taken where a file names none.
pub const DEFAULT_ARCHITECTURE: u32 = 80;

/// How many iterations are assumed for a loop.
const ROUNDS: f64 = 8.0;

/// The deepest nesting of loops that still counts.
const DEEPEST: usize = 4;

/// How often an instruction is executed, by the number of loops around it, whose iterations are guessed.
pub fn guessed_executions(depth: usize) -> f64 {
    ROUNDS.powi(depth.min(DEEPEST) as i32)
}
