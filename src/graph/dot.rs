//! The control-flow graph in Graphviz's language.

use std::fmt::Write;

use super::block::{BlockId, EdgeCondition};
use super::graph::Flow;
use super::inst::InstId;
use crate::source::SourceFile;

/// Renders a function's graph. `label` may give a block further lines.
pub fn dot(
    source: &SourceFile,
    name: &str,
    flow: &Flow<'_, '_>,
    label: &dyn Fn(BlockId) -> Vec<String>,
) -> String {
    let mut out = format!("digraph {} {{\n", quote(name));
    out.push_str("  node [shape=box, fontname=monospace, labeljust=l];\n");
    for id in flow.block_ids() {
        let block = flow.block(id);
        let mut lines = vec![match (block.first, block.end) {
            (first, end) if first == end => format!("B{}: end", id.0),
            (first, end) => {
                let line = |at: InstId| source.line(flow.insts[at].ast.span.start);
                format!("B{}: lines {}-{}", id.0, line(first), line(end.before()))
            }
        }];
        if let Some(around) = flow.loops.headed_by(id) {
            lines.push(format!("header of loop {}", around.0));
        }
        lines.extend(label(id));
        let text: String = lines.iter().map(|line| escape(line) + "\\l").collect();
        let _ = writeln!(out, "  b{} [label=\"{text}\"];", id.0);
        for edge in &block.successors {
            let label = match edge.condition {
                EdgeCondition::Always => String::new(),
                EdgeCondition::Index => "index".to_owned(),
                EdgeCondition::Predicate(register, value) => {
                    let name = flow.registers[register].name;
                    if value { name.to_owned() } else { format!("!{name}") }
                }
            };
            let style = if edge.to <= edge.from { ", style=bold" } else { "" };
            let label = escape(&label);
            let _ = writeln!(out, "  b{} -> b{} [label=\"{label}\"{style}];", id.0, edge.to.0);
        }
        if block.leaves {
            let _ = writeln!(out, "  b{} -> leave;", id.0);
        }
    }
    out.push_str("  leave [shape=oval];\n}\n");
    out
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\l")
}

fn quote(text: &str) -> String {
    format!("\"{}\"", escape(text))
}
