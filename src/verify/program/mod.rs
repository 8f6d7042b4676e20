//! The two programs as they are read: how the validator treats each instruction, and which instructions match.
//!
//! Uses no other room. Each file uses only those before it:
//! - `beliefs`: the parts shared with the analysis, and their checks; no code
//! - `both`: something of both programs
//! - `window`: the parts of memory that have versions of their own
//! - `special`: which special registers keep their values, and for whom
//! - `instructions`: how the validator treats each instruction
//! - `granules`: copies into shared memory, and rows of matrices
//! - `array`: one array in shared memory, as it is declared
//! - `prepared`: a function prepared for evaluation
//! - `signatures`: which instructions an assembler takes
//! - `wellformed`: whether an assembler takes a function's text
//! - `difference`: the common subsequence of two sequences
//! - `align`: matches instructions of the two programs
//! - `split`: vector stores that replace several stores
//! - `divergence`: temporal divergence that only the rewritten program has
//! - `stray`: addresses outside of the array that they are made from
//! - `arrays`: the arrays in shared memory and all accesses to them
//! - `module_arrays`: the arrays that a module declares for one kernel alone

mod align;
mod array;
pub(in crate::verify) mod arrays;
mod beliefs;
mod both;
mod difference;
mod divergence;
mod granules;
mod instructions;
mod module_arrays;
mod prepared;
mod signatures;
mod special;
pub(in crate::verify) mod split;
mod stray;
mod wellformed;
mod window;

pub(in crate::verify) use align::{Alignment, align, by_events, one_to_one};
pub(in crate::verify) use array::Array;
pub(in crate::verify) use both::Both;
pub(in crate::verify) use divergence::{new_divergence, same_divergence};
pub(in crate::verify) use granules::granule;
pub(in crate::verify) use instructions::{
    Places, Role, changed, depends_on_convergence, may_wait, placed_results, results, role, written,
};
pub(in crate::verify) use module_arrays::{ModuleArrays, without_size};
pub(in crate::verify) use prepared::{Program, Slot};
pub(in crate::verify) use special::{Belief, belief};
pub(in crate::verify) use wellformed::{Refused, refused};
pub(in crate::verify) use window::Window;
