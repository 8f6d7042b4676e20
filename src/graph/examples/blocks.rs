//! Prints basic blocks, immediate dominators and loops, as `cargo run -p ptxasw-graph --example blocks`:
//!
//!     jacobi: ...

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

fn main() -> Result<(), Box<dyn Error>> {
    print!("{}", text()?);
    Ok(())
}
