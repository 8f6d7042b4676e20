//! Finds accesses that waste memory traffic, as `cargo run -p ptxasw-tools --example lint`:
//!
//!     rowwise, line 54: redundant-load: this load reads what the load at line 58 has read 1 iteration before
//!     rowwise, line 55: redundant-load: this load reads what the load at line 54 has read 1 iteration before
//!     rowwise, line 54: uncoalesced-load: a warp's request reads up to 32 sectors; 4 would hold its 128 bytes
//!     rowwise, line 55: uncoalesced-load: a warp's request reads up to 32 sectors; 4 would hold its 128 bytes
//!     rowwise, line 58: uncoalesced-load: a warp's request reads up to 32 sectors; 4 would hold its 128 bytes

use std::error::Error;

use ptxasw_ptx::source::SourceFile;
use ptxasw_tools::lint::{Options, lint};

const SAMPLE: &str = include_str!("../../../ptx-samples/rowwise/rowwise.sm_80.ptx");

/// The lines of the head.
pub(crate) fn text() -> Result<String, Box<dyn Error>> {
    let source = SourceFile::new("rowwise.ptx", SAMPLE);
    let file = lint(&source, &Options::default())?;
    let mut out = String::new();
    for (kernel, finding) in file.findings() {
        out += &format!(
            "{}, line {}: {}: {}\n",
            kernel.name, finding.line, finding.rule, finding.message
        );
    }
    Ok(out)
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", text()?);
    Ok(())
}
