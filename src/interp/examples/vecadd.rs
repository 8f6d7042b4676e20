//! Executes a kernel by its launch file, then by one whose last buffer is too short, as
//! `cargo run -p ptxasw-interp --example vecadd`:
//!
//!     w0: [0.5665615, 0.7457817, 0.9710027] ...
//!     w1: [0.5911897, 0.7491497, 0.59563804] ...
//!     w2: [1.1577512, 1.4949315, 1.5666407] ...
//!     access of 4 bytes, directly behind the end of `w2`, which has 3996 bytes, thread (103, 0, 0) of block (7, 0, 0)

use std::error::Error;

use ptxasw_interp::interp::run;
use ptxasw_interp::launch::Launch;
use ptxasw_ptx::ptx::{Depth, parse};
use ptxasw_ptx::source::SourceFile;

const SAMPLE: &str = include_str!("../../../ptx-samples/vecadd/vecadd.sm_80.ptx");
const LAUNCH: &str = include_str!("../../../ptx-samples/vecadd/vecadd.json");

/// The lines of the head.
pub(crate) fn text() -> Result<String, Box<dyn Error>> {
    let source = SourceFile::new("vecadd.ptx", SAMPLE);
    let module = parse(&source, Depth::All)?;
    let outcome = run(&module, &Launch::from_json(LAUNCH)?)?;
    let mut out = String::new();
    for name in ["w0", "w1", "w2"] {
        let elements = outcome.buffers[name].elements();
        let numbers: Vec<f32> = elements.map(|bits| f32::from_bits(bits as u32)).take(3).collect();
        out += &format!("{name}: {numbers:?} ...\n");
    }
    let short =
        LAUNCH.replace(r#""len": 1000, "fill": "random", "seed": 3"#, r#""len": 999, "fill": 0"#);
    match run(&module, &Launch::from_json(&short)?) {
        Ok(_) => out += "no fault\n",
        Err(fault) => out += &format!("{fault}\n"),
    }
    Ok(out)
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", text()?);
    Ok(())
}
