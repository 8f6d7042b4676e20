//! Evaluates one lane of one program. It proves nothing: questions about other lanes go to an [`Oracle`].
//!
//! Uses `program`, `terms` and `record`. Each file uses only those before it:
//! - `state`: the values at an instruction, and the `Oracle`
//! - `operands`: operands as terms, results into destinations
//! - `opaque`: instructions as uninterpreted functions
//! - `semantics`: the results of the other instructions
//! - `memory`: loads and stores
//! - `current`: whether a loaded value is that of memory now
//! - `joins`: conditions of edges, joined states, loops
//! - `cutpoints`: the same for cycles with several entries
//! - `evaluate`: each block once
//! - `congruence`: pairs the loop-carried registers of both programs

mod congruence;
mod current;
mod cutpoints;
mod evaluate;
mod joins;
mod memory;
mod opaque;
mod operands;
mod semantics;
mod state;

pub(crate) use congruence::{Paired, names_fit, pair, renames};
pub(crate) use evaluate::evaluate;
pub(crate) use memory::read_only;
pub(crate) use state::{Evaluation, Oracle, Results};
