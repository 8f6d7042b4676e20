//! Where several ways meet: the states at the ends of blocks, merged at the start of the next one.
//!
//! In: the states at the ends of a block's predecessors. Out: the state at the block's start, in which a
//! value that differs between the predecessors is an `if then else` or a symbol of its own, *fed by* the
//! values and conditions that it was made from.

use rustc_hash::FxHashMap;
use typed_index_collections::{TiSlice, TiVec};

use super::state::{Memory, State};
use super::symbols::{LaneDependence, SymbolKind};
use crate::cfg::{BlockId, Edge, EdgeCondition, Flow};
use crate::expr::{Arena, Node, SymbolId, TermId};

/// The values of the mutable registers and the versions of memory at the end of a block.
#[derive(Clone, Debug)]
pub(super) struct Exit {
    pub mutable: Box<[TermId]>,
    pub memory: Memory,
}

/// The visited blocks, and the values merged between them.
#[derive(Debug)]
pub(super) struct Joins {
    /// The states at the ends of the blocks that have been visited.
    exits: TiVec<BlockId, Option<Exit>>,
    /// Symbols whose feeds are completed once the conditions around their blocks are known.
    open: Vec<(SymbolId, BlockId)>,
}

impl Joins {
    /// No block has been visited.
    pub(super) fn new(flow: &Flow<'_, '_>) -> Joins {
        Joins { exits: flow.blocks.iter().map(|_| None).collect(), open: Vec::new() }
    }

    /// Keeps the state at the end of the block that has been visited.
    pub(super) fn leave(&mut self, state: &State<'_, '_, '_>) {
        let exit = Exit { mutable: state.registers.values().into(), memory: state.memory };
        self.exits[state.block] = Some(exit);
    }

    /// The states at the origins of `edges`, as far as these have been visited.
    pub(super) fn ends<'e>(&'e self, edges: &'e [Edge]) -> impl Iterator<Item = &'e Exit> {
        edges.iter().filter_map(|edge| self.exits[edge.from].as_ref())
    }

    /// Merges the states at the ends of the blocks that lead to this one.
    pub(super) fn enter(
        &mut self,
        state: &mut State<'_, '_, '_>,
        branches: &TiSlice<BlockId, Option<TermId>>,
        incoming: &[Edge],
    ) {
        let first = incoming[0].from;
        let Some(exit) = &self.exits[first] else { return };
        let (mut values, mut memory) = (exit.mutable.to_vec(), exit.memory);
        if incoming.len() > 1 {
            let selector = two_way_condition(state, branches, incoming);
            for (index, value) in values.iter_mut().enumerate() {
                let others = self.ends(&incoming[1..]).map(|exit| exit.mutable[index]);
                let merged: Vec<TermId> = std::iter::once(*value).chain(others).collect();
                *value = self.merge(state, index, &merged, selector);
                if merged.iter().any(|way| way != value) {
                    state.hold(state.registers.mutable()[index], *value, None);
                }
            }
            for (window, version) in memory.iter_mut().enumerate() {
                let versions = self.ends(incoming).map(|exit| exit.memory[window]).collect();
                *version = self.merge_memory(state, *version, versions);
            }
        }
        state.registers.set_values(values);
        state.memory = memory;
    }

    fn merge(
        &mut self,
        state: &mut State<'_, '_, '_>,
        index: usize,
        values: &[TermId],
        selector: Option<TermId>,
    ) -> TermId {
        let first = values[0];
        if values.iter().all(|&value| value == first) {
            return first;
        }
        if let (Some(condition), [a, b]) = (selector, values) {
            return state.arena.if_then_else(condition, *a, *b);
        }
        let register = state.registers.mutable()[index];
        let number = state.symbols.next_fresh();
        let kind = SymbolKind::JoinValue(register, number);
        let width = state.register_width(register);
        let term = state.make(kind, width, LaneDependence::DependsOn(values.to_vec()));
        if let Node::Symbol(symbol) = *state.arena.node(term) {
            self.open.push((symbol, state.block));
        }
        term
    }

    fn merge_memory(
        &mut self,
        state: &mut State<'_, '_, '_>,
        first: TermId,
        versions: Vec<TermId>,
    ) -> TermId {
        if versions.iter().all(|&other| other == first) {
            return first;
        }
        let epoch = state.epoch(first);
        let same = versions.iter().all(|&other| state.epoch(other) == epoch);
        let epoch = epoch.filter(|_| same);
        let version = state.fresh_memory(epoch, LaneDependence::DependsOn(versions));
        // Otherwise the version depends on the way by which a lane has come.
        if let (None, Node::Symbol(symbol)) = (epoch, state.arena.node(version))
            && !planted!(Bug::MemoryAtJoins)
        {
            self.open.push((*symbol, state.block));
        }
        version
    }

    /// A merged value is uniform only if the conditions that chose between its origins are.
    pub(super) fn complete(
        &mut self,
        state: &mut State<'_, '_, '_>,
        branches: &TiSlice<BlockId, Option<TermId>>,
    ) {
        let mut conditions: FxHashMap<BlockId, Vec<TermId>> = FxHashMap::default();
        for (symbol, block) in std::mem::take(&mut self.open) {
            let control = conditions
                .entry(block)
                .or_insert_with(|| control_of(state.flow, &state.arena, branches, block));
            let info = state.symbols.info(symbol);
            if let LaneDependence::DependsOn(values) = &info.dependence {
                state.arena.charge(1 + control.len() as u64);
                let feeds = values.iter().chain(control.iter()).copied().collect();
                state.symbols.set_dependence(symbol, LaneDependence::DependsOn(feeds));
            }
        }
    }
}

/// For two ways that part at the immediate dominator and meet here: the condition of the first.
fn two_way_condition(
    state: &mut State<'_, '_, '_>,
    branches: &TiSlice<BlockId, Option<TermId>>,
    incoming: &[Edge],
) -> Option<TermId> {
    let [a, b] = incoming else { return None };
    let (flow, here) = (state.flow, state.block);
    let fork = flow.dominators.immediate(here)?;
    // A fork in a loop that was left has its condition decided once per iteration.
    if flow.loops.innermost(fork) != state.here() {
        return None;
    }
    let condition = branches[fork]?;
    let side = |edge: &Edge| {
        flow.block(fork).successors.iter().find_map(|out| match out.condition {
            EdgeCondition::Predicate(_, taken) => {
                let direct = edge.from == fork && out.to == here;
                let below = out.to != here
                    && flow.block(out.to).predecessors.len() == 1
                    && flow.dominators.dominates(out.to, edge.from);
                (direct || below).then_some(taken)
            }
            _ => None,
        })
    };
    match (side(a)?, side(b)?) {
        (true, false) => Some(condition),
        (false, true) => Some(state.arena.not(condition)),
        _ => None,
    }
}

/// The conditions that decide by which way a join is reached: that of its immediate dominator, and those of the blocks
/// between from which several ways lead there.
fn control_of(
    flow: &Flow<'_, '_>,
    arena: &Arena,
    branches: &TiSlice<BlockId, Option<TermId>>,
    join: BlockId,
) -> Vec<TermId> {
    let fork = flow.dominators.immediate(join);
    // By block the predecessor of the join that all its paths lead through; `None` if they lead through several.
    let mut last: FxHashMap<BlockId, Option<BlockId>> = FxHashMap::default();
    let mut work: Vec<(BlockId, Option<BlockId>)> =
        flow.block(join).predecessors.iter().map(|edge| (edge.from, Some(edge.from))).collect();
    while let Some((block, through)) = work.pop() {
        if fork == Some(block) || block == join {
            continue;
        }
        arena.charge(2);
        let joined = match last.get(&block) {
            Some(known) if *known == through || known.is_none() => continue,
            Some(_) => None,
            None => through,
        };
        last.insert(block, joined);
        work.extend(flow.block(block).predecessors.iter().map(|edge| (edge.from, joined)));
    }
    let several = last.into_iter().filter(|(_, through)| through.is_none());
    let mut found: Vec<BlockId> = several.map(|(block, _)| block).collect();
    found.sort_unstable();
    fork.into_iter().chain(found).filter_map(|block| branches[block]).collect()
}
