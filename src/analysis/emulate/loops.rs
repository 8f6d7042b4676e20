//! Loops: loop-carried values, induction variables, memory at their headers.
//!
//! In: the registers and memory that each loop changes, and the states at its entry and its latches. Out: a symbol for
//! each register at the header, which is either an induction variable, `initial + iteration * step`, or *fed by* the
//! values and conditions that it is made from.

use rustc_hash::{FxHashMap, FxHashSet};
use typed_index_collections::{TiSlice, TiVec};

use super::joins::Joins;
use super::loop_effects::LoopEffects;
use super::registers::Writes;
use super::state::State;
use super::symbols::{LaneDependence, SymbolInfo, SymbolKind};
use super::window::Window;
use crate::cfg::{BlockId, Flow, LoopId};
use crate::expr::{Arena, Node, Range, Substitution, SymbolId, TermId};

/// A register at the header of a loop that changes it.
#[derive(Clone, Copy, Debug)]
struct LoopValue {
    symbol: SymbolId,
    term: TermId,
    id: LoopId,
    /// Index of the mutable register.
    index: u32,
    /// Its value when the loop is entered.
    initial: TermId,
}

/// Memory at the header of a loop that changes it.
#[derive(Clone, Copy, Debug)]
struct LoopMemory {
    id: LoopId,
    window: Window,
    version: TermId,
    /// The version when the loop is entered.
    initial: TermId,
}

/// The loops of a function, as far as they have been entered.
#[derive(Debug)]
pub(super) struct Loops {
    effects: TiVec<LoopId, LoopEffects>,
    values: Vec<LoopValue>,
    memories: Vec<LoopMemory>,
}

impl Loops {
    /// No loop has been entered.
    pub(super) fn new(flow: &Flow<'_, '_>, writes: &Writes) -> Loops {
        Loops { effects: LoopEffects::all(flow, writes), values: Vec::new(), memories: Vec::new() }
    }

    /// Gives every register that the loop changes a symbol of its own.
    pub(super) fn enter(&mut self, state: &mut State<'_, '_, '_>, id: LoopId) {
        let effects = &self.effects[id];
        for &index in &effects.registers {
            let initial = state.registers.values()[index as usize];
            let register = state.registers.mutable()[index as usize];
            let kind = SymbolKind::LoopValue(register, id.0);
            let width = state.register_width(register);
            let term = state.make(kind, width, LaneDependence::DependsOn(vec![initial]));
            if let Node::Symbol(symbol) = *state.arena.node(term) {
                self.values.push(LoopValue { symbol, term, id, index, initial });
            }
            state.registers.set_value(index, term);
        }
        for window in Window::ALL.into_iter().filter(|&w| effects.memory[w as usize]) {
            let initial = state.memory[window as usize];
            let epoch = state.epoch(initial).filter(|_| !effects.synchronises);
            let version = state.fresh_memory(epoch, LaneDependence::DependsOn(vec![initial]));
            state.memory[window as usize] = version;
            self.memories.push(LoopMemory { id, window, version, initial });
        }
    }

    /// At the header of a loop, lanes see the memory from in front of the loop or from the end of an iteration.
    pub(super) fn complete_memories(
        &mut self,
        state: &mut State<'_, '_, '_>,
        joins: &Joins,
        branches: &TiSlice<BlockId, Option<TermId>>,
    ) {
        for LoopMemory { id, window, version, initial } in std::mem::take(&mut self.memories) {
            let ends = joins.ends(&state.flow.loops.get(id).latches);
            let ends: Vec<TermId> = ends.map(|exit| exit.memory[window as usize]).collect();
            let mut feeds: Vec<TermId> = std::iter::once(initial).chain(ends.clone()).collect();
            // If one latch synchronises and another does not, it matters by which of them a lane has
            // come.
            if ends.iter().any(|&end| state.epoch(end) != state.epoch(ends[0]))
                && !planted!(Bug::MemoryAtJoins)
            {
                feeds.extend(conditions_in(state, branches, id));
            }
            if let Node::Symbol(symbol) = *state.arena.node(version) {
                state.symbols.set_dependence(symbol, LaneDependence::DependsOn(feeds));
            }
        }
    }

    /// Finds out which loop values are induction variables, `initial + iteration * step` with a
    /// step that the loop does not change, and what feeds the others.
    pub(super) fn resolve(
        &self,
        state: &mut State<'_, '_, '_>,
        joins: &Joins,
        branches: &TiSlice<BlockId, Option<TermId>>,
    ) -> FxHashMap<SymbolId, TermId> {
        let mut resolved = FxHashMap::default();
        let mut substitution = Substitution::new();
        for value in &self.values {
            let latches = &state.flow.loops.get(value.id).latches;
            let at_latches: Vec<TermId> =
                joins.ends(latches).map(|exit| exit.mutable[value.index as usize]).collect();
            if let Some(step) = step(state, value, &at_latches) {
                let definition = induction(state, value, step, &resolved, &mut substitution);
                resolved.insert(value.symbol, definition);
                continue;
            }
            let mut feeds = vec![value.initial];
            feeds.extend(at_latches);
            if latches.len() > 1 {
                feeds.extend(conditions_in(state, branches, value.id));
            }
            state.symbols.set_dependence(value.symbol, LaneDependence::DependsOn(feeds));
        }
        resolved
    }
}

/// The amount by which a value grows in each iteration, if it is the same in all.
fn step(state: &mut State<'_, '_, '_>, value: &LoopValue, at_latches: &[TermId]) -> Option<TermId> {
    let (&first, others) = at_latches.split_first()?;
    if others.iter().any(|&other| other != first) {
        return None;
    }
    let step = state.arena.sub(first, value.term);
    let (flow, symbols) = (state.flow, &state.symbols);
    let changes = any_symbol(&state.arena, step, &mut |symbol| {
        flow.loops.nested(symbols.info(symbol).created_in, value.id)
    });
    (!changes).then_some(step)
}

/// `initial + iteration * step`; all induction variables of a loop share the iteration.
fn induction(
    state: &mut State<'_, '_, '_>,
    value: &LoopValue,
    step: TermId,
    resolved: &FxHashMap<SymbolId, TermId>,
    substitution: &mut Substitution,
) -> TermId {
    let info = SymbolInfo {
        kind: SymbolKind::Iteration(value.id),
        width: 64,
        dependence: LaneDependence::Uniform,
        created_in: Some(value.id),
    };
    let iteration = state.symbols.term(&mut state.arena, info, Range::full(64));
    let mut resolve = |arena: &mut Arena, term| {
        substitution.apply(arena, term, &mut |_, symbol, symbol_term| {
            resolved.get(&symbol).copied().unwrap_or(symbol_term)
        })
    };
    let initial = resolve(&mut state.arena, value.initial);
    let step = resolve(&mut state.arena, step);
    let width = state.arena.width(initial);
    let count = state.arena.resize(iteration, width);
    let moved = state.arena.mul(count, step);
    state.arena.add(initial, moved)
}

/// The conditions of all branches in a loop.
fn conditions_in(
    state: &State<'_, '_, '_>,
    branches: &TiSlice<BlockId, Option<TermId>>,
    id: LoopId,
) -> Vec<TermId> {
    let flow = state.flow;
    state.arena.charge(flow.blocks.len() as u64);
    let inside = flow.block_ids().filter(|&block| flow.loops.contains(id, block));
    inside.filter_map(|block| branches[block]).collect()
}

/// Whether a term contains a symbol with a property.
fn any_symbol(arena: &Arena, term: TermId, property: &mut dyn FnMut(SymbolId) -> bool) -> bool {
    let mut seen = FxHashSet::default();
    let mut work = vec![term];
    while let Some(next) = work.pop() {
        if !seen.insert(next) {
            continue;
        }
        arena.charge(2);
        if let Node::Symbol(symbol) = *arena.node(next)
            && property(symbol)
        {
            return true;
        }
        work.extend(arena.operands(next));
    }
    false
}
