//! Lists the functions of a file with their parameters, as `cargo run -p ptxasw-ptx --example functions`:
//!
//!     PTX 9.5 for sm_80
//!     vecadd, from line 15 on
//!       vecadd_param_0: .u64
//!       vecadd_param_1: .u64
//!       vecadd_param_2: .u64
//!       vecadd_param_3: .u32

use std::error::Error;

use ptxasw_ptx::ptx::{Depth, parse};
use ptxasw_ptx::source::SourceFile;

const SAMPLE: &str = include_str!("../../../ptx-samples/vecadd/vecadd.sm_80.ptx");

/// The lines of the head.
pub(crate) fn text() -> Result<String, Box<dyn Error>> {
    let source = SourceFile::new("vecadd.ptx", SAMPLE);
    let module = parse(&source, Depth::All)?;
    let (major, minor) = module.version.ok_or("no version")?;
    let mut out = format!("PTX {major}.{minor} for {}\n", module.target.join(", "));
    for function in module.functions() {
        let line = source.line(function.span.start);
        out += &format!("{}, from line {line} on\n", function.name.text);
        for param in &function.params {
            let ty = param.ty.map_or("opaque", |ty| ty.name());
            for declarator in &param.names {
                out += &format!("  {}: .{ty}\n", declarator.name.text);
            }
        }
    }
    Ok(out)
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", text()?);
    Ok(())
}
