//! PTX as text and as a syntax tree, and the parts that all other crates share.
//!
//! In: the bytes of a file. Out: a [`ptx::Module`], whose every node knows its place in the text, or a message that shows
//! the line.
//!
//! Promises: nothing here knows the effects of an instruction, the GPU that runs it, or how it is rewritten. In a body that
//! is parsed, text that the grammar does not know is an error with a place. Names borrow from the text.
//!
//! # Where to start
//!
//! - `src/ptx/ptx/ast.rs`: the syntax tree
//! - `src/ptx/ptx/mod.rs`: parsing, and why only some bodies are parsed
//! - `src/ptx/isa/opcode.rs`: instructions by name; `qualifier.rs`, `types.rs` and `special.rs` beside it their parts
//! - `src/ptx/source/mod.rs`: texts, spans, messages that point into a text
//! - `src/ptx/strategies.rs`: the strategies by name, with the words for each
//!
//! Example: `cargo run -p ptxasw-ptx --example functions`.

#[macro_use]
pub mod planted;
#[macro_use]
pub mod ids;
pub mod bytes;
pub mod isa;
pub mod kernels;
pub mod parallel;
pub mod ptx;
pub mod source;
pub mod strategies;
pub mod timings;
#[cfg(feature = "internals")]
pub mod unit;

#[cfg(feature = "internals")]
#[doc(hidden)]
pub use linkme;
