//! Solves a sketch: each lane gets its own struct of three words out of three coalesced loads, as
//! `cargo run -p ptxasw-synth --example structs`:
//!
//!     cheapest: 3 shuffles, 6 selects
//!       line   6  ?linear(reg; lane)  (reg * 32 + lane) % 3
//!       line   7  ?linear(lane; reg)  (lane * 3 + reg) & 31
//!       line   8  ?linear(reg; lane)  reg

use std::error::Error;
use std::sync::atomic::AtomicBool;

use ptxasw_ptx::source::SourceFile;
use ptxasw_synth::synth::problem::{Request, read};
use ptxasw_synth::synth::search::{Mode, Progress};
use ptxasw_synth::synth::{library, parse};

/// The lines of the head.
pub(crate) fn text() -> Result<String, Box<dyn Error>> {
    let source = SourceFile::new("struct3", library::struct_sketch(3));
    let request = Request {
        source: &source,
        tree: &parse(&source)?,
        defines: &[],
        space: 3,
        mode: Mode::Cheapest,
        tables: 1_000_000,
        name: None,
        bits: None,
        architecture: None,
        lists: None,
        stop: &AtomicBool::new(false),
        progress: &Progress::default(),
    };
    let mut problem = read(&request)?;
    problem.solve();
    Ok(problem.table().unwrap_or_default())
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", text()?);
    Ok(())
}
