//! Evaluates all threads of a block from one place to another: each thread by itself up to where it waits, then
//! all that wait for each other together.
//!
//! Where the place is such that only lanes of the first warp write shared memory, few threads stand for all others: their
//! numbers are symbols of at least 32. Their results hold for each of these.
//!
//! The evaluation gives up at: a branch on an unknown value, an access through a generic address, a
//! strong access outside of shared memory, a race, a shuffle that some lane of the warp does not come to, a barrier that
//! some thread does not come to. A shuffle exchanges values in a warp whose 32 lanes have all taken the same path.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap, FxHashSet};
use typed_index_collections::TiVec;

use super::known::{Definitions, Known};
use super::memory::Memory;
use super::operation::{Thread, compute};
use super::uniform::{Uniform, reads};
use super::values::{Action, TID, Unknown, Values};
use crate::cfg::{
    Arg, Base, BlockId, EdgeCondition, Flow, Inst, InstId, PostDominators, RegisterId,
};
use crate::expr::{Substitution, TermId};
use crate::isa::limits::WARP_SIZE;
use crate::isa::{Axis, Modifier, Opcode, Qualifier, Special};
use crate::program::{Belief, Role, belief, results, role};
use crate::ptx::StateSpace;

/// The most instructions of all threads.
const MAX_STEPS: u64 = 4_000_000;

/// How many conditions may be nested.
pub(super) const MAX_DEPTH: usize = 8;

/// The work of one instruction, in the steps of an arena.
const STEP: u64 = 20;

/// Where an evaluation ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum End {
    /// In front of a block.
    Block(BlockId),
    /// In front of an instruction.
    Inst(InstId),
    /// Behind the kernel.
    Exit,
}

/// The places between which threads are evaluated, and the facts there.
pub(super) struct Place<'p, 'm, 's> {
    pub flow: &'p Flow<'m, 's>,
    pub definitions: &'p Definitions<'p, 'm, 's>,
    pub uniform: &'p Uniform,
    pub behind: &'p PostDominators,
    pub live: &'p TiVec<BlockId, FxHashSet<RegisterId>>,
    pub known: &'p Known,
    /// The first instruction, with its block: nobody notices what threads do between there and the branch.
    pub start: (BlockId, InstId),
    /// The instruction that reads the registers' first values.
    pub reader: InstId,
    pub end: End,
    /// A branch that takes a side of its own the first time: the block that it ends, and its successor from then on.
    pub branch: Option<(BlockId, BlockId)>,
    /// The registers of another program with the same values at the start, and whether these differ between threads.
    pub partners: Option<&'p Partners>,
    /// The known registers at the start, in terms of a thread that stands for all.
    pub state: Option<&'p FxHashMap<RegisterId, TermId>>,
}

/// By register, that of the original with the same value, and whether it differs between threads.
pub(super) type Partners = FxHashMap<RegisterId, (RegisterId, bool)>;

/// Which threads of a block are evaluated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Crew {
    /// Each of them.
    All,
    /// Those of the first warp, and for all others of the row some with unknown numbers.
    FirstWarp,
    /// One with an unknown number for all. Its accesses to shared memory are actions.
    Any {
        /// Whether blocks are taken to have one row. Otherwise nothing may depend on the rows.
        one_row: bool,
    },
    /// The first one of any row, on which nothing may depend. Its accesses are actions.
    FirstOfRow,
}

/// Where a thread is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum At {
    /// In front of an instruction of a block.
    Running(BlockId, InstId),
    /// At a barrier or shuffle.
    Waiting(BlockId, InstId),
    /// Where both sides have met.
    Done,
}

/// All threads of a block, from an instruction in front of a branch on.
pub(super) struct Block<'b, 'p, 'm, 's> {
    pub place: &'b Place<'p, 'm, 's>,
    pub values: &'b mut Values,
    /// The side that threads take when they come to the branch for the first time.
    side: BlockId,
    /// Whether each thread has taken that side.
    taken: Vec<bool>,
    pub at: Vec<At>,
    pub registers: Vec<FxHashMap<RegisterId, TermId>>,
    /// The blocks that each thread has passed since the last barrier.
    pub passed: Vec<Vec<BlockId>>,
    pub memory: Memory,
    /// What each thread does outside of shared memory.
    pub actions: Vec<Vec<Action>>,
    /// The loads of a thread that stands for all.
    pub loads: Vec<(String, Vec<TermId>)>,
    /// Whether something depends on the rows which are unknown.
    pub asks_for_rows: bool,
    /// The addresses that the first thread of each row is sure to load from, each with the number of barriers before.
    pub sure_loads: Vec<(StateSpace, u32, TermId)>,
    /// Whether the first threads of two rows are sure to load from an address and to store there, without a barrier between.
    pub rows_race: bool,
    /// The registers whose unknown values at the start were asked for.
    pub inherited: BTreeSet<RegisterId>,
    pub crew: Crew,
    /// The numbers for which threads behind the first warp stand, from and to.
    others: Vec<(u32, u32)>,
    /// By thread, the terms of the thread that stands for all as it has them.
    own: Vec<Substitution>,
    /// Where the thread that is evaluated is on both sides of branches: the conditions of this side.
    pub conditions: Vec<TermId>,
    /// How often all threads have waited at a barrier.
    pub barriers: u32,
    /// The largest number of a thread that has executed a shuffle.
    pub last_shuffling: Option<u32>,
    /// By register, the instruction that computes it if its value never changes.
    origins: FxHashMap<RegisterId, Option<InstId>>,
    steps: u64,
}

impl<'b, 'p, 'm, 's> Block<'b, 'p, 'm, 's> {
    /// All threads at the start; at the branch they take one side.
    pub(super) fn new(
        place: &'b Place<'p, 'm, 's>,
        values: &'b mut Values,
        (side, crew): (BlockId, Crew),
    ) -> Self {
        let others = others(place.known);
        let threads = match crew {
            Crew::All => place.known.most as usize,
            Crew::FirstWarp => WARP_SIZE as usize + others.len(),
            Crew::Any { .. } | Crew::FirstOfRow => 1,
        };
        let start = At::Running(place.start.0, place.start.1);
        Block {
            place,
            values,
            side,
            taken: vec![false; threads],
            at: vec![start; threads],
            registers: vec![FxHashMap::default(); threads],
            passed: vec![Vec::new(); threads],
            memory: Memory::default(),
            actions: vec![Vec::new(); threads],
            loads: Vec::new(),
            asks_for_rows: false,
            sure_loads: Vec::new(),
            rows_race: false,
            inherited: BTreeSet::new(),
            crew,
            others,
            own: std::iter::repeat_with(Substitution::new).take(threads).collect(),
            conditions: Vec::new(),
            barriers: 0,
            last_shuffling: None,
            origins: FxHashMap::default(),
            steps: 0,
        }
    }

    /// Runs all threads to the end; `None` where it gives up.
    pub(super) fn run(&mut self) -> Option<()> {
        loop {
            self.phase()?;
            if !self.barrier()? {
                return Some(());
            }
        }
    }

    /// Runs all threads to a barrier of the block or to the end.
    pub(super) fn phase(&mut self) -> Option<()> {
        loop {
            for thread in 0..self.at.len() as u32 {
                while let At::Running(block, inst) = self.at[thread as usize] {
                    self.step(thread, block, inst)?;
                }
            }
            if !self.meet_in_warps()? {
                return Some(());
            }
        }
    }

    /// Lets all threads store what the block in front of a barrier stores to shared memory behind the barrier before it;
    /// `None` where that is not known.
    pub(super) fn stores_before(&mut self, barrier: InstId) -> Option<()> {
        let flow = self.place.flow;
        let insts = flow.block(self.place.start.0).first.to(barrier);
        let waits = |at: &InstId| role(&flow.insts[*at]) == Role::Barrier;
        let first = insts.clone().rev().find(waits).map_or(insts.start, InstId::next);
        for at in first.to(barrier) {
            let inst = &flow.insts[at];
            match role(inst) {
                Role::Pure | Role::Load => continue,
                Role::Store if inst.ast.form.space() == StateSpace::Global => continue,
                Role::Store if is_shared(inst) && inst.guard.is_none() => {}
                _ => return None,
            }
            let read = reads(inst);
            let mut later = at.next().to(barrier).flat_map(|at| results(&flow.insts[at]));
            later.all(|register| !read.contains(&register)).then_some(())?;
            for thread in 0..self.at.len() as u32 {
                let mut lane = Lane { block: self, thread };
                if !lane.is_other() {
                    lane.store(inst)?;
                }
            }
        }
        Some(())
    }

    /// Whether one thread stands for all, those of the first warp included.
    pub(super) fn is_alone(&self) -> bool {
        matches!(self.crew, Crew::Any { .. } | Crew::FirstOfRow)
    }

    /// The value of a register in a thread.
    pub(super) fn value(&mut self, thread: u32, register: RegisterId) -> Option<TermId> {
        Lane { block: self, thread }.read(register)
    }

    /// The value of a register at the start.
    pub(super) fn first_value(&mut self, thread: u32, register: RegisterId) -> Option<TermId> {
        Lane { block: self, thread }.initial(register)
    }

    pub(super) fn step(&mut self, thread: u32, block: BlockId, at: InstId) -> Option<()> {
        self.steps += 1;
        self.values.arena.charge(STEP);
        if self.steps > MAX_STEPS {
            return None;
        }
        let flow = self.place.flow;
        if at == flow.block(block).end {
            return self.leave(thread, block);
        }
        if self.place.end == End::Inst(at) {
            self.at[thread as usize] = At::Done;
            return Some(());
        }
        let inst = &flow.insts[at];
        let next = At::Running(block, at.next());
        let (role, opcode) = (role(inst), inst.ast.form.opcode);
        if role == Role::Branch {
            self.at[thread as usize] = next;
            return (opcode == Opcode::Bra).then_some(());
        }
        if role == Role::Leave && self.place.end == End::Exit {
            self.at[thread as usize] = At::Done;
            return (opcode != Opcode::Trap && inst.guard.is_none()).then_some(());
        }
        if is_barrier(inst) || waits_for_warp(inst) {
            self.at[thread as usize] = At::Waiting(block, at);
            return Some(());
        }
        let Some((register, negated)) = inst.guard else {
            self.execute(thread, at)?;
            self.at[thread as usize] = next;
            return Some(());
        };
        let term = self.value(thread, register)?;
        let term = if negated { self.values.arena.not(term) } else { term };
        match self.values.constant(term) {
            Some(0) => {}
            Some(_) => self.execute(thread, at)?,
            None => self.execute_if(thread, at, term)?,
        }
        self.at[thread as usize] = next;
        Some(())
    }

    /// Executes an instruction, whatever its guard predicate is.
    pub(super) fn execute(&mut self, thread: u32, at: InstId) -> Option<()> {
        let inst = &self.place.flow.insts[at];
        let opcode = inst.ast.form.opcode;
        let alone = self.is_alone();
        let mut lane = Lane { block: self, thread };
        match role(inst) {
            Role::Pure => {
                let results = compute(&mut lane, inst)?;
                self.registers[thread as usize].extend(results);
            }
            Role::Load if lane.block.place.definitions.is_parameter(inst) => {
                // One value in the whole block.
                let Arg::Register(register) = inst.args.first()? else { return None };
                let found = lane.parameter(*register, at)?;
                self.registers[thread as usize].insert(*register, found);
            }
            Role::Load | Role::Store | Role::Effect if is_shared(inst) && !alone => match opcode {
                Opcode::Ld => lane.load(inst)?,
                Opcode::St => lane.store(inst)?,
                _ => return None,
            },
            _ => lane.act(inst)?,
        }
        Some(())
    }

    /// Goes from the end of a block to the next one.
    fn leave(&mut self, thread: u32, block: BlockId) -> Option<()> {
        let Place { flow, branch, .. } = *self.place;
        let of = flow.block(block);
        let own =
            branch.filter(|(own, _)| *own == block).map(|(_, kept)| {
                match std::mem::replace(&mut self.taken[thread as usize], true) {
                    true => kept,
                    false => self.side,
                }
            });
        let mut to = None;
        for edge in &of.successors {
            let taken = match edge.condition {
                _ if own.is_some() => own == Some(edge.to),
                EdgeCondition::Always => true,
                EdgeCondition::Predicate(register, wanted) => {
                    let term = self.value(thread, register)?;
                    let Some(holds) = self.values.constant(term) else {
                        return self.both_sides(thread, block, term);
                    };
                    (holds != 0) == wanted
                }
                EdgeCondition::Index => return None,
            };
            if taken {
                to = Some(edge.to);
            }
        }
        self.enter(thread, to?);
        Some(())
    }

    /// Goes to the start of a block.
    pub(super) fn enter(&mut self, thread: u32, to: BlockId) {
        self.passed[thread as usize].push(to);
        self.at[thread as usize] = match self.place.end == End::Block(to) {
            true => At::Done,
            false => At::Running(to, self.place.flow.block(to).first),
        };
    }

    /// Lets all threads pass a barrier at which all wait; false if all are done.
    pub(super) fn barrier(&mut self) -> Option<bool> {
        let first = *self.at.first()?;
        if self.at.iter().any(|at| *at != first) {
            return None;
        }
        let At::Waiting(block, at) = first else { return Some(false) };
        self.at.iter_mut().for_each(|thread| *thread = At::Running(block, at.next()));
        self.passed.iter_mut().for_each(Vec::clear);
        self.memory.barrier();
        self.barriers += 1;
        Some(true)
    }
}

/// The numbers from 32 on in groups with one upper bit. All blocks have a thread of each group.
fn others(known: &Known) -> Vec<(u32, u32)> {
    let mut found = Vec::new();
    let mut from = WARP_SIZE;
    while 2 * from < known.least {
        found.push((from, 2 * from - 1));
        from *= 2;
    }
    if from < known.most {
        found.push((from, known.most - 1));
    }
    found
}

/// Whether all threads of the block wait for each other at an instruction: it names a barrier by a constant, and no
/// number of threads.
pub(super) fn is_barrier(inst: &Inst<'_, '_>) -> bool {
    let form = &inst.ast.form;
    let known = |one: &Modifier| {
        matches!(one, Modifier::Qualifier(Qualifier::Sync | Qualifier::Cta | Qualifier::Aligned))
    };
    matches!(form.opcode, Opcode::Bar | Opcode::Barrier)
        && form.has(Qualifier::Sync)
        && form.modifiers().iter().all(known)
        && matches!(inst.args[..], [Arg::Constant(_)])
        && inst.guard.is_none()
}

/// Whether the lanes of a warp wait for each other at an instruction, or exchange values.
pub(super) fn waits_for_warp(inst: &Inst<'_, '_>) -> bool {
    let form = &inst.ast.form;
    let is_barrier = form.opcode == Opcode::Bar && form.has(Qualifier::Warp);
    let waits = is_barrier || form.opcode == Opcode::Redux;
    is_shuffle(inst) || waits && form.has(Qualifier::Sync) && inst.guard.is_none()
}

/// Whether an access names shared memory.
fn is_shared(inst: &Inst<'_, '_>) -> bool {
    inst.ast.form.space() == StateSpace::Shared
}

/// Whether lanes exchange values at an instruction.
pub(super) fn is_shuffle(inst: &Inst<'_, '_>) -> bool {
    let form = &inst.ast.form;
    form.opcode == Opcode::Shfl
        && form.qualifiers().count() == 2
        && form.qualifiers().next() == Some(Qualifier::Sync)
        && inst.guard.is_none()
}

/// One thread of a block.
pub(super) struct Lane<'l, 'b, 'p, 'm, 's> {
    pub block: &'l mut Block<'b, 'p, 'm, 's>,
    pub thread: u32,
}

impl Lane<'_, '_, '_, '_, '_> {
    /// The value that an instruction reads from the parameters into a register.
    fn parameter(&mut self, register: RegisterId, at: InstId) -> Option<TermId> {
        let width = self.width(register)?;
        let inst = &self.block.place.flow.insts[at];
        let Some(Arg::Memory { base: Base::Symbol { name, .. }, offset, .. }) = inst.args.get(1)
        else {
            return None;
        };
        let name = format!("{name}+{offset} {}", inst.ast.form.last_type()?);
        Some(self.block.values.unknown(Unknown::Parameter(name), width))
    }

    /// The value of a register at the branch.
    fn initial(&mut self, register: RegisterId) -> Option<TermId> {
        let width = self.width(register)?;
        let Place { definitions, uniform, known, reader, partners, state, .. } = *self.block.place;
        if let Some(term) = state.and_then(|state| state.get(&register)) {
            let number = self.special(Special::Tid(Axis::X))?;
            let done = &mut self.block.own[self.thread as usize];
            return Some(self.block.values.of_thread(*term, (self.thread, number), done));
        }
        if let Some(value) = known.constants.get(&register) {
            return Some(self.block.values.arena.constant(*value, width));
        }
        let origins = &mut self.block.origins;
        let known = origins.entry(register);
        let origin = *known.or_insert_with(|| definitions.invariant(register, reader));
        if let Some(at) = origin {
            return Past { lane: self, reader }.made(register, at);
        }
        let (named, varies) = match partners {
            None => (register, uniform.varies(register)),
            Some(partners) => match partners.get(&register) {
                Some(partner) => *partner,
                None => return Some(self.block.values.any(width)),
            },
        };
        self.block.inherited.insert(register);
        let own = varies.then_some(self.name());
        Some(self.block.values.unknown(Unknown::Register(named, own), width))
    }

    /// Whether the thread stands for others that are not in the first warp.
    pub(super) fn is_other(&self) -> bool {
        self.block.crew == Crew::FirstWarp && self.thread >= WARP_SIZE
    }

    /// The numbers for which the thread stands, if it stands for several.
    fn numbers(&self) -> Option<(u32, u32)> {
        match self.block.crew {
            Crew::Any { .. } => Some((0, self.block.place.known.most - 1)),
            Crew::FirstWarp => {
                let other = self.thread.checked_sub(WARP_SIZE)?;
                self.block.others.get(other as usize).copied()
            }
            _ => None,
        }
    }

    /// The number under which the thread's unknown values go.
    pub(super) fn name(&self) -> u32 {
        if self.block.is_alone() { u32::MAX } else { self.thread }
    }
}

/// A thread in front of an instruction that it has executed before the branch.
struct Past<'q, 'l, 'b, 'p, 'm, 's> {
    lane: &'q mut Lane<'l, 'b, 'p, 'm, 's>,
    reader: InstId,
}

impl Past<'_, '_, '_, '_, '_, '_> {
    /// The invariant value that an instruction has written into a register.
    fn made(&mut self, register: RegisterId, at: InstId) -> Option<TermId> {
        let inst = &self.lane.block.place.flow.insts[at];
        if role(inst) == Role::Load {
            return self.lane.parameter(register, at);
        }
        let results = compute(&mut Past { lane: self.lane, reader: at }, inst)?;
        results.into_iter().find(|(to, _)| *to == register).map(|(_, term)| term)
    }
}

impl Thread for Past<'_, '_, '_, '_, '_, '_> {
    fn values(&mut self) -> &mut Values {
        self.lane.values()
    }

    fn read(&mut self, register: RegisterId) -> Option<TermId> {
        let at = self.lane.block.place.definitions.reaching(register, self.reader)?;
        self.made(register, at)
    }

    fn special(&mut self, register: Special) -> Option<TermId> {
        self.lane.special(register)
    }

    fn width(&self, register: RegisterId) -> Option<u8> {
        self.lane.width(register)
    }
}

impl Thread for Lane<'_, '_, '_, '_, '_> {
    fn values(&mut self) -> &mut Values {
        self.block.values
    }

    fn read(&mut self, register: RegisterId) -> Option<TermId> {
        if let Some(term) = self.block.registers[self.thread as usize].get(&register) {
            return Some(*term);
        }
        let term = self.initial(register)?;
        self.block.registers[self.thread as usize].insert(register, term);
        Some(term)
    }

    fn special(&mut self, register: Special) -> Option<TermId> {
        let known = self.block.place.known;
        let [wide, high, _] = known.shape.unwrap_or([u32::MAX, 1, 1]);
        let (thread, numbers) = (self.thread, self.numbers());
        let of_row = matches!(belief(register), Belief::Thread(Axis::X) | Belief::Extent(Axis::X));
        let of_grid = matches!(belief(register), Belief::Block(_) | Belief::Blocks(_));
        if matches!(self.block.crew, Crew::Any { one_row: false } | Crew::FirstOfRow) {
            self.block.asks_for_rows |=
                !(of_row || of_grid || belief(register) == Belief::WarpSize);
            (!self.block.asks_for_rows).then_some(())?;
        }
        let values = &mut self.block.values;
        let number = match belief(register) {
            Belief::WarpSize => WARP_SIZE,
            // Without a shape thread blocks have one row.
            Belief::Thread(Axis::X) | Belief::Lane if let Some((least, most)) = numbers => {
                let number = values.within(TID.to_owned(), least, most);
                let lane = belief(register) == Belief::Lane;
                let most = u64::from(if lane { WARP_SIZE - 1 } else { u32::MAX });
                return Some(values.arena.and_constant(number, most));
            }
            Belief::Extent(Axis::X) if known.shape.is_none() => {
                return Some(values.within(register.to_string(), known.least, known.most));
            }
            Belief::Thread(Axis::X) => thread % wide,
            Belief::Thread(Axis::Y) => thread / wide % high,
            Belief::Thread(Axis::Z) => thread / wide / high,
            Belief::Extent(axis) => known.shape.map_or(1, |shape| shape[axis.index()]),
            Belief::Lane => thread % WARP_SIZE,
            Belief::Block(_) | Belief::Blocks(_) => {
                let name = Unknown::Special(register.to_string());
                return Some(values.unknown(name, 32));
            }
            Belief::Uniform(_) | Belief::LaneMask | Belief::Volatile(_) => return None,
        };
        Some(values.arena.constant(u64::from(number), 32))
    }

    fn width(&self, register: RegisterId) -> Option<u8> {
        let bits = self.block.place.flow.registers[register].ty.bits();
        u8::try_from(bits).ok().filter(|bits| *bits <= 64)
    }
}
