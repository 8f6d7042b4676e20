//! Rewrites a stencil by the paper's strategy, as `cargo run -p ptxasw-rewrite --example stencil`:
//!
//!     1 function, 9 global loads, 6 replaced
//!     shfl.sync.up.b32 %ptxasw_r3, %f4, 2, 0, %ptxasw_r0;
//!     shfl.sync.down.b32 %ptxasw_r5, %f7, 2, 31, %ptxasw_r0;
//!     shfl.sync.up.b32 %ptxasw_r7, %f11, 2, 0, %ptxasw_r0;
//!     shfl.sync.up.b32 %ptxasw_r8, %f4, 1, 0, %ptxasw_r0;
//!     shfl.sync.down.b32 %ptxasw_r9, %f7, 1, 31, %ptxasw_r0;
//!     shfl.sync.up.b32 %ptxasw_r10, %f11, 1, 0, %ptxasw_r0;

use std::error::Error;

use ptxasw_ptx::source::SourceFile;
use ptxasw_rewrite::pipeline::{Options, rewrite};

const SAMPLE: &str = include_str!("../../../ptx-samples/jacobi/jacobi.sm_80.ptx");

/// The lines of the head.
pub(crate) fn text() -> Result<String, Box<dyn Error>> {
    let source = SourceFile::new("jacobi.ptx", SAMPLE);
    let rewritten = rewrite(&source, &Options::paper())?;
    let mut out = format!("{}\n", rewritten.report.summary());
    for line in rewritten.text.lines().filter(|line| line.contains("shfl")) {
        out += &format!("{}\n", line.trim());
    }
    Ok(out)
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", text()?);
    Ok(())
}
