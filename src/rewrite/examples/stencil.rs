//! Rewrites a stencil by the paper's strategy, as `cargo run -p ptxasw-rewrite --example stencil`:
//!
//!     x

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

fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", text()?);
    Ok(())
}
