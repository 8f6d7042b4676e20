//! Symbolic emulation: executes a body once on bit-vector terms and records every memory access
//! with its address.
//!
//! In: the control flow of one function. Out: a [`KernelTrace`]. Blocks are visited once, in reverse
//! postorder; values that meet are merged, so the cost is linear in the text. What an instruction
//! computes is exact for the integer side of PTX, an uninterpreted function for floating point, and
//! a fresh symbol (another one in every lane) for what is not modelled. Nothing is decided here.

mod alu;
mod barriers;
mod bitfield;
mod carry;
mod compare;
mod convert;
mod effects;
mod forms;
mod logic;
mod loops;
mod machine;
mod memory;
mod multiply;
mod operand;
mod packed;
mod permute;
mod print;
mod prune;
mod special;
mod state;
mod symbols;
mod trace;
mod uniform;
mod video;
mod video_parts;
mod video_simd;
mod window;

pub use effects::{Effect, definitions, effect, mentions};
pub use forms::{Meaning, meaning};
pub use machine::{Limits, TooLarge, run};
pub use print::Printer;
pub use symbols::{LaneDependence, SymbolInfo, SymbolKind, Symbols};
pub use trace::{Access, KernelTrace, Widened};
