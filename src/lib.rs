//! `ptxasw` stands in for NVIDIA's PTX assembler.

#![warn(missing_docs)]

pub mod cfg;
pub mod cli;
pub mod emulate;
pub mod expr;
pub mod interp;
pub mod launch;
pub mod pipeline;
pub mod ptx;
pub mod ptxas;
pub mod report;
pub mod rewrite;
pub mod shuffle;
pub mod solver;
pub mod source;
pub mod tracing;
