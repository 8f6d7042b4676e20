//! The oracle of the rewritten program: the results of its warp instructions, and which terms equal the original's.
//!
//! Uses all rooms before it: `program`, `terms`, `record`, `lane` and `proof`. Each file uses only those before it:
//! - `cross_lane`: which values came from another lane
//! - `together`: whether lanes that were together still are
//! - `warp_exchange`: stores between two barriers of a warp, and the stores of the original that they replace
//! - `warp`: `activemask`, `shfl.sync`, `vote.sync`
//! - `unify`: replaces the rewritten program's values by equal ones of the original

mod cross_lane;
mod together;
mod unify;
mod warp;
mod warp_exchange;

pub(crate) use warp::Warp;
pub(crate) use warp_exchange::WarpExchange;
