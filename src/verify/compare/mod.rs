//! Compares two evaluated functions, event by event, and two files.
//!
//! Uses all rooms. Each file uses only those before it:
//! - `comparison`: two evaluated functions, and the problems found so far
//! - `refutation`: turns a claim that was not proved into a problem, with a counterexample if there is one
//! - `loops`: loop-carried values
//! - `events`: each event
//! - `counted`: loops that count in another way
//! - `carried`: loop-carried registers that only the rewritten program has
//! - `loads_by_other_lanes`: loads that the original performs in another lane
//! - `stores_by_other_lanes`: stores that the original performs in another lane
//! - `faults`: loads that only the rewritten program performs
//! - `stores`: whether a vector store is equivalent to the stores of its elements
//! - `converged`: results that depend on which lanes are together
//! - `unread`: stores to arrays in shared memory that the rewritten program does not read
//! - `functions`: two functions
//! - `outside`: the text outside of functions
//! - `renamed`: a kernel under the names of another one
//! - `barriers`: one spelling for barriers that are the same
//! - `module`: two files

mod barriers;
mod carried;
mod comparison;
mod converged;
mod counted;
mod events;
mod faults;
mod functions;
mod loads_by_other_lanes;
mod loops;
mod module;
mod outside;
mod refutation;
mod renamed;
mod stores;
mod stores_by_other_lanes;
mod unread;

pub use module::verify;
pub use renamed::{only_kernels, under_names};
