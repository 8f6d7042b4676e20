//! Two evaluated functions, event by event; two files.
//!
//! Uses all rooms. The files, each of which uses only those before it:
//! - `comparison`: two evaluated functions, and what was found wrong so far
//! - `refutation`: a claim that was not shown becomes a problem, with a counterexample if there is one
//! - `loops`: what goes into loops and comes round
//! - `events`: event by event
//! - `carried`: what registers that only the rewritten program has hold in each iteration
//! - `loads_by_other_lanes`: what other lanes of the warp load
//! - `stores_by_other_lanes`: what other lanes of the warp store
//! - `faults`: what only the rewritten program loads
//! - `stores`: whether a vector store does what the stores of its elements do
//! - `converged`: results that depend on which lanes are together
//! - `functions`: two functions
//! - `outside`: what stands outside of functions
//! - `renamed`: a kernel under the names of another one
//! - `module`: two files

mod carried;
mod comparison;
mod converged;
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

pub use module::verify;
pub use renamed::under_names;
