//! The parser: recursive descent over the bytes of a piece of the module.
//!
//! In: a piece that the lexical scan has cut out. Out: nodes of `ptx::ast`, whose spans are places of the file, or the
//! first mistake. The files have the subjects of `grammar/*.pest`, which define the syntax: a function here reads what the
//! rule of its name matches, with the same order of alternatives (`tests/grammar.rs` compares both).
//!
//! A function that returns an `Option` has no result where the text does not match; [`cursor::Cursor`] remembers how far
//! the text made sense, and what could have stood there. The value of a text that matches may still be wrong, as in a
//! number that is out of range: the cursor keeps the first such fault. Recursion is as deep as brackets and choices are
//! nested, which the scan bounds.

mod constant;
pub(super) mod cursor;
mod function;
pub(super) mod module;
mod operand;
pub(super) mod run;
pub(super) mod statement;
mod variable;

use super::fault::Fault;

/// A value, or the fault in it.
type Built<T> = Result<T, Fault>;
