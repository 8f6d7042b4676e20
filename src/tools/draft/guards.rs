//! Which parameters are compared with a thread's number: the sizes in guards such as `if (y < height)`.

use std::collections::{BTreeMap, BTreeSet};

use super::pointers::{Part, Pointers};
use crate::emulate::{KernelTrace, SymbolKind};
use crate::expr::{Node, TermId};
use crate::isa::Special;

/// The parameters that a condition of the trace compares with the number of a thread along one axis, with that axis. Of
/// several axes it is the first.
pub(super) fn guards(trace: &KernelTrace, pointers: &Pointers) -> BTreeMap<Part, usize> {
    let arena = &trace.arena;
    let predicates = trace.accesses.iter().filter_map(|access| access.guard);
    let mut open: Vec<TermId> =
        trace.assumptions.iter().copied().flatten().chain(predicates).collect();
    let mut seen = BTreeSet::new();
    let mut found: BTreeMap<Part, usize> = BTreeMap::new();
    while let Some(term) = open.pop() {
        arena.charge(1);
        if !seen.insert(term) {
            continue;
        }
        if let Node::Compare(_, a, b) = arena.node(term) {
            for (size, number) in [(*a, *b), (*b, *a)] {
                let part = size_of(trace, pointers, size);
                if let (Some(part), Some(axis)) = (part, axis_of(trace, number)) {
                    let known = found.entry(part).or_insert(axis);
                    *known = axis.min(*known);
                }
            }
        }
        open.extend(arena.operands(term));
    }
    found
}

/// The parameter in a term that is nothing but a parameter and a constant.
fn size_of(trace: &KernelTrace, pointers: &Pointers, mut term: TermId) -> Option<Part> {
    loop {
        term = match trace.arena.node(term) {
            Node::ZeroExtend(inner) | Node::SignExtend(inner) => *inner,
            Node::Sum { addends, .. } => match addends[..] {
                [(only, 1)] => only,
                _ => return None,
            },
            Node::Symbol(symbol) => return pointers.part(&trace.symbols.info(*symbol).kind),
            _ => return None,
        };
    }
}

/// The axis of the thread's number that a term contains, if there is one such axis.
fn axis_of(trace: &KernelTrace, term: TermId) -> Option<usize> {
    let (mut seen, mut open, mut axes) = (BTreeSet::new(), vec![term], BTreeSet::new());
    while let Some(term) = open.pop() {
        trace.arena.charge(1);
        if !seen.insert(term) {
            continue;
        }
        if let Node::Symbol(symbol) = trace.arena.node(term)
            && let SymbolKind::Tid(axis) | SymbolKind::WarpUniform(Special::Ctaid(axis)) =
                &trace.symbols.info(*symbol).kind
        {
            axes.insert(axis.index());
        }
        open.extend(trace.arena.operands(term));
    }
    let first = axes.pop_first()?;
    axes.is_empty().then_some(first)
}
