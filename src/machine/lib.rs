//! Costs: data files for each architecture, and the static schedule of machine code.
//!
//! In: a choice, or a cubin. Out: cycles, registers, resident warps.
//!
//! Promises: each number has its source in a data file. The cost model ranks versions of one piece of code and predicts no
//! times. The reader of machine code agrees with `nvdisasm` instruction by instruction; an opcode that no table has makes
//! the answer unknown.
//!
//! # Where to start
//!
//! - `src/machine/cost/table.rs`: the costs of an architecture
//! - `src/machine/cost/request.rs`: cycles of a warp-wide load
//! - `src/ptx/isa/banks.rs`: wavefronts of an access to shared memory (`cost::banks`)
//! - `src/machine/sass/schedule.rs`: the static schedule of a kernel
//! - `src/machine/sass/measure.rs`: the cost of a kernel by the number of resident warps
//!
//! Example: `cargo run -p ptxasw-machine --example conflicts`.

#[cfg(feature = "internals")]
use ptxasw_ptx::unit_tests;
use ptxasw_ptx::{isa, parallel};

pub mod cost;
pub mod sass;
