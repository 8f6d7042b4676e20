//! Scalar evolution of the registers of a loop, by its instructions.
//!
//! In: the control flow of a function. Out: the code of a loop that stands in a row ([`LoopCode`]); registers as sums of others
//! ([`Sums`]); the change of an address in each iteration ([`Step`]); the number of iterations ([`TripCount`]); copies of the
//! instructions that compute an address ([`Steps`]). (The memory trace has induction variables as terms of its own: they are
//! values of one execution, these here are expressions in front of the loop.)

mod code;
mod copies;
mod step;
mod sums;
mod trip_count;
mod whole;

pub use code::{LoopCode, LoopShape, is_observed};
pub use copies::{AddressStep, MAX_STEPS, Steps, address_base, carries};
pub use step::{Index, MAX_STEP, Step, step, take_indices};
pub use sums::{Held, Sum, Sums};
pub use trip_count::{Bound, Relation, TripCount};
pub use whole::WholeLoop;
