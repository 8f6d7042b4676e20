//! The spelling of the instruction set: opcodes, their modifiers, special registers, limits of the
//! hardware (PTX ISA).
//!
//! In: the words of an instruction as they stand in the text. Out: the same words as values that can
//! be matched exhaustively, decoded once when the text is parsed. What an instruction *does* is
//! written elsewhere, once for each judge: in `emulate`, `verify` and
//! `interp`, which share this spelling and never a meaning. So an opcode or special register
//! that is added here is a compile error in each of these modules until it has been classified there,
//! and a word that is not known here ([`Opcode::Unknown`], [`Modifier::Unknown`],
//! [`Special::Unknown`]) is refused in all of them.

pub mod banks;
mod form;
pub mod limits;
mod modifier;
pub mod multiprocessor;
mod opcode;
mod qualifier;
mod selector;
mod special;
mod types;
mod words;

pub use form::Form;
pub use modifier::{Modifier, Shape};
pub use opcode::Opcode;
pub use qualifier::Qualifier;
pub use selector::Selector;
pub use special::{Axis, Special, SpecialName, special};
pub use types::{ScalarType, StateSpace};
pub use words::Words;
