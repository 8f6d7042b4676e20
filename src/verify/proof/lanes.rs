//! Terms as another lane of the warp has them, for warps whose lanes are consecutive in `tid.x`.
//!
//! For a distance `n` and each loop-carried value the question is by how much lane `L + n`
//! is ahead of lane `L`. It is answered by induction over the iterations: the difference at the entry
//! is a term; it is assumed at the header and has to be found again at the latch. A value for which
//! that fails is unrelated, and the others are tried again without it, until nothing changes.

use rustc_hash::{FxHashMap, FxHashSet};
use typed_index_collections::{TiVec, ti_vec};

use super::shifted::{Moved, Relations, Shift, apply};
use crate::cfg::LoopId;
use crate::expr::{SymbolId, TermId};
use crate::isa::{Opcode, Qualifier};
use crate::program::{Program, Role};
use crate::record::{Execution, LoopValue, before_stores};
use crate::terms::Terms;

/// Moves terms between lanes and remembers the terms that it has moved. It knows the original program:
/// a symbol that both programs share has the original's meaning.
pub(crate) struct Lanes<'r, 's> {
    program: &'r Program<'r, 's>,
    execution: &'r Execution,
    /// For each loop, whether the rewritten program's control flow lets lanes reconverge in different
    /// iterations of it.
    diverges: TiVec<LoopId, bool>,
    /// Whether there are atomics, fences or calls: values that lanes load one by one behind such an
    /// event may differ.
    unordered: bool,
    relations: FxHashMap<i32, Relations>,
    moved: FxHashMap<(i32, Option<LoopId>, bool), Moved>,
}

impl<'r, 's> Lanes<'r, 's> {
    pub(crate) fn new(
        program: &'r Program<'r, 's>,
        execution: &'r Execution,
        diverges: TiVec<LoopId, bool>,
    ) -> Self {
        let (relations, moved) = (FxHashMap::default(), FxHashMap::default());
        // An event that all threads of the block execute together is not one of them.
        let unordered = execution.events.iter().any(|event| {
            let ast = program.flow.insts[event.inst].ast;
            let of_block = matches!(ast.form.opcode, Opcode::Bar | Opcode::Barrier)
                && !ast.form.has(Qualifier::Warp)
                && !ast.form.has(Qualifier::Red);
            match event.role {
                Role::Effect => true,
                Role::Barrier => !of_block,
                _ => false,
            }
        });
        Lanes { program, execution, diverges, unordered, relations, moved }
    }

    /// The shape of a block, if it is known.
    pub(crate) fn required_shape(&self) -> Option<[u64; 3]> {
        self.program.block
    }

    /// Whether all lanes of a warp that are consecutive in `tid.x` are in the same iteration of a loop and of those
    /// around it whenever one of them is: they enter each and leave each together.
    pub(crate) fn go_together(&mut self, terms: &mut Terms, place: Option<LoopId>) -> bool {
        let loops = &self.program.flow.loops;
        let around: Vec<LoopId> = loops.around(place).collect();
        for id in around {
            let Some(record) = &self.execution.loops[id] else { return false };
            let (entry, parent) = (record.entry, loops.get(id).parent);
            // A relation between any two neighbours extends to all lanes.
            for n in [1, -1] {
                if self.shift(terms, entry, n, parent) != entry {
                    return false;
                }
                let found = self.relations.get(&n);
                let together =
                    found.is_some_and(|relations| relations.together[id] && relations.in_step[id]);
                if !together {
                    return false;
                }
            }
        }
        true
    }

    /// `term` as lane `L + n` has it, where both lanes have reconverged in a block of the loop `place`.
    pub(crate) fn shift(
        &mut self,
        terms: &mut Terms,
        term: TermId,
        n: i32,
        place: Option<LoopId>,
    ) -> TermId {
        self.shifted(terms, term, (n, place), false)
    }

    /// `term` as lane `L + n` has it, for a term whose loads all read the memory at the lanes' reconvergence: the value
    /// that lane `L + n` has read is the value that lane `L` would read there. A thread that wrote between the two
    /// would be ordered with both reads, and could not be with the reconvergence; so it does not matter by which paths
    /// the two lanes came, and past which synchronisation.
    pub(crate) fn shift_current(
        &mut self,
        terms: &mut Terms,
        term: TermId,
        n: i32,
        place: Option<LoopId>,
    ) -> TermId {
        self.shifted(terms, term, (n, place), true)
    }

    fn shifted(
        &mut self,
        terms: &mut Terms,
        term: TermId,
        (n, place): (i32, Option<LoopId>),
        current: bool,
    ) -> TermId {
        if n == 0 {
            return term;
        }
        if !self.relations.contains_key(&n) {
            let relations = Search::of(self, n).relations(terms);
            self.relations.insert(n, relations);
        }
        let by = Shift { program: self.program, stores: &self.execution.stores, n, place, current };
        let moved = self.moved.entry((n, place, current)).or_default();
        apply(terms, by, &self.relations[&n], moved, term)
    }
}

/// The search for the relations of one distance.
struct Search<'w, 's> {
    program: &'w Program<'w, 's>,
    execution: &'w Execution,
    n: i32,
    /// Whether the loop-carried values, and the branches taken, must be related whenever they
    /// were loaded.
    unordered: bool,
    relations: Relations,
    /// The terms moved by the relations of this attempt.
    moved: FxHashMap<Option<LoopId>, Moved>,
    /// Symbols that are not related.
    failed: FxHashSet<SymbolId>,
    /// Whether this attempt has shown another one to be needed.
    changed: bool,
}

impl<'w, 's> Search<'w, 's> {
    fn of(lanes: &Lanes<'w, 's>, n: i32) -> Self {
        let relations = Relations {
            ahead: FxHashMap::default(),
            together: ti_vec![true; lanes.program.flow.loops.loops.len()],
            in_step: lanes.diverges.iter().map(|diverges| !diverges).collect(),
            lasting: false,
        };
        Search {
            program: lanes.program,
            execution: lanes.execution,
            n,
            unordered: lanes.unordered,
            relations,
            moved: FxHashMap::default(),
            failed: FxHashSet::default(),
            changed: false,
        }
    }

    fn relations(mut self, terms: &mut Terms) -> Relations {
        loop {
            self.relations.ahead.clear();
            self.relations.lasting = self.unordered;
            self.moved.clear();
            self.changed = false;
            self.enter(terms);
            self.check_latches(terms);
            self.check_branches(terms);
            if !self.changed {
                self.relations.lasting = false;
                return self.relations;
            }
        }
    }

    fn by(&self, place: Option<LoopId>) -> Shift<'w, 's> {
        let (program, stores) = (self.program, &self.execution.stores);
        Shift { program, stores, n: self.n, place, current: false }
    }

    fn shift(&mut self, terms: &mut Terms, term: TermId, place: Option<LoopId>) -> TermId {
        let by = self.by(place);
        apply(terms, by, &self.relations, self.moved.entry(place).or_default(), term)
    }

    /// By how much the value that enters a loop, or that of its back edge, is larger in the other lane.
    fn ahead(
        &mut self,
        terms: &mut Terms,
        loop_value: &LoopValue,
        term: TermId,
        place: Option<LoopId>,
    ) -> TermId {
        if loop_value.register.is_some() {
            let there = self.shift(terms, term, place);
            return terms.arena.sub(there, term);
        }
        // Versions are compared leaving the lanes' own stores aside, see `apply`.
        self.relations.lasting = false;
        let version = before_stores(terms, &self.execution.stores, term);
        let by = self.by(place);
        let there = apply(terms, by, &self.relations, &mut Moved::default(), version);
        self.relations.lasting = self.unordered;
        terms.arena.sub(there, version)
    }

    /// Assumes of each symbol of a header the relation of the values with which its loop is entered.
    fn enter(&mut self, terms: &mut Terms) {
        // A loop comes behind the loops around and before it, so the symbols in initial values are
        // related already.
        for (id, record) in self.execution.loops.iter_enumerated() {
            let Some(record) = record else { continue };
            let parent = self.program.flow.loops.get(id).parent;
            for loop_value in &record.values {
                let Some(symbol) = terms.as_symbol(loop_value.symbol) else { continue };
                if self.failed.contains(&symbol) {
                    continue;
                }
                let ahead = self.ahead(terms, loop_value, loop_value.initial, parent);
                // A version of memory is the same one or another one.
                if loop_value.register.is_none() && terms.arena.constant_value(ahead) != Some(0) {
                    self.failed.insert(symbol);
                    self.changed = true;
                    continue;
                }
                self.relations.ahead.insert(symbol, ahead);
            }
        }
    }

    /// Checks that the assumed relations are found again at the latches, and that both lanes go on
    /// alike.
    fn check_latches(&mut self, terms: &mut Terms) {
        for (id, record) in self.execution.loops.iter_enumerated() {
            let place = Some(id);
            let Some(record) = record else {
                self.changed |= std::mem::replace(&mut self.relations.together[id], false);
                continue;
            };
            for loop_value in &record.values {
                let Some(symbol) = terms.as_symbol(loop_value.symbol) else { continue };
                let Some(&ahead) = self.relations.ahead.get(&symbol) else { continue };
                if self.ahead(terms, loop_value, loop_value.latch, place) != ahead {
                    self.failed.insert(symbol);
                    self.changed = true;
                }
            }
            if self.relations.together[id] && self.shift(terms, record.again, place) != record.again
            {
                self.relations.together[id] = false;
                self.changed = true;
            }
        }
    }

    /// Checks that both lanes take the same edge at branches that might take them into different
    /// iterations.
    fn check_branches(&mut self, terms: &mut Terms) {
        for apart in &self.program.flow.temporal_divergence {
            if !self.relations.in_step[apart.of] {
                continue;
            }
            let uniform = apart.branch.is_some_and(|branch| {
                let place = self.program.loop_of(branch);
                self.execution.branches[branch].is_some_and(|c| self.shift(terms, c, place) == c)
            });
            if !uniform {
                self.relations.in_step[apart.of] = false;
                self.changed = true;
            }
        }
    }
}
