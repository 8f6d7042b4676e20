//! Prints the accesses of a kernel with their symbolic addresses, as `cargo run -p ptxasw-analysis --example trace`:
//!
//!     x

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

fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", text()?);
    Ok(())
}
