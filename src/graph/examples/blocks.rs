//! Prints basic blocks, immediate dominators and loops, as `cargo run -p ptxasw-graph --example blocks`:
//!
//!     matvec
//!       block 0: 11 instructions, to [5 1], dominated by -, in 0 loops
//!       block 1: 6 instructions, to [4 2], dominated by 0, in 0 loops
//!       block 2: 7 instructions, to [3], dominated by 1, in 0 loops
//!       block 3: 15 instructions, to [3 4], dominated by 2, in 1 loops
//!       block 4: 1 instructions, to [5], dominated by 1, in 0 loops
//!       block 5: 1 instructions, to [], dominated by 0, in 0 loops

use std::error::Error;

use ptxasw_ptx::ptx::{Depth, parse};
use ptxasw_ptx::source::SourceFile;

const SAMPLE: &str = include_str!("../../../ptx-samples/matvec/matvec.sm_80.ptx");

/// The lines of the head.
pub(crate) fn text() -> Result<String, Box<dyn Error>> {
    let source = SourceFile::new("matvec.ptx", SAMPLE);
    let module = parse(&source, Depth::All)?;
    let mut out = String::new();
    for function in module.functions() {
        let flow = ptxasw_graph::build(&source, function)?;
        out += &format!("{}\n", function.name.text);
        for id in flow.block_ids() {
            let block = flow.block(id);
            let next: Vec<String> =
                block.successors.iter().map(|edge| edge.to.0.to_string()).collect();
            let above = flow.dominators.immediate(id).map_or("-".to_owned(), |id| id.0.to_string());
            out += &format!(
                "  block {}: {} instructions, to [{}], dominated by {above}, in {} loops\n",
                id.0,
                block.instructions().count(),
                next.join(" "),
                flow.loops.depth(flow.loops.innermost(id)),
            );
        }
    }
    Ok(out)
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", text()?);
    Ok(())
}
