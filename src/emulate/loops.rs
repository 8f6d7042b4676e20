//! Joins and loops: merging of values, values carried round a loop, induction variables.
//!
//! In: the states at the ends of a block's predecessors, and what each loop changes. Out: the state at
//! the block's start, in which a value that differs between the predecessors is an `if then else` or a
//! symbol of its own, *fed by* the values and conditions that it was made from.

use rustc_hash::{FxHashMap, FxHashSet};

use super::effects::{Effect, changes_memory, definitions, effect, strong};
use super::machine::Machine;
use super::state::{Slot, Writes};
use super::symbols::{LaneDependence, SymbolInfo, SymbolKind};
use super::trace::KernelTrace;
use super::uniform;
use super::window::Window;
use crate::cfg::{BlockId, Edge, EdgeCondition, Flow, LoopId};
use crate::expr::{Arena, Node, Range, Substitution, SymbolId, TermId};
use crate::planted::Bug;

/// The registers and the parts of memory that a loop changes.
#[derive(Clone, Debug, Default)]
pub(super) struct LoopEffects {
    /// Indices of mutable registers, ascending.
    registers: Vec<u32>,
    memory: [bool; Window::ALL.len()],
    /// Whether something in it synchronises with other threads.
    synchronises: bool,
}

impl LoopEffects {
    /// The effects of all loops of a function.
    pub fn all(flow: &Flow<'_, '_>, writes: &Writes) -> Vec<LoopEffects> {
        let mut all = vec![LoopEffects::default(); flow.loops.loops.len()];
        for id in flow.block_ids() {
            let Some(innermost) = flow.loops.innermost(id) else { continue };
            let insts = &flow.insts[flow.block(id).instructions()];
            let mut registers = Vec::new();
            let mut memory = [false; Window::ALL.len()];
            let mut synchronises = false;
            for inst in insts {
                let changed = changes_memory(inst);
                for &window in changed {
                    memory[window as usize] = true;
                }
                let weak_store = effect(inst) == Effect::Store && strong(&inst.ast.form).is_none();
                synchronises |= !changed.is_empty() && !weak_store;
                registers.extend(definitions(inst).iter().filter_map(
                    |register| match writes.slots[register.0 as usize] {
                        Slot::Mutable(index) => Some(index),
                        Slot::Single => None,
                    },
                ));
            }
            for around in flow.loops.around(Some(innermost)) {
                let effects = &mut all[around.0 as usize];
                effects.registers.extend(&registers);
                effects.synchronises |= synchronises;
                for window in Window::ALL {
                    effects.memory[window as usize] |= memory[window as usize];
                }
            }
        }
        for effects in &mut all {
            effects.registers.sort_unstable();
            effects.registers.dedup();
        }
        all
    }
}

/// A register at the header of a loop that changes it.
#[derive(Clone, Copy, Debug)]
pub(super) struct LoopValue {
    pub symbol: SymbolId,
    pub term: TermId,
    pub id: LoopId,
    /// Index of the mutable register.
    pub index: u32,
    /// Its value when the loop is entered.
    pub initial: TermId,
}

impl Machine<'_, '_, '_> {
    /// Merges the states at the ends of the blocks that lead here.
    pub(super) fn join(&mut self, incoming: &[Edge]) {
        let first = incoming[0].from;
        let Some(exit) = &self.exits[first.index()] else { return };
        let (mut state, mut memory) = (exit.mutable.to_vec(), exit.memory);
        if incoming.len() > 1 {
            let selector = self.two_way_condition(incoming);
            for (index, value) in state.iter_mut().enumerate() {
                let others = incoming[1..].iter().filter_map(|edge| {
                    self.exits[edge.from.index()].as_ref().map(|exit| exit.mutable[index])
                });
                let values: Vec<TermId> = std::iter::once(*value).chain(others).collect();
                *value = self.merge(index, &values, selector);
            }
            for (window, version) in memory.iter_mut().enumerate() {
                let exits =
                    incoming.iter().filter_map(|edge| self.exits[edge.from.index()].as_ref());
                let versions: Vec<TermId> = exits.map(|exit| exit.memory[window]).collect();
                if versions.iter().any(|other| other != version) {
                    let epoch = self.epoch(*version);
                    let same = versions.iter().all(|&other| self.epoch(other) == epoch);
                    let epoch = epoch.filter(|_| same);
                    *version = self.fresh_memory(epoch, LaneDependence::Fed(versions));
                    // Otherwise it matters by which way a lane has come.
                    if let (None, Node::Symbol(symbol)) = (epoch, self.arena.node(*version))
                        && !self.flow.planted.has(Bug::MemoryAtJoins)
                    {
                        self.joins.push((*symbol, self.block));
                    }
                }
            }
        }
        self.state = state;
        self.memory = memory;
    }

    fn merge(&mut self, index: usize, values: &[TermId], selector: Option<TermId>) -> TermId {
        let first = values[0];
        if values.iter().all(|&value| value == first) {
            return first;
        }
        if let (Some(condition), [a, b]) = (selector, values) {
            return self.arena.if_then_else(condition, *a, *b);
        }
        let register = self.writes.mutable[index];
        let number = self.symbols.next_fresh();
        let kind = SymbolKind::JoinValue(register, number);
        let width = self.register_width(register);
        let term = self.make(kind, width, LaneDependence::Fed(values.to_vec()));
        if let Node::Symbol(symbol) = *self.arena.node(term) {
            self.joins.push((symbol, self.block));
        }
        term
    }

    /// For two ways that part at the immediate dominator and meet here: the condition of the first.
    fn two_way_condition(&mut self, incoming: &[Edge]) -> Option<TermId> {
        let [a, b] = incoming else { return None };
        let fork = self.flow.dominators.immediate(self.block)?;
        // A fork in a loop that was left has its condition decided once per iteration.
        if self.flow.loops.innermost(fork) != self.here() {
            return None;
        }
        let condition = self.branches[fork.index()]?;
        let side = |edge: &Edge| {
            self.flow.block(fork).successors.iter().find_map(|out| match out.condition {
                EdgeCondition::Predicate(_, taken) => {
                    let direct = edge.from == fork && out.to == self.block;
                    let below = out.to != self.block
                        && self.flow.block(out.to).predecessors.len() == 1
                        && self.flow.dominators.dominates(out.to, edge.from);
                    (direct || below).then_some(taken)
                }
                _ => None,
            })
        };
        match (side(a)?, side(b)?) {
            (true, false) => Some(condition),
            (false, true) => Some(self.arena.not(condition)),
            _ => None,
        }
    }

    /// Gives every register that the loop changes a symbol of its own.
    pub(super) fn enter_loop(&mut self, id: LoopId) {
        let effects = self.loop_effects[id.0 as usize].clone();
        for index in effects.registers {
            let initial = self.state[index as usize];
            let register = self.writes.mutable[index as usize];
            let kind = SymbolKind::LoopValue(register, id.0);
            let width = self.register_width(register);
            let term = self.make(kind, width, LaneDependence::Fed(vec![initial]));
            if let Node::Symbol(symbol) = *self.arena.node(term) {
                self.loop_values.push(LoopValue { symbol, term, id, index, initial });
            }
            self.state[index as usize] = term;
        }
        for window in Window::ALL.into_iter().filter(|&w| effects.memory[w as usize]) {
            let before = self.memory[window as usize];
            let epoch = self.epoch(before).filter(|_| !effects.synchronises);
            let version = self.fresh_memory(epoch, LaneDependence::Fed(vec![before]));
            self.memory[window as usize] = version;
            self.loop_memories.push((id, window, version, before));
        }
    }

    /// What lanes see at the header of a loop is what they saw before it or at the end of an
    /// iteration.
    pub(super) fn complete_memories(&mut self) {
        for (id, window, version, before) in std::mem::take(&mut self.loop_memories) {
            let latches = self.flow.loops.get(id).latches.iter();
            let ends = latches.filter_map(|edge| self.exits[edge.from.index()].as_ref());
            let ends: Vec<TermId> = ends.map(|exit| exit.memory[window as usize]).collect();
            let mut feeds: Vec<TermId> = std::iter::once(before).chain(ends.clone()).collect();
            // It matters by which latch a lane has come, if one synchronises and another does not.
            if ends.iter().any(|&end| self.epoch(end) != self.epoch(ends[0]))
                && !self.flow.planted.has(Bug::MemoryAtJoins)
            {
                feeds.extend(self.conditions_in(id));
            }
            if let Node::Symbol(symbol) = *self.arena.node(version) {
                self.symbols.set_dependence(symbol, LaneDependence::Fed(feeds));
            }
        }
    }

    /// Finds out which loop values are induction variables, `initial + iteration * step` with a
    /// step that the loop does not change, and what feeds the others.
    pub(super) fn resolve_loops(&mut self) -> FxHashMap<SymbolId, TermId> {
        let mut resolved = FxHashMap::default();
        let mut substitution = Substitution::new();
        for value in self.loop_values.clone() {
            let latches = &self.flow.loops.get(value.id).latches;
            let at_latches: Vec<TermId> = latches
                .iter()
                .filter_map(|edge| self.exits[edge.from.index()].as_ref())
                .map(|exit| exit.mutable[value.index as usize])
                .collect();
            if let Some(step) = self.step(&value, &at_latches) {
                let definition = self.induction(&value, step, &resolved, &mut substitution);
                resolved.insert(value.symbol, definition);
                continue;
            }
            let mut feeds = vec![value.initial];
            feeds.extend(at_latches);
            if latches.len() > 1 {
                feeds.extend(self.conditions_in(value.id));
            }
            self.symbols.set_dependence(value.symbol, LaneDependence::Fed(feeds));
        }
        resolved
    }

    fn step(&mut self, value: &LoopValue, at_latches: &[TermId]) -> Option<TermId> {
        let (&first, others) = at_latches.split_first()?;
        if others.iter().any(|&other| other != first) {
            return None;
        }
        let step = self.arena.sub(first, value.term);
        let flow = self.flow;
        let symbols = &self.symbols;
        let changes = any_symbol(&self.arena, step, &mut |symbol| {
            flow.loops.nested(symbols.info(symbol).created_in, value.id)
        });
        (!changes).then_some(step)
    }

    /// `initial + iteration * step`; all induction variables of a loop share the iteration.
    fn induction(
        &mut self,
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
        let iteration = self.symbols.term(&mut self.arena, info, Range::full(64));
        let mut resolve = |arena: &mut Arena, term| {
            substitution.apply(arena, term, &mut |_, symbol, symbol_term| {
                resolved.get(&symbol).copied().unwrap_or(symbol_term)
            })
        };
        let initial = resolve(&mut self.arena, value.initial);
        let step = resolve(&mut self.arena, step);
        let width = self.arena.width(initial);
        let count = self.arena.resize(iteration, width);
        let moved = self.arena.mul(count, step);
        self.arena.add(initial, moved)
    }

    fn conditions_in(&self, id: LoopId) -> Vec<TermId> {
        self.arena.charge(self.flow.blocks.len() as u64);
        let inside = self.flow.block_ids().filter(|&block| self.flow.loops.contains(id, block));
        inside.filter_map(|block| self.branches[block.index()]).collect()
    }

    /// A value from several flows is uniform only if the conditions that chose the flow are.
    pub(super) fn complete_joins(&mut self) {
        let mut conditions: FxHashMap<BlockId, Vec<TermId>> = FxHashMap::default();
        for (symbol, block) in std::mem::take(&mut self.joins) {
            let control = conditions
                .entry(block)
                .or_insert_with(|| control_of(self.flow, &self.arena, &self.branches, block));
            let info = self.symbols.info(symbol);
            if let LaneDependence::Fed(values) = &info.dependence {
                self.arena.charge(1 + control.len() as u64);
                let feeds = values.iter().chain(control.iter()).copied().collect();
                self.symbols.set_dependence(symbol, LaneDependence::Fed(feeds));
            }
        }
    }

    /// Puts the induction variables into everything that was recorded.
    pub(super) fn resolve_everything(
        mut self,
        resolved: FxHashMap<SymbolId, TermId>,
    ) -> KernelTrace {
        let mut substitution = Substitution::new();
        let mut resolve = |arena: &mut Arena, term: TermId| {
            substitution.apply(arena, term, &mut |_, symbol, symbol_term| {
                resolved.get(&symbol).copied().unwrap_or(symbol_term)
            })
        };
        let arena = &mut self.arena;
        for access in &mut self.accesses {
            access.address = access.address.map(|term| resolve(arena, term));
            access.guard = access.guard.map(|term| resolve(arena, term));
            for value in access.values.iter_mut().flatten() {
                *value = resolve(arena, *value);
            }
        }
        for term in self.assumptions.iter_mut().chain(&mut self.branches).flatten() {
            *term = resolve(arena, *term);
        }
        for widened in &mut self.widened {
            widened.value = resolve(arena, widened.value);
        }
        let fed: Vec<(SymbolId, Vec<TermId>)> = self
            .symbols
            .iter()
            .filter_map(|(id, info)| match &info.dependence {
                LaneDependence::Fed(feeds) => Some((id, feeds.clone())),
                _ => None,
            })
            .collect();
        for (id, feeds) in fed {
            // An induction variable never appears in a resolved term; what feeds it does.
            let feeds = feeds.into_iter().map(|term| resolve(arena, term)).collect();
            self.symbols.set_dependence(id, LaneDependence::Fed(feeds));
        }
        let uniformity = uniform::solve(&self.arena, &self.symbols, self.flow, &self.branches);
        KernelTrace {
            arena: self.arena,
            symbols: self.symbols,
            accesses: self.accesses,
            assumptions: self.assumptions,
            branches: self.branches,
            reachable: self.reachable,
            widened: self.widened,
            definitions: self.writes.counts,
            induction: resolved,
            uniform: uniformity.symbols,
            uniform_exit: uniformity.exits,
            approximations: self.approximations,
        }
    }
}

/// The conditions that decide by which way a join is reached: those of all blocks between it and
/// its immediate dominator.
fn control_of(
    flow: &Flow<'_, '_>,
    arena: &Arena,
    branches: &[Option<TermId>],
    join: BlockId,
) -> Vec<TermId> {
    let fork = flow.dominators.immediate(join);
    let mut seen: FxHashSet<BlockId> = fork.into_iter().chain([join]).collect();
    let mut work: Vec<BlockId> =
        flow.block(join).predecessors.iter().map(|edge| edge.from).collect();
    let mut found: Vec<TermId> = fork.and_then(|fork| branches[fork.index()]).into_iter().collect();
    while let Some(block) = work.pop() {
        if seen.insert(block) {
            arena.charge(2);
            found.extend(branches[block.index()]);
            work.extend(flow.block(block).predecessors.iter().map(|edge| edge.from));
        }
    }
    found
}

/// Whether a term contains a symbol with a property.
pub(super) fn any_symbol(
    arena: &Arena,
    term: TermId,
    property: &mut dyn FnMut(SymbolId) -> bool,
) -> bool {
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
