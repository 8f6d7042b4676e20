//! Proves that a rewrite does the same, and shows a difference, as `cargo run -p ptxasw-verify --example pair`:
//!
//!     x

use std::error::Error;

use ptxasw_ptx::source::SourceFile;
use ptxasw_verify::{Options, verify};

const SAMPLE: &str = include_str!("../../../ptx-samples/vecadd/vecadd.sm_80.ptx");

/// The lines of the head.
pub(crate) fn text() -> Result<String, Box<dyn Error>> {
    let original = SourceFile::new("vecadd.ptx", SAMPLE);
    let mut out = String::new();
    for (from, to) in [("%f2, %f1;", "%f1, %f2;"), ("mul.wide.s32", "mul.wide.u32")] {
        let rewritten = SourceFile::new("rewritten.ptx", SAMPLE.replace(from, to));
        let verification = verify(&original, &rewritten, &Options::default())?;
        out += &format!("{from} as {to}\n{verification}");
    }
    Ok(out)
}

fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", text()?);
    Ok(())
}
