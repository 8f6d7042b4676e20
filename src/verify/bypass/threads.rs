//! Evaluates all threads of a block from one place to another: each thread by itself up to where it waits, then
//! all that wait for each other together.
//!
//! Where the place is such that only lanes of the first warp access shared memory, one thread stands for all others: its
//! number is a symbol of at least 32. Its results hold for each of them.
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
use super::values::{Action, Unknown, Values};
use crate::cfg::{
    Arg, Base, BlockId, EdgeCondition, Flow, Inst, InstId, PostDominators, RegisterId,
};
use crate::expr::{Range, TermId};
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
}

/// By register, that of the original with the same value, and whether it differs between threads.
pub(super) type Partners = FxHashMap<RegisterId, (RegisterId, bool)>;

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
    /// The registers whose unknown values at the start were asked for.
    pub inherited: BTreeSet<RegisterId>,
    /// Whether the last thread stands for all that are not in the first warp.
    has_other: bool,
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
    /// All threads at the start; at the branch they take one side. `has_other`: one thread stands for all that are not in
    /// the first warp.
    pub(super) fn new(
        place: &'b Place<'p, 'm, 's>,
        values: &'b mut Values,
        (side, has_other): (BlockId, bool),
    ) -> Self {
        let threads = if has_other { WARP_SIZE + 1 } else { place.known.most } as usize;
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
            inherited: BTreeSet::new(),
            has_other,
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
            for thread in 0..self.at.len() as u32 {
                while let At::Running(block, inst) = self.at[thread as usize] {
                    self.step(thread, block, inst)?;
                }
            }
            let together = self.meet_in_warps()?;
            if !together && !self.barrier()? {
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
                Lane { block: self, thread }.store(inst)?;
            }
        }
        Some(())
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
            Role::Load | Role::Store | Role::Effect if is_shared(inst) => match opcode {
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
    fn barrier(&mut self) -> Option<bool> {
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
        let Place { definitions, uniform, known, reader, partners, .. } = *self.block.place;
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
        let own = varies.then_some(self.thread);
        Some(self.block.values.unknown(Unknown::Register(named, own), width))
    }

    /// Whether the thread stands for all that are not in the first warp.
    pub(super) fn is_other(&self) -> bool {
        self.block.has_other && self.thread == WARP_SIZE
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
        let thread = self.thread;
        let number = match belief(register) {
            Belief::WarpSize => WARP_SIZE,
            // Without a shape thread blocks have one row.
            Belief::Thread(Axis::X) | Belief::Lane if self.is_other() => {
                (belief(register) == Belief::Thread(Axis::X)).then_some(())?;
                let range = Range::unsigned(WARP_SIZE.into(), (known.most - 1).into(), 32);
                return Some(self.block.values.within(Unknown::Other, 32, range));
            }
            Belief::Thread(Axis::X) => thread % wide,
            Belief::Thread(Axis::Y) => thread / wide % high,
            Belief::Thread(Axis::Z) => thread / wide / high,
            Belief::Extent(axis) if known.shape.is_some() || axis != Axis::X => {
                known.shape.map_or(1, |shape| shape[axis.index()])
            }
            Belief::Lane => thread % WARP_SIZE,
            Belief::Extent(_) | Belief::Block(_) | Belief::Blocks(_) => {
                let name = Unknown::Special(register.to_string());
                return Some(self.block.values.unknown(name, 32));
            }
            Belief::Uniform(_) | Belief::LaneMask | Belief::Volatile(_) => return None,
        };
        Some(self.block.values.arena.constant(u64::from(number), 32))
    }

    fn width(&self, register: RegisterId) -> Option<u8> {
        let bits = self.block.place.flow.registers[register].ty.bits();
        u8::try_from(bits).ok().filter(|bits| *bits <= 64)
    }
}
