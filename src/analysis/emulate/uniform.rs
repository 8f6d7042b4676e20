//! Which symbols have one value for a whole warp: an optimistic fixpoint over the terms that feed them.
//!
//! In: symbols with their [`LaneDependence`], the graph, the conditions of branches. Out: which
//! symbols are uniform among lanes that have met, and which loops all lanes leave in the same
//! iteration. The fixpoint starts from "every symbol that may be uniform is", and takes back each
//! symbol that is fed by a term which is not uniform, or belongs to a loop that is temporally divergent
//! ([`Flow::temporal_divergence`]), until nothing changes.

use rustc_hash::FxHashSet;
use typed_index_collections::{TiSlice, TiVec, ti_vec};

use super::symbols::{LaneDependence, SymbolInfo, SymbolKind, Symbols};
use crate::cfg::{BlockId, Edge, EdgeCondition, Flow, LoopId};
use crate::expr::{Arena, Node, SymbolId, TermId};
use crate::isa::Axis;

/// The outcome of the fixpoint.
#[derive(Clone, Debug)]
pub struct Uniformity {
    /// For each symbol whether it is uniform among lanes that have met.
    pub symbols: TiVec<SymbolId, bool>,
    /// For each loop whether all lanes leave it in the same iteration.
    pub exits: TiVec<LoopId, bool>,
    /// For each loop whether lanes that meet in it are in the same iteration.
    pub in_step: TiVec<LoopId, bool>,
}

/// Assumptions about uniform values, besides the dependences of symbols.
#[derive(Clone, Debug, Default)]
pub struct Beliefs {
    /// Whether `%tid.y` and `%tid.z` differ within a warp.
    pub rows_are_short: bool,
    /// Symbols that are uniform.
    pub symbols: FxHashSet<SymbolId>,
    /// Terms that are uniform as far as the symbols in them that loops change are.
    pub terms: FxHashSet<TermId>,
    /// Whether the lanes of a warp are in the same iteration of every loop, and leave it together.
    pub in_step: bool,
}

impl Beliefs {
    fn varies(&self, kind: &SymbolKind) -> bool {
        self.rows_are_short && matches!(kind, SymbolKind::Tid(Axis::Y | Axis::Z))
    }
}

/// Starts from every symbol being uniform that may be, and takes back those that are not.
pub(super) fn solve(
    arena: &Arena,
    symbols: &Symbols,
    flow: &Flow<'_, '_>,
    branches: &TiSlice<BlockId, Option<TermId>>,
    beliefs: &Beliefs,
) -> Uniformity {
    let may_be = |id: SymbolId, info: &SymbolInfo| {
        let may = matches!(info.dependence, LaneDependence::Uniform | LaneDependence::DependsOn(_));
        beliefs.symbols.contains(&id) || may && !beliefs.varies(&info.kind)
    };
    let ids = || flow.loops.loops.keys();
    let latches = |id: LoopId| {
        let latches = flow.loops.get(id).latches.iter().map(|latch| latch.from);
        flow.dominators.outermost(latches)
    };
    let mut fixpoint = Fixpoint {
        flow,
        branches,
        beliefs,
        found: Uniformity {
            symbols: symbols.iter().map(|(id, info)| may_be(id, info)).collect(),
            exits: ids().map(|id| beliefs.in_step || flow.loops.exits(id).is_some()).collect(),
            in_step: ti_vec![true; flow.loops.loops.len()],
        },
        latches: ids().map(latches).collect(),
    };
    let depth = |place| 1 + flow.loops.depth(place);
    let cost = flow.temporal_divergence.len()
        + symbols.iter().map(|(_, info)| 2 * depth(info.created_in)).sum::<usize>()
        + flow.block_ids().map(|block| 2 * depth(flow.loops.innermost(block))).sum::<usize>();

    while fixpoint.round(arena, symbols) {
        arena.charge(cost as u64);
        if arena.is_nearly_spent() {
            fixpoint.give_up(symbols);
            break;
        }
    }
    fixpoint.found
}

/// The fixpoint on its way: the symbols and loops that are still believed to be uniform.
struct Fixpoint<'a, 'm, 's> {
    flow: &'a Flow<'m, 's>,
    branches: &'a TiSlice<BlockId, Option<TermId>>,
    beliefs: &'a Beliefs,
    found: Uniformity,
    /// For each loop a first and a last latch: a block that dominates both dominates all latches.
    latches: TiVec<LoopId, Option<[BlockId; 2]>>,
}

impl Fixpoint<'_, '_, '_> {
    /// Marks as not uniform every symbol that a further round might: the rest is a fixpoint, too.
    fn give_up(&mut self, symbols: &Symbols) {
        for (id, info) in symbols.iter() {
            let fed = matches!(info.dependence, LaneDependence::DependsOn(_));
            self.found.symbols[id] &= !fed && info.created_in.is_none();
        }
        self.found.exits.fill(false);
        self.found.in_step.fill(false);
    }

    /// One round; true if a symbol was taken back.
    fn round(&mut self, arena: &Arena, symbols: &Symbols) -> bool {
        let flow = self.flow;
        let mut changed = false;
        let terms =
            uniform_terms(arena, symbols, (flow, self.beliefs), &mut self.found, &mut changed);
        let branch_is_uniform: TiVec<BlockId, bool> =
            flow.block_ids().map(|block| self.branch_is_uniform(&terms, block)).collect();
        let believed = self.beliefs.in_step;
        for apart in flow.temporal_divergence.iter().filter(|_| !believed) {
            let uniform = apart.branch.is_some_and(|branch| branch_is_uniform[branch]);
            if self.found.in_step[apart.of] && !uniform {
                self.found.in_step[apart.of] = false;
                changed = true;
            }
        }
        for (id, info) in symbols.iter() {
            let uniform = self.found.symbols[id];
            if uniform && !(self.in_step(info.created_in) && self.is_fed_uniformly(&terms, info)) {
                self.found.symbols[id] = false;
                changed = true;
            }
        }
        let as_one = loops_run_as_one(flow, &branch_is_uniform);
        for id in flow.loops.loops.keys().filter(|id| !believed && !as_one[*id]) {
            let mut exits = flow.loops.exits(id).into_iter().flatten();
            if self.found.exits[id]
                && !exits
                    .all(|edge| branch_is_uniform[edge.from] && self.in_every_iteration(id, edge))
            {
                self.found.exits[id] = false;
                changed = true;
            }
        }
        changed
    }

    fn branch_is_uniform(&self, terms: &UniformTerms, block: BlockId) -> bool {
        let indexed = |edge: &Edge| edge.condition == EdgeCondition::Index;
        if self.flow.block(block).successors.iter().any(indexed) {
            return false;
        }
        let place = self.flow.loops.innermost(block);
        self.branches[block]
            .is_none_or(|condition| terms.at(condition, place, self.flow, &self.found.exits))
    }

    /// Whether lanes that meet at a place are in the same iteration of all loops around it.
    fn in_step(&self, place: Option<LoopId>) -> bool {
        self.flow.loops.around(place).all(|id| self.found.in_step[id])
    }

    fn is_fed_uniformly(&self, terms: &UniformTerms, info: &SymbolInfo) -> bool {
        match &info.dependence {
            LaneDependence::DependsOn(feeds) => feeds
                .iter()
                .all(|feed| terms.at(*feed, info.created_in, self.flow, &self.found.exits)),
            _ => true,
        }
    }

    /// Whether every lane that stays in the loop comes by an exit in each iteration, so that the
    /// exit's condition alone decides which iteration is the last. (An exit that some iterations miss
    /// is taken in different iterations even if its condition is the same for all lanes.)
    fn in_every_iteration(&self, id: LoopId, exit: &Edge) -> bool {
        self.flow.loops.innermost(exit.from) == Some(id)
            && self.latches[id]
                .iter()
                .flatten()
                .all(|&latch| self.flow.dominators.dominates(exit.from, latch))
    }
}

/// For each loop whether all branches in it are uniform.
fn loops_run_as_one(
    flow: &Flow<'_, '_>,
    branch_is_uniform: &TiSlice<BlockId, bool>,
) -> TiVec<LoopId, bool> {
    let mut as_one = ti_vec![true; flow.loops.loops.len()];
    for block in flow.block_ids().filter(|block| !branch_is_uniform[*block]) {
        for id in flow.loops.around(flow.loops.innermost(block)) {
            as_one[id] = false;
        }
    }
    as_one
}

/// A term counts as not uniform if it holds values from more loops than this that lanes leave one by
/// one.
const MAX_LEFT: usize = 32;

/// The uniformity of every term: whether all its symbols are uniform, and the loops they are from.
struct UniformTerms {
    /// For each term: whether it is uniform as long as no loop was left.
    inside: TiVec<TermId, bool>,
    /// For each term: whether it also holds a value from some loop that lanes leave one by one.
    left: TiVec<TermId, Vec<LoopId>>,
}

impl UniformTerms {
    fn at(
        &self,
        term: TermId,
        place: Option<LoopId>,
        flow: &Flow<'_, '_>,
        exits: &TiSlice<LoopId, bool>,
    ) -> bool {
        self.inside[term]
            && self.left[term].iter().all(|&id| exits[id] || flow.loops.nested(place, id))
    }
}

fn uniform_terms(
    arena: &Arena,
    symbols: &Symbols,
    (flow, beliefs): (&Flow<'_, '_>, &Beliefs),
    found: &mut Uniformity,
    changed: &mut bool,
) -> UniformTerms {
    arena.charge(arena.len() as u64 * 2);
    let mut known = UniformTerms {
        inside: TiVec::with_capacity(arena.len()),
        left: TiVec::with_capacity(arena.len()),
    };
    for term in arena.terms() {
        // Operands come before the terms that use them.
        let (ok, loops) = match *arena.node(term) {
            Node::Symbol(symbol) => {
                // The terms that feed a symbol mostly come before it, too: a symbol that turns out not to be uniform
                // takes effect in the same round.
                let info = symbols.info(symbol);
                if let LaneDependence::DependsOn(feeds) = &info.dependence
                    && found.symbols[symbol]
                {
                    arena.charge(feeds.len() as u64);
                    let mut before = feeds.iter().filter(|feed| **feed < term);
                    if !before.all(|&feed| known.at(feed, info.created_in, flow, &found.exits)) {
                        found.symbols[symbol] = false;
                        *changed = true;
                    }
                }
                let around = flow.loops.around(symbols.info(symbol).created_in);
                let staggered = around.filter(|id| !found.exits[*id]).collect();
                (found.symbols[symbol], staggered)
            }
            _ => {
                let operands = arena.operands(term);
                let mut ok = operands.iter().all(|operand| known.inside[*operand])
                    || beliefs.terms.contains(&term);
                let mut loops: Vec<LoopId> = Vec::new();
                for operand in operands {
                    for &id in &known.left[operand] {
                        if ok && !loops.contains(&id) {
                            loops.push(id);
                            ok = loops.len() <= MAX_LEFT;
                        }
                    }
                }
                (ok, loops)
            }
        };
        known.inside.push(ok);
        known.left.push(loops);
    }
    known
}
