//! Prints the accesses of a kernel with their symbolic addresses, as `cargo run -p ptxasw-analysis --example trace`:
//!
//!     Load of 8 bytes at &vecadd_param_0
//!     Load of 8 bytes at &vecadd_param_1
//!     Load of 8 bytes at &vecadd_param_2
//!     Load of 4 bytes at &vecadd_param_3
//!     Load of 4 bytes at vecadd_param_1 + 4*s32(i)
//!     Load of 4 bytes at vecadd_param_0 + 4*s32(i)
//!     Store of 4 bytes at vecadd_param_2 + 4*s32(i)

use std::error::Error;

use ptxasw_analysis::emulate::{Limits, Printer, run};
use ptxasw_ptx::ptx::{Depth, parse};
use ptxasw_ptx::source::SourceFile;

const SAMPLE: &str = include_str!("../../../ptx-samples/vecadd/vecadd.sm_80.ptx");

/// The lines of the head.
pub(crate) fn text() -> Result<String, Box<dyn Error>> {
    let source = SourceFile::new("vecadd.ptx", SAMPLE);
    let module = parse(&source, Depth::All)?;
    let kernel = module.functions().next().ok_or("no function")?;
    let flow = ptxasw_graph::build(&source, kernel)?;
    let trace = run(kernel, &flow, &Limits::default()).map_err(|large| large.0)?;
    let printer = Printer::new(&trace.arena, &trace.symbols, &flow.registers);
    let mut out = String::new();
    for access in &trace.accesses {
        let (effect, bytes) = (access.effect, access.bytes());
        let address = access.address.map_or("unknown".to_owned(), |at| printer.print(at));
        out += &format!("{effect:?} of {bytes} bytes at {address}\n");
    }
    Ok(out)
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", text()?);
    Ok(())
}
