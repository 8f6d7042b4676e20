//! Terms of both programs: their symbols and functions, and equalities that hold without a proof.
//!
//! Uses `program`. Each file uses only those before it:
//! - `functions`: the uninterpreted functions of terms
//! - `symbols`: the free symbols of both programs, and the terms made of them
//! - `conditions`: path conditions, and terms simplified by them
//! - `truth`: which predicates others decide by logic alone
//! - `commute`: operands whose order does not matter
//! - `meaning`: the exact results of instructions
//! - `division`: facts about quotients and remainders
//! - `wrap`: equalities that hold unless a sum wraps around, decided without a solver
//! - `no_wrap`: equalities under the assumption that nothing that is widened wraps around
//! - `apart`: accesses without a common byte, decided by intervals
//! - `parts`: equalities of the parts of two equal terms
//! - `assume`: preconditions that users name
//! - `hardware`: facts about every lane by the layout of blocks
//! - `layout`: functions that say where the bytes of an array in shared memory have gone

mod apart;
pub(crate) mod assume;
pub(crate) mod commute;
pub(crate) mod conditions;
pub(crate) mod division;
mod functions;
pub(crate) mod hardware;
mod layout;
mod meaning;
pub(crate) mod no_wrap;
mod parts;
mod symbols;
pub(crate) mod truth;
pub(crate) mod wrap;

pub(crate) use apart::disjoint;
pub use assume::Precondition;
pub(crate) use functions::{BranchTarget, FloatComparison, Function, Lattice, Operation, Output};
pub(crate) use layout::{Extent, Layout, Region};
pub(crate) use meaning::{Registers, exact};
pub(crate) use parts::{contradictory, halves, only_difference, same_shape};
pub(crate) use symbols::{Info, Kind, Origin, Side, Symbols, Terms, TextNames};
pub(crate) use truth::Truth;
