//! Machine code of GPUs of compute capability 7.0 and newer (NVIDIA calls it SASS), read without a
//! disassembler.
//!
//! In: a cubin. Out: the resources of each kernel ([`cubin`]), its instructions (`Instruction`) with their classes
//! ([`opcodes`]), its basic blocks and loops ([`graph`]), and the static schedule that ptxas has written into them
//! ([`schedule`]): how long each instruction delays the next one, and which ones wait for loads. The encoding is not
//! documented; this reading agrees with `nvdisasm` instruction by instruction (`tests/sass.rs`). An opcode that is not
//! in the tables makes the answer "unknown".
//!
//! - [`mod@encoding`]: the fields of an instruction's 128 bits.
//! - [`opcodes`]: the mnemonic, the class and the register operands of each opcode, from data files.
//! - [`code`]: the instructions of the functions of a cubin.
//! - [`lines`]: their source lines. [`mod@resources`]: the resources of a multiprocessor that a kernel takes.
//! - [`mod@access`]: accesses to memory by kind, and their requests.
//! - [`graph`]: basic blocks, loops.
//! - [`timing`]: latencies and throughputs of an architecture, from data files.
//! - [`pairing`]: which kernels of two builds belong together. [`compare`]: which of them take more.
//! - [`report`]: all of that for people and programs.
//! - [`paths`]: the path that a warp is taken to follow.
//! - [`schedule`]: issue cycles, waits and loads in flight of each block.
//! - [`stream`]: the instructions along the path of a warp.
//! - [`mod@multiprocessor`]: cycles of warps that execute them beside each other.
//! - [`measure`]: one number for each number of resident warps, by which two versions are compared.

pub mod access;
pub mod code;
pub mod compare;
pub mod cubin;
pub mod encoding;
pub mod graph;
pub mod lines;
pub mod measure;
pub mod multiprocessor;
pub mod opcodes;
pub mod pairing;
pub mod paths;
mod regions;
pub mod report;
pub mod resources;
pub mod schedule;
pub mod stream;
pub mod timing;

pub use resources::Resources;
