//! Arrays in shared memory whose accesses are all known, and other places for their bytes.
//!
//! In: the control flow and memory trace of one function. Out: each array that the function declares, or that it names
//! and the module declares, with the addresses of its accesses in the lanes of some warps, or the
//! [`Refusal`](super::Refusal) that forbids to move its bytes.
//! `uses` finds the accesses and whether the array's address goes anywhere else, `offsets` the addresses, `growth` by how
//! much arrays may grow, `sharers` who else may access an array of the module;
//! a [`Placement`] is a function of addresses, with the proof that an array may be laid out so; `address` says how
//! each access gets its new address. Nothing is chosen here.

mod address;
mod array;
mod find;
mod growth;
mod offsets;
mod placement;
mod sharers;
mod uses;

pub use address::{Made, added, made};
pub use array::{ArrayAccess, SharedArray};
pub use find::arrays;
pub use growth::Surroundings;
pub use offsets::in_usual_shapes;
pub use placement::{BLOCK, Placement, placements};
