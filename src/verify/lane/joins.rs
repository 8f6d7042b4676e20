//! Joins: the conditions of edges, the states that they bring, and the loop-carried values.
//!
//! Conditions are relative to the header of the innermost loop around them: "given that this
//! iteration is executed".

use smallvec::SmallVec;

use super::state::{Evaluation, Exit};
use crate::cfg::{Arg, BlockId, Edge, EdgeCondition, LoopId, RegisterId};
use crate::expr::TermId;
use crate::program::Slot;
use crate::record::{Assumed, HeaderRegister, LoopRecord, LoopValue};
use crate::terms::{BranchTarget, Function, Kind, Origin, conditions};

impl<'s> Evaluation<'_, 's> {
    /// The condition under which an edge is taken, relative to the loop `place` around its target.
    pub(crate) fn taken(&mut self, edge: &Edge, place: Option<LoopId>) -> TermId {
        let loops = &self.program.flow.loops;
        let mut condition =
            self.out.path[edge.from].unwrap_or_else(|| self.terms.arena.boolean(false));
        let local = match edge.condition {
            EdgeCondition::Always => None,
            EdgeCondition::Predicate(_, when) => {
                let branch = self.out.branches[edge.from];
                branch.map(|c| if when { c } else { self.terms.arena.not(c) })
            }
            EdgeCondition::Index => Some(self.index_condition(edge)),
        };
        if let Some(local) = local {
            condition = self.terms.arena.and(condition, local);
        }
        let mut around = loops.innermost(edge.from).filter(|_| !self.program.irreducible);
        while let Some(id) = around.filter(|&id| Some(id) != place) {
            if let Some(entry) = self.entry_of(id) {
                condition = self.terms.arena.and(entry, condition);
            }
            around = loops.get(id).parent;
        }
        condition
    }

    /// The condition under which a loop is entered, relative to the loop around it.
    pub(crate) fn entry_of(&self, id: LoopId) -> Option<TermId> {
        match self.entered.get(&id) {
            Some((entry, _)) => Some(*entry),
            None => self.out.loops[id].as_ref().map(|record| record.entry),
        }
    }

    /// The condition of an edge of an indexed branch: some function of the index, the same in both
    /// programs.
    fn index_condition(&mut self, edge: &Edge) -> TermId {
        let block = self.program.flow.block(edge.from);
        let last = &self.program.flow.insts[block.end.before()];
        let mut operands: SmallVec<[TermId; 8]> = SmallVec::new();
        // The index is read at the end of the block, where the state is that of the exit.
        let read = |register: RegisterId| match self.program.slots[register] {
            Slot::LoopCarried(index) => {
                self.exits[edge.from].as_ref().map(|exit| exit.state[index as usize])
            }
            Slot::Single => self.single[register],
        };
        match last.args.first() {
            Some(Arg::Register(register)) => operands.extend(read(*register)),
            Some(other) => {
                let (at, from) = (block.end.before(), edge.from);
                let here = (std::mem::replace(&mut self.at, at), self.block);
                self.block = from;
                operands.extend(self.operand(other, 64));
                (self.at, self.block) = here;
            }
            None => {}
        }
        // The edge is described by the indices that lead to its target, and by whether the edge past
        // the branch does.
        let first = self.program.flow.block(edge.to).first;
        let past = last.guard.is_some() && first == block.end;
        if let Some((register, negated)) = last.guard {
            // Read as the index is.
            let guard = match self.program.slots[register] {
                Slot::LoopCarried(index) => {
                    self.exits[edge.from].as_ref().map(|exit| exit.state[index as usize])
                }
                Slot::Single => self.single[register],
            };
            operands.extend(guard);
            operands.push(self.terms.arena.boolean(negated));
        }
        self.terms.arena.charge(1 + last.targets.len() as u64 / 8);
        let indices: Vec<usize> = last
            .targets
            .iter()
            .enumerate()
            .filter(|&(_, &target)| target == first)
            .map(|(index, _)| index)
            .collect();
        let target = BranchTarget { targets: last.targets.len(), indices, past };
        let operands = operands.to_vec();
        self.terms.apply(Function::Branch(target), &operands, 1)
    }

    /// Joins the states of all edges into a block.
    pub(crate) fn join(&mut self, block: BlockId, forward: &[Edge]) {
        self.out.root[block] = self.out.root[forward[0].from];
        let place = match self.program.flow.loops.headed_by(block) {
            Some(id) => self.program.flow.loops.get(id).parent,
            None => self.program.loop_of(block),
        };
        let paths: Vec<TermId> = forward.iter().map(|edge| self.taken(edge, place)).collect();
        let (path, local) = conditions::join(&mut self.terms.arena, &paths);
        self.out.path[block] = Some(path);
        let exits: Vec<Exit> =
            forward.iter().filter_map(|edge| self.exits[edge.from].clone()).collect();
        let (first, rest) = (&exits[0], &exits[1..]);
        self.state = first.state.to_vec();
        self.memory = first.memory;
        for (exit, &condition) in rest.iter().zip(&local[1..]) {
            for index in 0..self.state.len() {
                if self.state[index] != exit.state[index] {
                    self.state[index] =
                        self.select(condition, exit.state[index], self.state[index]);
                }
            }
            for index in 0..self.memory.len() {
                self.memory[index] = self.select(condition, exit.memory[index], self.memory[index]);
            }
        }
        for index in 0..self.state.len() {
            // A value that all edges bring was unified where it was made.
            let term = self.state[index];
            if exits.iter().any(|exit| exit.state[index] != term) {
                let unified = self.ask_oracle(|oracle, here| oracle.unify_joined(here, term));
                self.state[index] = unified.unwrap_or(term);
            }
        }
    }

    /// Gives symbols to the registers and windows that a loop changes.
    pub(crate) fn enter(&mut self, id: LoopId) {
        let entry = self.out.path[self.block];
        let entry = entry.unwrap_or_else(|| self.terms.arena.boolean(true));
        let mut values = Vec::new();
        for &register in &self.program.loops[id].registers {
            let Slot::LoopCarried(index) = self.program.slots[register] else { continue };
            let carried =
                self.reference.and_then(|r| r.carried.get(&HeaderRegister { id, register }));
            let symbol = match carried {
                Some(Assumed { value, when }) if when.is_empty() => *value,
                Some(Assumed { value, when }) => {
                    let own = self.header(id, register);
                    let mut known = self.terms.arena.boolean(false);
                    for &flag in when {
                        let flag = self.header(id, flag);
                        known = self.terms.arena.or(known, flag);
                    }
                    self.select(known, *value, own)
                }
                None => self.header(id, register),
            };
            let initial = std::mem::replace(&mut self.state[index as usize], symbol);
            values.push(LoopValue { register: Some(register), symbol, initial, latch: symbol });
        }
        for &window in &self.program.loops[id].windows {
            let kind = Kind::Memory(window, Origin::Header(id));
            let symbol = self.terms.symbol(kind, 32, Some(id));
            let initial = std::mem::replace(&mut self.memory[window as usize], symbol);
            values.push(LoopValue { register: None, symbol, initial, latch: symbol });
        }
        self.entered.insert(id, (entry, values));
        self.out.path[self.block] = Some(self.terms.arena.boolean(true));
    }

    /// A register's symbol at a loop's header.
    fn header(&mut self, id: LoopId, register: RegisterId) -> TermId {
        let (kind, width) = (self.phi(id, register), self.width(register));
        self.terms.symbol(kind, width, Some(id))
    }

    /// Completes the loops whose last latch the block is.
    pub(crate) fn close_loops(&mut self, block: BlockId) {
        let flow = &self.program.flow;
        for &id in self.program.closed.get(&block).map_or(&[][..], Vec::as_slice) {
            let latches = &flow.loops.get(id).latches;
            let Some((entry, mut values)) = self.entered.remove(&id) else { continue };
            // `taken` takes conditions relative to the loop itself.
            let latches: Vec<Edge> =
                latches.iter().copied().filter(|edge| self.exits[edge.from].is_some()).collect();
            let paths: Vec<TermId> =
                latches.iter().map(|edge| self.taken(edge, Some(id))).collect();
            let (again, local) = conditions::join(&mut self.terms.arena, &paths);
            let exits: Vec<Exit> =
                latches.iter().filter_map(|edge| self.exits[edge.from].clone()).collect();
            let mut windows = self.program.loops[id].windows.iter();
            for loop_value in &mut values {
                let window = match loop_value.register {
                    Some(_) => None,
                    None => windows.next().copied(),
                };
                let value = |exit: &Exit| match (loop_value.register, window) {
                    (Some(register), _) => match self.program.slots[register] {
                        Slot::LoopCarried(index) => exit.state[index as usize],
                        Slot::Single => loop_value.symbol,
                    },
                    (None, Some(window)) => exit.memory[window as usize],
                    (None, None) => loop_value.symbol,
                };
                let values: Vec<TermId> = exits.iter().map(value).collect();
                let mut latch = values[0];
                for (&value, &condition) in values[1..].iter().zip(&local[1..]) {
                    latch = self.select(condition, value, latch);
                }
                loop_value.latch = latch;
            }
            self.out.loops[id] = Some(LoopRecord { entry, again, values });
        }
    }
}
