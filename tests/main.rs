//! What one function or one process does: files with expectations, proofs, searches, pages, and the house itself.
//! Kernels by the thousands are in `execute.rs`, the stand-in as a process in `wrapper/`, installing in `install/`.

#![allow(unreachable_pub, reason = "nobody uses a test binary")]

use mimalloc::MiMalloc;

/// The allocator of the program.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

mod common;

mod ab;
mod bank;
mod bench;
mod budgets;
mod cases;
mod compare;
mod cubins;
mod documents;
mod draft;
mod examples;
mod explain;
mod grammar;
mod habits;
mod holes;
mod layering;
mod library;
mod lines;
mod lint;
mod messages;
mod net;
mod over;
mod page;
mod parser;
mod pipeline;
mod remarks;
mod requests;
mod samples;
mod sass;
mod shown;
mod synth;
mod terms;
mod trace;
mod traffic;
mod turns;
mod units;
mod verify;
