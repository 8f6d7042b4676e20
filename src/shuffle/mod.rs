//! Finds loads whose value another lane already holds, and decides.
//!
//! In: the control flow and memory trace of one function. Out: a [`Finding`] for every global load:
//! covered by which source at which lane distance and under which guards, or kept and why. Nothing
//! is edited here. Every acceptance rests on a proof, by normal form, by the path condition or by
//! the solver; what cannot be proved becomes a guard that is checked at run time, or a refusal.

mod availability;
mod decide;
mod distance;
mod eligible;
mod facts;
mod prove;
mod refusal;
mod sampling;
mod shift;
mod under;

pub use crate::planted::{Bug, Planted};
pub use decide::{
    Covered, Finding, Guards, MAX_REPLACED, Options, Selection, Verdict, decide, lane_stride,
};
pub use eligible::{Element, OWN_REGISTERS};
pub use prove::{NoWrap, WrapKind};
pub use refusal::Refusal;
