//! Which symbols have one value for a whole warp: an optimistic fixpoint over what feeds them.

use super::symbols::{LaneDependence, Symbols};
use crate::cfg::{EdgeCondition, Flow, LoopId};
use crate::expr::{Arena, Node, TermId};

/// For each symbol whether it is uniform among lanes in the same iteration, and for each loop
/// whether all lanes leave it in the same iteration.
pub(super) fn solve(
    arena: &Arena,
    symbols: &Symbols,
    flow: &Flow<'_, '_>,
    branches: &[Option<TermId>],
) -> (Vec<bool>, Vec<bool>) {
    let mut uniform: Vec<bool> = symbols
        .iter()
        .map(|(_, info)| {
            matches!(info.dependence, LaneDependence::Uniform | LaneDependence::Fed(_))
        })
        .collect();
    let mut exits = vec![true; flow.loops.loops.len()];
    loop {
        let terms = uniform_terms(arena, symbols, flow, &uniform, &exits);
        let mut changed = false;
        for (id, info) in symbols.iter() {
            if let LaneDependence::Fed(feeds) = &info.dependence
                && uniform[id.0 as usize]
                && !feeds.iter().all(|feed| terms.at(*feed, info.created_in, flow, &exits))
            {
                uniform[id.0 as usize] = false;
                changed = true;
            }
        }
        for (id, natural) in flow.loops.loops.iter().enumerate() {
            let together = natural.exits.iter().all(|edge| {
                let condition = branches[edge.from.index()];
                match edge.condition {
                    EdgeCondition::Always => true,
                    EdgeCondition::Index => false,
                    EdgeCondition::Predicate(..) => condition
                        .is_none_or(|c| terms.at(c, flow.loops.innermost(edge.from), flow, &exits)),
                }
            });
            if exits[id] && !together {
                exits[id] = false;
                changed = true;
            }
        }
        if !changed {
            return (uniform, exits);
        }
    }
}

/// What is known of every term: whether all its symbols are uniform, and the loops they are from.
struct UniformTerms {
    /// For each term: whether it is uniform as long as no loop was left.
    inside: Vec<bool>,
    /// For each term: whether it also holds a value from some loop that lanes leave one by one.
    left: Vec<Vec<u32>>,
}

impl UniformTerms {
    fn at(&self, term: TermId, place: Option<LoopId>, flow: &Flow<'_, '_>, exits: &[bool]) -> bool {
        let index = term.index();
        self.inside[index]
            && self.left[index]
                .iter()
                .all(|&id| exits[id as usize] || flow.loops.nested(place, LoopId(id)))
    }
}

fn uniform_terms(
    arena: &Arena,
    symbols: &Symbols,
    flow: &Flow<'_, '_>,
    uniform: &[bool],
    exits: &[bool],
) -> UniformTerms {
    let mut inside = Vec::with_capacity(arena.len());
    let mut left: Vec<Vec<u32>> = Vec::with_capacity(arena.len());
    for term in arena.terms() {
        // Operands come before the terms that use them.
        let (ok, loops) = match *arena.node(term) {
            Node::Symbol(symbol) => {
                let around = flow.loops.around(symbols.info(symbol).created_in);
                let staggered = around.map(|id| id.0).filter(|&id| !exits[id as usize]).collect();
                (uniform[symbol.0 as usize], staggered)
            }
            _ => {
                let operands = arena.operands(term);
                let ok = operands.iter().all(|operand| inside[operand.index()]);
                let mut loops: Vec<u32> = Vec::new();
                for operand in operands {
                    for &id in &left[operand.index()] {
                        if !loops.contains(&id) {
                            loops.push(id);
                        }
                    }
                }
                (ok, loops)
            }
        };
        inside.push(ok);
        left.push(loops);
    }
    UniformTerms { inside, left }
}
