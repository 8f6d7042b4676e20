//! From where to where in the text a register is needed.

use indexmap::IndexMap;
use rustc_hash::FxBuildHasher;

use super::flow::Flow;
use crate::interp::program::rare::Cell;
use crate::interp::program::{Guard, MicroOp, Op};

/// Where a register is needed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// The first micro-operation in the text that names it.
    pub first: usize,
    /// The last one.
    pub last: usize,
    /// Whether what it holds at first may be read.
    pub needs_start: bool,
    /// Whether its row may hold other registers in front of the first micro-operation and behind the last.
    pub shares: bool,
}

/// The spans of registers, in the order of the text.
pub type Spans = IndexMap<Cell, Span, FxBuildHasher>;

/// The spans of all registers that are named.
pub fn spans(code: &[MicroOp], flows: &[Flow]) -> Spans {
    let mut spans = Spans::default();
    for (at, Flow { data, control, written }) in flows.iter().enumerate() {
        for &cell in data.iter().chain(control).chain(written) {
            let new = Span { first: at, last: at, needs_start: false, shares: false };
            spans.entry(cell).or_insert(new).last = at;
        }
    }
    let branches: Vec<(usize, usize)> = code
        .iter()
        .enumerate()
        .filter_map(|(at, micro)| match micro.op {
            Op::Branch { target, .. } => Some((at, target as usize)),
            _ => None,
        })
        .collect();
    for (cell, span) in &mut spans {
        span.needs_start = needs_start(code, flows, &branches, *cell, span);
        span.shares = !span.needs_start && shares(&branches, span);
    }
    spans
}

/// Whether a register may be read before it is written: unless its first micro-operation in the text writes it in all
/// lanes, and no branch leads past that one to another.
fn needs_start(
    code: &[MicroOp],
    flows: &[Flow],
    branches: &[(usize, usize)],
    cell: Cell,
    &Span { first, last, .. }: &Span,
) -> bool {
    let Flow { data, written, .. } = &flows[first];
    if data.contains(&cell) || !written.contains(&cell) || code[first].guard != Guard::Always {
        return true;
    }
    let mut past = branches.iter().filter(|&&(at, target)| at < first && target > first);
    past.any(|&(_, past)| {
        let back =
            |&(at, target): &(usize, usize)| at >= past && (first + 1..=last).contains(&target);
        past <= last || branches.iter().any(back)
    })
}

/// Whether every loop lies within a span, around it, or apart from it. (Otherwise what is written in one turn may be read
/// in the next.)
fn shares(branches: &[(usize, usize)], &Span { first, last, .. }: &Span) -> bool {
    let loops = branches.iter().filter(|(at, target)| target <= at);
    loops.into_iter().all(|&(end, begin)| {
        let apart = last < begin || end < first;
        let within = first <= begin && end <= last;
        let around = begin <= first && last <= end;
        apart || within || around
    })
}
