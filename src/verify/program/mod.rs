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
//! - `certificate`: matches the two programs along a rewriter's description of its changes
//! - `split`: vector stores that replace several stores
//! - `divergence`: temporal divergence that only the rewritten program has
//! - `stray`: addresses outside of the array that they are made from
//! - `arrays`: the arrays in shared memory and all accesses to them
//! - `module_arrays`: the arrays that a module declares for one kernel alone

mod align;
mod array;
pub(crate) mod arrays;
mod beliefs;
mod both;
mod certificate;
mod difference;
mod divergence;
mod granules;
mod instructions;
mod module_arrays;
mod prepared;
mod signatures;
mod special;
pub(crate) mod split;
mod stray;
mod wellformed;
mod window;

pub(crate) use align::{Alignment, align, by_events, one_to_one};
pub(crate) use array::Array;
pub(crate) use both::Both;
pub use certificate::{Certificate, Change, FunctionCertificate, Kind, Lemma, Lines, Replaced};
pub(crate) use divergence::{new_divergence, same_divergence};
pub(crate) use granules::granule;
pub(crate) use instructions::{
    Places, Role, changed, depends_on_convergence, may_wait, placed_results, results, role, written,
};
pub(crate) use module_arrays::{ModuleArrays, without_size};
pub(crate) use prepared::{Program, Slot};
pub(crate) use special::{Belief, belief};
pub(crate) use wellformed::{Refused, refused};
pub(crate) use window::Window;
