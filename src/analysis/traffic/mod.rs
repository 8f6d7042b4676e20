//! The cost of a warp's request in the memory system: sectors of global memory, wavefronts of shared memory.
//!
//! In: the control flow and the memory trace of one function, and the shape of its blocks. Out: an [`AccessTraffic`] for
//! each load, store, atomic and reduction, with the least and the greatest number over everything that the text leaves
//! open: the base's alignment, parameters that are a factor of the stride. The numbers hold for these assumptions:
//!
//! - all lanes of a full warp take part for which the conditions on the lane hold, and they have met;
//! - each lane's address is a multiple of the access's size, as PTX demands;
//! - a pointer parameter is a multiple of [`Assumed::pointer_bytes`], 256 by default, as `cudaMalloc` returns it;
//! - an index that is extended to 64 bits has not wrapped around, and a sum of products of thread and block numbers is not
//!   negative;
//! - where the text has no `.reqntid` and nobody names a shape, a row of a block is a multiple of 32 threads.
//!
//! An address that depends on loaded data has no numbers. One that is known to be a function of the lane, but not which,
//! has the bounds that every request has.
//!
//! From the ground up: `count`: sectors and wavefronts of 32 addresses; `bounds`: the least and greatest count of a pattern;
//! `warps`: the warps of a block; `active`: accesses of some lanes of a warp; `partial`: barriers that lanes go past;
//! `races`: unordered accesses; `access`: all accesses of a function; `request`: their numbers for programs. Values in lanes
//! are those of [`lanes`](crate::lanes).

mod access;
mod active;
mod bounds;
mod count;
mod identity;
mod partial;
mod races;
mod request;
mod warps;

pub use access::{AccessTraffic, Spread, Traffic};
pub use active::Active;
pub use bounds::Span;
pub use count::{SECTOR, passes, wavefronts};
pub use identity::{AccessKind, Identified, identified};
pub use partial::Partial;
pub use request::{Counts, Request, term};

pub use crate::lanes::{Assumed, BlockShape, LANES, Stride};
