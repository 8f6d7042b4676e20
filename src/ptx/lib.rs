//! PTX as text and as a syntax tree, and what all other crates share.
//!
//! In: the bytes of a file. Out: a [`ptx::Module`], whose every node knows its place in the text, or a message that shows
//! the line. Nothing here knows the effects of an instruction, the GPU on which it runs, or how it is rewritten.
//!
//! # Modules
//!

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
