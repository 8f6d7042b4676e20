//! Symbolic evaluation of one program: each block once, in reverse postorder. Values that meet are
//! joined by `if then else` over the conditions of the ways; only loop headers get symbols.
//!
//! In: a [`Program`] and, for the rewritten one, the original's outcome and how instructions are matched.
//! Out: an [`Execution`]: every event with the condition under which it happens and its operands,
//! every load, and for each loop what goes in and what comes round.
//!
//! Conditions are relative to the header of the innermost loop around them: "given that this
//! iteration is executed".

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::conditions;
use super::cuts::Cut;
use super::instructions::{Role, changed, may_wait, placed_results, role};
use super::program::{Program, Slot};
use super::semantics::Carry;
use super::symbols::{Kind, Origin, Side, Terms};
use super::warp::{GlobalFact, Warp};
use super::window::Window;
use crate::cfg::{Arg, BlockId, Edge, EdgeCondition, Inst, LoopId, RegisterId};
use crate::expr::TermId;
use crate::isa::Opcode;
use crate::ptx::StateSpace;

/// A version of each window.
pub(super) type Memory = [TermId; Window::ALL.len()];

/// An event: an action of a lane that others can notice, so that both programs must have it alike.
#[derive(Clone, Debug)]
pub(super) struct Event {
    pub inst: u32,
    pub block: BlockId,
    pub role: Role,
    /// When it happens, relative to the iteration.
    pub condition: TermId,
    /// Address, values, further operands.
    pub operands: Vec<TermId>,
}

/// A weak load: no event, but the rewritten program must load nothing that the original does not.
#[derive(Clone, Debug)]
pub(super) struct Load {
    pub inst: u32,
    pub block: BlockId,
    pub condition: TermId,
    pub space: StateSpace,
    pub address: TermId,
    /// Bytes read.
    pub bytes: u32,
}

/// A register or window that a loop changes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Round {
    /// The register; `None` for a window of memory.
    pub register: Option<RegisterId>,
    /// Its value at the header: a symbol.
    pub symbol: TermId,
    /// Its value when the loop is entered.
    pub initial: TermId,
    /// Its value when a back edge is taken.
    pub latch: TermId,
}

/// The outcome of evaluating a loop.
#[derive(Clone, Debug)]
pub(super) struct LoopRecord {
    /// When it is entered, relative to the loop around it.
    pub entry: TermId,
    /// When a back edge is taken, relative to the iteration.
    pub again: TermId,
    pub rounds: Vec<Round>,
}

/// The outcome of an evaluation.
#[derive(Debug, Default)]
pub(super) struct Execution {
    pub events: Vec<Event>,
    pub loads: Vec<Load>,
    pub loops: Vec<Option<LoopRecord>>,
    /// For each block, when it is reached.
    pub path: Vec<Option<TermId>>,
    /// In functions with cycles of several entries, all blocks at which edges meet (see `cuts`).
    pub cuts: Vec<Cut>,
    /// For each block the last cut on the way to it; in functions without cuts the entry.
    pub root: Vec<BlockId>,
    /// The condition by which a block branches.
    pub branches: Vec<Option<TermId>>,
    /// Each definition of a register: instruction, register, value behind it.
    pub definitions: FxHashMap<(u32, RegisterId), TermId>,
    /// For each version of memory that a store made, that store.
    pub stores: FxHashMap<TermId, StoreRecord>,
    /// The values of read-only loads, each with when such a load is executed and the loop around it.
    pub read_only: FxHashMap<TermId, Vec<(TermId, Option<LoopId>)>>,
    /// Addresses of accesses that name the global space: when, in which loop, that it is global.
    pub global: Vec<GlobalFact>,
    /// Whether there is a generic load; only for these it matters which addresses are global.
    pub generic: bool,
}

/// A store as seen from the version of memory that it made.
#[derive(Clone, Copy, Debug)]
pub(super) struct StoreRecord {
    pub before: TermId,
    pub address: TermId,
    pub bytes: u32,
}

/// The values of the carried registers and the versions of memory at the end of a block.
#[derive(Clone)]
pub(super) struct Exit {
    pub state: Box<[TermId]>,
    pub memory: Memory,
}

/// The original, against which the rewritten program is evaluated.
pub(super) struct Reference<'r, 's> {
    /// The original's outcome.
    pub execution: &'r Execution,
    /// The original, prepared.
    pub program: &'r Program<'r, 's>,
    /// For each instruction of the rewritten program the original's that it is matched with.
    pub matched: &'r [Option<u32>],
    /// For each unmatched instruction of the rewritten program the unmatched instructions of the
    /// original between the same neighbours, in whose place it stands.
    pub gaps: &'r [std::ops::Range<u32>],
    /// Registers that do not hold, at a loop's header, what the original's register of that name holds.
    pub split: &'r [(LoopId, RegisterId)],
}

/// The state of an evaluation, at some instruction of some block.
pub(super) struct Evaluation<'a, 'r, 'm, 's> {
    pub program: &'a Program<'m, 's>,
    pub terms: &'a mut Terms,
    pub reference: Option<&'a Reference<'r, 's>>,
    /// Shuffles and votes that only the rewritten program has.
    pub warp: Option<&'a mut Warp<'r, 's>>,
    pub carry: Carry,
    pub memory: Memory,
    pub block: BlockId,
    /// Index of the current instruction.
    pub at: u32,
    pub out: Execution,
    /// The values of the carried registers at the current instruction.
    pub state: Vec<TermId>,
    /// The values of the registers that are written once, by register.
    single: Vec<Option<TermId>>,
    /// The states at the ends of the blocks that have been visited.
    pub exits: Vec<Option<Exit>>,
    /// The values of the header's symbols before the loop, until the latches are known.
    pub entered: FxHashMap<LoopId, (TermId, Vec<Round>)>,
}

/// Evaluates a program. `reference` is `None` for the original.
pub(super) fn evaluate<'r, 's>(
    program: &Program<'_, 's>,
    terms: &mut Terms,
    reference: Option<&Reference<'r, 's>>,
    warp: Option<&mut Warp<'r, 's>>,
) -> Execution {
    let blocks = program.flow.blocks.len();
    let memory = Window::ALL.map(|w| terms.symbol(Kind::Memory(w, Origin::Entry), 32, None));
    let mut evaluation = Evaluation {
        program,
        terms,
        reference,
        warp,
        carry: None,
        memory,
        block: BlockId(0),
        at: 0,
        out: Execution {
            path: vec![None; blocks],
            branches: vec![None; blocks],
            loops: vec![None; program.flow.loops.loops.len()],
            root: vec![BlockId(0); blocks],
            ..Execution::default()
        },
        state: Vec::new(),
        single: vec![None; program.slots.len()],
        exits: vec![None; blocks],
        entered: FxHashMap::default(),
    };
    for block in program.flow.block_ids() {
        evaluation.visit(block);
    }
    evaluation.close_cuts();
    evaluation.out
}

impl<'s> Evaluation<'_, '_, '_, 's> {
    /// The innermost loop around the block that is being visited.
    pub fn here(&self) -> Option<LoopId> {
        self.program.loop_of(self.block).filter(|_| !self.program.irreducible)
    }

    pub fn width(&self, register: RegisterId) -> u8 {
        self.program.flow.registers[register.0 as usize].ty.bits().min(64) as u8
    }

    /// When the block that is being visited is reached.
    pub fn path(&self) -> Option<TermId> {
        self.out.path[self.block.index()]
    }

    /// A register's value here.
    pub fn read(&mut self, register: RegisterId) -> TermId {
        match self.program.slots[register.0 as usize] {
            Slot::Carried(index) => self.state[index as usize],
            Slot::Single => match self.single[register.0 as usize] {
                Some(term) => term,
                None => self.unwritten(register),
            },
        }
    }

    pub fn unwritten(&mut self, register: RegisterId) -> TermId {
        let key = self.program.keys[register.0 as usize].clone();
        let known = self.reference.is_none_or(|r| r.program.by_key.contains_key(&key));
        let side = if known { Side::Original } else { Side::Rewritten };
        let width = self.width(register);
        self.terms.symbol(Kind::Unwritten(side, key.0, key.1), width, None)
    }

    /// `if condition then a else b`, knowing that the condition holds in `a` and not in `b`.
    pub fn select(&mut self, condition: TermId, a: TermId, b: TermId) -> TermId {
        let arena = &mut self.terms.arena;
        let a = conditions::under(arena, a, condition, true);
        let b = conditions::under(arena, b, condition, false);
        arena.if_then_else(condition, a, b)
    }

    /// Gives a register a value, under the instruction's guard predicate.
    pub fn write(&mut self, register: RegisterId, term: TermId, guard: Option<TermId>) {
        let term = match guard {
            None => term,
            Some(guard) => {
                let old = self.read(register);
                self.select(guard, term, old)
            }
        };
        let term = self.settle(register, term);
        match self.program.slots[register.0 as usize] {
            Slot::Single => self.single[register.0 as usize] = Some(term),
            Slot::Carried(index) => self.state[index as usize] = term,
        }
        self.out.definitions.insert((self.at, register), term);
    }

    fn visit(&mut self, block: BlockId) {
        self.block = block;
        self.carry = None;
        let flow = &self.program.flow;
        let forward: SmallVec<[Edge; 4]> = flow
            .block(block)
            .predecessors
            .iter()
            .copied()
            .filter(|edge| edge.from < block && self.exits[edge.from.index()].is_some())
            .collect();
        let meets = self.program.irreducible
            && flow.block(block).predecessors.len() + usize::from(block.0 == 0) > 1;
        if meets {
            self.cut(block);
        } else if block.0 == 0 {
            let registers = self.program.carried.clone();
            self.state = registers.into_iter().map(|r| self.unwritten(r)).collect();
            self.out.path[0] = Some(self.terms.arena.boolean(true));
        } else if forward.is_empty() {
            return;
        } else {
            self.join(block, &forward);
        }
        if let (Some(id), false) =
            (self.program.flow.loops.headed_by(block), self.program.irreducible)
        {
            self.enter(id);
        }
        for index in self.program.flow.block(block).instructions() {
            self.terms.arena.charge(1);
            self.at = index as u32;
            let inst = &self.program.flow.insts[index];
            self.execute(inst);
        }
        let register = self.program.flow.block(block).successors.iter().find_map(|edge| match edge
            .condition
        {
            EdgeCondition::Predicate(register, _) => Some(register),
            _ => None,
        });
        self.out.branches[block.index()] = register.map(|register| self.read(register));
        self.exits[block.index()] =
            Some(Exit { state: self.state.clone().into(), memory: self.memory });
        if !self.program.irreducible {
            self.close_loops(block);
        }
    }

    /// When an edge is taken, relative to the loop `place` around its target.
    pub fn taken(&mut self, edge: &Edge, place: Option<LoopId>) -> TermId {
        let loops = &self.program.flow.loops;
        let mut condition =
            self.out.path[edge.from.index()].unwrap_or_else(|| self.terms.arena.boolean(false));
        let local = match edge.condition {
            EdgeCondition::Always => None,
            EdgeCondition::Predicate(_, when) => {
                let branch = self.out.branches[edge.from.index()];
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

    /// When a loop is entered, relative to the loop around it.
    pub fn entry_of(&self, id: LoopId) -> Option<TermId> {
        match self.entered.get(&id) {
            Some((entry, _)) => Some(*entry),
            None => self.out.loops[id.0 as usize].as_ref().map(|record| record.entry),
        }
    }

    /// A way of an indexed branch: some function of the index, the same in both programs.
    fn index_condition(&mut self, edge: &Edge) -> TermId {
        let block = self.program.flow.block(edge.from);
        let last = &self.program.flow.insts[block.end as usize - 1];
        let mut operands: SmallVec<[TermId; 8]> = SmallVec::new();
        // Read at the end of the block: the state of the exit is the state there.
        let read = |register: RegisterId| match self.program.slots[register.0 as usize] {
            Slot::Carried(index) => {
                self.exits[edge.from.index()].as_ref().map(|exit| exit.state[index as usize])
            }
            Slot::Single => self.single[register.0 as usize],
        };
        match last.args.first() {
            Some(Arg::Register(register)) => operands.extend(read(*register)),
            Some(other) => {
                let (at, from) = (block.end - 1, edge.from);
                let here = (std::mem::replace(&mut self.at, at), self.block);
                self.block = from;
                operands.extend(self.operand(other, 64));
                (self.at, self.block) = here;
            }
            None => {}
        }
        // Which indices lead there, and whether the way past the branch does.
        let first = self.program.flow.block(edge.to).first;
        let past = last.guard.is_some() && first == block.end;
        if let Some((register, negated)) = last.guard {
            // As above.
            let guard = match self.program.slots[register.0 as usize] {
                Slot::Carried(index) => {
                    self.exits[edge.from.index()].as_ref().map(|exit| exit.state[index as usize])
                }
                Slot::Single => self.single[register.0 as usize],
            };
            operands.extend(guard);
            operands.push(self.terms.arena.boolean(negated));
        }
        self.terms.arena.charge(1 + last.targets.len() as u64 / 8);
        let indices: Vec<String> = last
            .targets
            .iter()
            .enumerate()
            .filter(|&(_, &target)| target == first)
            .map(|(index, _)| index.to_string())
            .collect();
        let past = if past { "+" } else { "" };
        let name = format!("brx.{}:{}{past}", last.targets.len(), indices.join(","));
        let operands = operands.to_vec();
        self.terms.function(&name, &operands, 1)
    }

    /// Joins the states of all ways into a block.
    fn join(&mut self, block: BlockId, forward: &[Edge]) {
        self.out.root[block.index()] = self.out.root[forward[0].from.index()];
        let place = match self.program.flow.loops.headed_by(block) {
            Some(id) => self.program.flow.loops.get(id).parent,
            None => self.program.loop_of(block),
        };
        let ways: Vec<TermId> = forward.iter().map(|edge| self.taken(edge, place)).collect();
        let (path, local) = conditions::join(&mut self.terms.arena, &ways);
        self.out.path[block.index()] = Some(path);
        let exits: Vec<Exit> =
            forward.iter().filter_map(|edge| self.exits[edge.from.index()].clone()).collect();
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
        if !rest.is_empty() {
            for index in 0..self.state.len() {
                self.state[index] = self.settle_joined(self.state[index]);
            }
        }
    }

    /// Puts symbols in place of what a loop changes.
    fn enter(&mut self, id: LoopId) {
        let entry = self.out.path[self.block.index()];
        let entry = entry.unwrap_or_else(|| self.terms.arena.boolean(true));
        let mut rounds = Vec::new();
        for &register in &self.program.loops[id.0 as usize].registers {
            let Slot::Carried(index) = self.program.slots[register.0 as usize] else { continue };
            let kind = self.phi(id, register);
            let width = self.width(register);
            let symbol = self.terms.symbol(kind, width, Some(id));
            let initial = std::mem::replace(&mut self.state[index as usize], symbol);
            rounds.push(Round { register: Some(register), symbol, initial, latch: symbol });
        }
        for &window in &self.program.loops[id.0 as usize].windows {
            let kind = Kind::Memory(window, Origin::Header(id));
            let symbol = self.terms.symbol(kind, 32, Some(id));
            let initial = std::mem::replace(&mut self.memory[window as usize], symbol);
            rounds.push(Round { register: None, symbol, initial, latch: symbol });
        }
        self.entered.insert(id, (entry, rounds));
        self.out.path[self.block.index()] = Some(self.terms.arena.boolean(true));
    }

    /// The symbol of a register at a loop's header: the original's of that name, unless the two
    /// are known to differ.
    pub fn phi(&self, id: LoopId, register: RegisterId) -> Kind {
        let Some(reference) = self.reference else {
            return Kind::Phi(Side::Original, id, register.0);
        };
        let key = &self.program.keys[register.0 as usize];
        let counterpart = reference.program.by_key.get(key).copied().filter(|other| {
            let changed = match reference.program.loops.get(id.0 as usize) {
                Some(changes) => changes.registers.binary_search(other).is_ok(),
                None => reference.program.carried.contains(other),
            };
            changed && !reference.split.contains(&(id, register))
        });
        match counterpart {
            Some(other) => Kind::Phi(Side::Original, id, other.0),
            None => Kind::Phi(Side::Rewritten, id, register.0),
        }
    }

    /// Completes the loops whose last latch the block is.
    fn close_loops(&mut self, block: BlockId) {
        let flow = &self.program.flow;
        for &id in self.program.closed.get(&block).map_or(&[][..], Vec::as_slice) {
            let (index, latches) = (id.0 as usize, &flow.loops.get(id).latches);
            let Some((entry, mut rounds)) = self.entered.remove(&id) else { continue };
            // `taken` looks conditions up relative to the loop itself.
            let latches: Vec<Edge> = latches
                .iter()
                .copied()
                .filter(|edge| self.exits[edge.from.index()].is_some())
                .collect();
            let ways: Vec<TermId> = latches.iter().map(|edge| self.taken(edge, Some(id))).collect();
            let (again, local) = conditions::join(&mut self.terms.arena, &ways);
            let exits: Vec<Exit> =
                latches.iter().filter_map(|edge| self.exits[edge.from.index()].clone()).collect();
            let mut windows = self.program.loops[index].windows.iter();
            for round in &mut rounds {
                let window = match round.register {
                    Some(_) => None,
                    None => windows.next().copied(),
                };
                let value = |exit: &Exit| match (round.register, window) {
                    (Some(register), _) => match self.program.slots[register.0 as usize] {
                        Slot::Carried(index) => exit.state[index as usize],
                        Slot::Single => round.symbol,
                    },
                    (None, Some(window)) => exit.memory[window as usize],
                    (None, None) => round.symbol,
                };
                let values: Vec<TermId> = exits.iter().map(value).collect();
                let mut latch = values[0];
                for (&value, &condition) in values[1..].iter().zip(&local[1..]) {
                    latch = self.select(condition, value, latch);
                }
                round.latch = latch;
            }
            self.out.loops[index] = Some(LoopRecord { entry, again, rounds });
        }
    }

    fn execute(&mut self, inst: &Inst<'_, 's>) {
        let guard = inst.guard.map(|(register, negated)| {
            let value = self.read(register);
            if negated { self.terms.arena.not(value) } else { value }
        });
        if guard.and_then(|guard| self.terms.arena.constant_value(guard)) == Some(0) {
            return;
        }
        let guard = guard.filter(|&guard| self.terms.arena.constant_value(guard).is_none());
        match role(inst) {
            Role::Branch => {}
            Role::Pure => self.compute(inst, guard),
            Role::Load => self.load(inst, guard),
            role => {
                if self.warp.is_some() && self.matched().is_none() && self.extra(inst, guard) {
                    return;
                }
                if let Some(warp) = self.warp.as_deref_mut()
                    && may_wait(inst)
                {
                    warp.masks.clear();
                }
                self.event(inst, role, guard);
            }
        }
    }

    /// The instruction of the original that the one being evaluated stands for; itself there.
    pub fn matched(&self) -> Option<u32> {
        match self.reference {
            None => Some(self.at),
            Some(reference) => reference.matched[self.at as usize],
        }
    }

    /// When the instruction being evaluated is executed.
    pub fn condition(&mut self, guard: Option<TermId>) -> TermId {
        let path = self.path().unwrap_or_else(|| self.terms.arena.boolean(true));
        match guard {
            None => path,
            Some(guard) => self.terms.arena.and(path, guard),
        }
    }

    /// An event: recorded with its operands; its results are symbols that the original and what is
    /// matched with it share.
    fn event(&mut self, inst: &Inst<'_, 's>, role: Role, guard: Option<TermId>) {
        let condition = self.condition(guard);
        let operands = self.event_operands(inst, role);
        if role == Role::Store {
            self.store(inst, guard);
        } else {
            for (register, places) in placed_results(inst) {
                let width = self.width(register);
                let own = Kind::Extra(self.at, places.clone());
                let kind = match self.matched() {
                    Some(original) => Kind::Event(original, places),
                    None => own.clone(),
                };
                let mut value = self.terms.symbol(kind, width, self.here());
                if self.terms.arena.width(value) != width {
                    // The original's register has another width.
                    value = self.terms.symbol(own, width, self.here());
                }
                self.write(register, value, guard);
            }
            for &window in changed(inst) {
                self.change(window, guard);
            }
            // Only what is not known may write the condition code.
            if role == Role::Effect
                && !matches!(
                    inst.ast.form.opcode,
                    Opcode::Ld | Opcode::St | Opcode::Atom | Opcode::Red
                )
            {
                self.carry = None;
            }
        }
        let (at, block) = (self.at, self.block);
        self.out.events.push(Event { inst: at, block, role, condition, operands });
    }

    /// A new version of a window, under a guard predicate; gives the version before.
    pub fn change(&mut self, window: Window, guard: Option<TermId>) -> (TermId, TermId) {
        let origin = match self.matched() {
            Some(original) => Origin::Event(original),
            None => Origin::Extra(self.at),
        };
        let version = self.terms.symbol(Kind::Memory(window, origin), 32, self.here());
        let before = self.memory[window as usize];
        self.memory[window as usize] = match guard {
            None => version,
            Some(guard) => self.select(guard, version, before),
        };
        (before, version)
    }
}
