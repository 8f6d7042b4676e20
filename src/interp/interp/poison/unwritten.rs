//! Registers that some path through a function reads before an instruction has written them.
//!
//! In: decoded code, and the registers that have a name. Out: those of them that a frame begins with as poison. A write under
//! a guard does not count here; which lanes have written a register is known when the code runs.

use petgraph::Direction::Incoming;
use petgraph::graph::NodeIndex;
use rustc_hash::FxHashSet;

use super::{reads, writes};
use crate::interp::decode::Graph;
use crate::interp::program::rare::Cell;
use crate::interp::program::{Formal, Function, Guard, Op};
use crate::interp::registers::File;

/// The registers that a block reads and writes.
#[derive(Default)]
struct Summary {
    /// It reads them before it writes them for certain.
    exposed: FxHashSet<Cell>,
    /// It writes them for certain.
    written: FxHashSet<Cell>,
}

/// The registers with a name, of all that `names` has, that may be read before they are written.
pub(crate) fn unwritten(function: &Function, names: Vec<(Cell, String)>) -> Vec<(Cell, String)> {
    if function.code.is_empty() {
        return Vec::new();
    }
    let graph = Graph::new(&function.code);
    let mut exposed = FxHashSet::default();
    let blocks: Vec<Summary> =
        (0..graph.blocks()).map(|block| summary(function, &graph, block, &mut exposed)).collect();
    let mut seen = vec![0; blocks.len()];
    let mut number = 0;
    let mut reaches = |cell: Cell| {
        number += 1;
        let mut open = vec![0];
        while let Some(block) = open.pop() {
            if std::mem::replace(&mut seen[block], number) == number {
                continue;
            }
            if blocks[block].exposed.contains(&cell) {
                return true;
            }
            if !blocks[block].written.contains(&cell) {
                let next = graph.edges.neighbors_directed(NodeIndex::new(block), Incoming);
                open.extend(next.map(NodeIndex::index).filter(|&next| next < blocks.len()));
            }
        }
        false
    };
    let given = |cell: Cell| {
        let is = |formal: &Formal| matches!(*formal, Formal::Register(f, s) if (f, s) == cell);
        function.params.iter().any(is)
    };
    names
        .into_iter()
        .filter(|(cell, _)| exposed.contains(cell) && !given(*cell) && reaches(*cell))
        .collect()
}

/// The summary of a block; adds its exposed registers to `all`.
fn summary(function: &Function, graph: &Graph, block: usize, all: &mut FxHashSet<Cell>) -> Summary {
    let mut summary = Summary::default();
    let range = graph.starts[block]..graph.end(block);
    for micro in &function.code[range] {
        let guard = match micro.guard {
            Guard::Always => None,
            Guard::If(slot) | Guard::Unless(slot) => Some((File::Pred, slot)),
        };
        let returns = match micro.op {
            Op::Return => function.returns.as_slice(),
            _ => &[],
        };
        let returned = returns.iter().filter_map(|formal| match *formal {
            Formal::Register(file, slot) => Some((file, slot)),
            Formal::Memory { .. } => None,
        });
        for cell in reads(&micro.op).into_iter().chain(guard).chain(returned) {
            if !summary.written.contains(&cell) {
                summary.exposed.insert(cell);
                all.insert(cell);
            }
        }
        if guard.is_none() {
            summary.written.extend(writes(&micro.op));
        }
    }
    summary
}
