//! Terms as other lanes have them, and whether two terms are equal at a place.
//!
//! Uses `program`, `terms` and `record`, and does not know how terms were evaluated. Each file uses only those
//! before it:
//! - `shifted`: a term in another lane, given how symbols are related
//! - `lanes`: how they are related, by induction over iterations
//! - `question`: a place, and the conditions of the case that is being looked at
//! - `facts`: the facts about a place for the solver
//! - `flags`: the meaning of loop-carried predicates
//! - `induction`: registers that keep their distance in a loop
//! - `remainder`: the low bits of loop-carried values
//! - `pinned`: symbols that can have only one value
//! - `by_lane`: terms of one lane, and the results of shuffles lane by lane
//! - `normal_form`: normal forms of sums, lattice operators, exclusive ors and ballots
//! - `absent`: whether a claim about exchanges also holds where a warp lacks lanes
//! - `extremum`: extrema of numbers of single precision by an order of integers
//! - `way`: the effect of an instruction on the values of a warp's lanes
//! - `uniform`: terms that have one value for a warp, and loops that all its lanes leave together
//! - `meeting`: whether lanes of a warp may be at two warp instructions at the same time
//! - `tables`: a term as each lane of a warp has it, with what the lanes exchange
//! - `senders`: the lanes that a lane has a value from
//! - `exchange`: what whole warps exchange and combine, as tables of lanes
//! - `claims`: claims decided by search and by the solver, and remembered
//! - `query`: decides a claim: rules, search, solver
//! - `load_congruence`: when two loads deliver the same value
//! - `outcome`: the outcome of a claim
//! - `atoms`: terms whose parts are equal by a proof
//! - `prove`: whether two terms are equal at a place

mod absent;
mod atoms;
pub(crate) mod by_lane;
mod claims;
mod exchange;
mod extremum;
mod facts;
mod flags;
mod induction;
mod lanes;
mod load_congruence;
mod meeting;
mod normal_form;
mod outcome;
mod pinned;
mod prove;
mod query;
mod question;
mod remainder;
mod senders;
mod shifted;
mod tables;
mod uniform;
mod way;

pub(crate) use claims::Claims;
pub(crate) use exchange::Exchanges;
pub(crate) use facts::{SHAPES, assumptions, in_shape};
pub(crate) use flags::Flags;
pub(crate) use lanes::Lanes;
pub(crate) use meeting::Position;
pub(crate) use outcome::{Difference, Proof};
pub(crate) use query::{Effort, Prover};
pub(crate) use question::{Claim, Question};
pub(crate) use remainder::LowBits;
