//! Evaluates one lane of one program. It proves nothing: what it has to know of other lanes it asks an [`Oracle`].
//!
//! Uses `program`, `terms` and `record`. The files, each of which uses only those before it:
//! - `state`: the values at an instruction, and the `Guide` that is asked about them
//! - `operands`: operands as terms, results into destinations
//! - `opaque`: instructions as uninterpreted functions
//! - `moves`: `mov`
//! - `setp`: comparisons
//! - `semantics`: what the other instructions compute
//! - `memory`: loads and stores
//! - `current`: whether what was loaded is what memory holds now
//! - `joins`: where ways meet: conditions of edges, joined states, loops
//! - `cutpoints`: the same for cycles with several entries
//! - `evaluate`: each block once
//! - `congruence`: which registers go round loops alike

mod congruence;
mod current;
mod cutpoints;
mod evaluate;
mod joins;
mod memory;
mod moves;
mod opaque;
mod operands;
mod semantics;
mod setp;
mod state;

pub(in crate::verify) use congruence::{Paired, names_fit, pair, renames};
pub(in crate::verify) use evaluate::evaluate;
pub(in crate::verify) use memory::read_only;
pub(in crate::verify) use state::{Evaluation, Oracle, Results};
