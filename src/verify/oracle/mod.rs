//! The oracle of the rewritten program: what its own warp instructions deliver, and which of its terms are the original's.
//!
//! Uses all rooms before it. The files, each of which uses only those before it:
//! - `cross_lane`: which values came from another lane
//! - `together`: whether lanes that were together still are
//! - `warp_exchange`: stores between two barriers of a warp, and the original's in whose place they stand
//! - `warp`: `activemask`, `shfl.sync`, `vote.sync`
//! - `unify`: the rewritten program's values brought back to the original's

mod cross_lane;
mod together;
mod unify;
mod warp;
mod warp_exchange;

pub(in crate::verify) use warp::Warp;
pub(in crate::verify) use warp_exchange::WarpExchange;
