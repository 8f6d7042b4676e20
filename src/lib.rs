//! `ptxasw` stands in for NVIDIA's PTX assembler.

#![warn(missing_docs)]

pub mod ptx;
pub mod source;
