//! Finds accesses that waste memory traffic, as `cargo run -p ptxasw-tools --example lint`:
//!
//!     x

use std::error::Error;

use ptxasw_ptx::source::SourceFile;
use ptxasw_tools::lint::{Options, lint};

const SAMPLE: &str = include_str!("../../../ptx-samples/structs/structs.sm_80.ptx");

/// The lines of the head.
pub(crate) fn text() -> Result<String, Box<dyn Error>> {
    let source = SourceFile::new("structs.ptx", SAMPLE);
    let file = lint(&source, &Options::default())?;
    let mut out = String::new();
    for (kernel, finding) in file.findings() {
        out += &format!("{}, line {}: {}\n", kernel.name, finding.line, finding.rule.name());
    }
    Ok(out)
}

fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", text()?);
    Ok(())
}
