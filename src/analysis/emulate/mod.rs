//! Symbolic emulation: executes a body once on bit-vector terms and records every memory access with its address. In:
//! the control flow of one function. Out: a [`KernelTrace`]. Blocks are visited once, in reverse postorder; at joins,
//! values are merged, so the cost is linear in the text. The result of an instruction is exact for the integer side of
//! PTX, an uninterpreted function for floating point, and a fresh symbol (another value in every lane) for instructions
//! that are not modelled. This module makes no decisions.
//!
//! From the ground up: `symbols` and `special` give terms their meaning; `effects` and `forms` classify instructions;
//! `semantics` computes terms from operands and knows no machine, and `numbers` numbers from numbers; `registers` and
//! `state` hold the facts at one instruction; `operands`, `compute`, `memory`, `wmma` and `barriers` emulate one
//! instruction on that state; `joins`, `loops` and `branches` lead it from block to block; `machine` steps through all
//! of them; `resolve` and `uniform` finish the trace.

mod barriers;
mod branches;
mod compute;
mod effects;
mod forms;
mod granule;
mod joins;
mod limits;
mod loop_effects;
mod loops;
mod machine;
mod memory;
mod numbers;
mod operands;
mod print;
mod registers;
mod resolve;
mod semantics;
mod special;
mod state;
mod symbols;
mod trace;
mod uniform;
mod window;
mod wmma;

pub use effects::{Effect, definitions, effect, mentions, reads};
pub use forms::{Meaning, meaning};
pub use granule::{Granule, granule};
pub use limits::{Limits, TooLarge};
pub use machine::run;
pub use numbers::on_numbers;
pub use print::Printer;
pub use symbols::{LaneDependence, SymbolInfo, SymbolKind, Symbols};
pub use trace::{Access, Held, KernelTrace, Widened};
pub use uniform::{Beliefs, Uniformity};
pub use wmma::WmmaMatrix;
