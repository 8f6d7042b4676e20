//! Evaluates all threads of a block from a branch to a place behind it: each thread by itself up to where it waits, then
//! all that wait for each other together.
//!
//! The evaluation gives up at: a branch on an unknown value, an access outside of shared memory, a
//! strong access, a race, a shuffle that some lane of the warp does not come to, a barrier that some thread does not
//! come to. A shuffle exchanges values in a warp whose 32 lanes have all taken the same path.

use rustc_hash::FxHashMap;

use super::known::{Definitions, Known};
use super::memory::{Access, Memory};
use super::operation::{Thread, address, compute, operand};
use super::uniform::Uniform;
use super::values::{Unknown, Values};
use crate::cfg::{Arg, Base, BlockId, EdgeCondition, Flow, Inst, InstId, RegisterId};
use crate::expr::TermId;
use crate::isa::limits::WARP_SIZE;
use crate::isa::{Axis, Modifier, Opcode, Qualifier, Special};
use crate::program::{Belief, Role, belief, role};
use crate::ptx::StateSpace;

/// The most instructions of all threads.
const MAX_STEPS: u64 = 4_000_000;

/// The place of a branch, and the facts there.
pub(super) struct Place<'p, 'm, 's> {
    pub flow: &'p Flow<'m, 's>,
    pub definitions: &'p Definitions<'p, 'm, 's>,
    pub uniform: &'p Uniform,
    pub known: &'p Known,
    /// The block that the branch ends.
    pub branch: BlockId,
    /// The instruction of that block from which on threads are evaluated: nothing behind it is noticed by others.
    pub start: InstId,
    /// The block where both sides have met.
    pub end: BlockId,
    /// The successor that the branch has where it is left out.
    pub kept: BlockId,
}

/// Where a thread is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum At {
    /// In front of an instruction of a block.
    Running(BlockId, InstId),
    /// At a barrier or shuffle.
    Waiting(BlockId, InstId),
    /// Where both sides have met.
    Done,
}

/// All threads of a block, from an instruction in front of a branch on.
pub(super) struct Block<'b, 'p, 'm, 's> {
    place: &'b Place<'p, 'm, 's>,
    values: &'b mut Values,
    /// The side that threads take when they come to the branch for the first time.
    side: BlockId,
    /// Whether each thread has taken that side.
    taken: Vec<bool>,
    at: Vec<At>,
    registers: Vec<FxHashMap<RegisterId, TermId>>,
    /// The blocks that each thread has passed since the last barrier.
    passed: Vec<Vec<BlockId>>,
    pub memory: Memory,
    /// How often all threads have waited at a barrier.
    pub barriers: u32,
    /// The largest number of a thread that has executed a shuffle.
    pub last_shuffling: Option<u32>,
    /// By register, the instruction that computes it if its value never changes.
    origins: FxHashMap<RegisterId, Option<InstId>>,
    steps: u64,
}

impl<'b, 'p, 'm, 's> Block<'b, 'p, 'm, 's> {
    /// All threads in front of the branch; they take one side.
    pub(super) fn new(place: &'b Place<'p, 'm, 's>, values: &'b mut Values, side: BlockId) -> Self {
        let threads = place.known.most as usize;
        let start = At::Running(place.branch, place.start);
        Block {
            place,
            values,
            side,
            taken: vec![false; threads],
            at: vec![start; threads],
            registers: vec![FxHashMap::default(); threads],
            passed: vec![Vec::new(); threads],
            memory: Memory::default(),
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
            let shuffles = self.shuffle()?;
            if !shuffles && !self.barrier()? {
                return Some(());
            }
        }
    }

    /// The value of a register in a thread.
    pub(super) fn value(&mut self, thread: u32, register: RegisterId) -> Option<TermId> {
        Lane { block: self, thread }.read(register)
    }

    fn step(&mut self, thread: u32, block: BlockId, at: InstId) -> Option<()> {
        self.steps += 1;
        if self.steps > MAX_STEPS {
            return None;
        }
        let flow = self.place.flow;
        if at == flow.block(block).end {
            return self.leave(thread, block);
        }
        let inst = &flow.insts[at];
        let next = At::Running(block, at.next());
        let (role, opcode) = (role(inst), inst.ast.form.opcode);
        if role == Role::Branch {
            self.at[thread as usize] = next;
            return (opcode == Opcode::Bra).then_some(());
        }
        if is_barrier(inst) || is_shuffle(inst) {
            self.at[thread as usize] = At::Waiting(block, at);
            return Some(());
        }
        let mut lane = Lane { block: self, thread };
        let holds = match inst.guard {
            None => true,
            Some((register, negated)) => {
                let term = lane.read(register)?;
                (lane.block.values.constant(term)? != 0) != negated
            }
        };
        if holds {
            match role {
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
                Role::Load => lane.load(inst)?,
                Role::Store => lane.store(inst)?,
                _ => return None,
            }
        }
        self.at[thread as usize] = next;
        Some(())
    }

    /// Goes from the end of a block to the next one.
    fn leave(&mut self, thread: u32, block: BlockId) -> Option<()> {
        let Place { flow, branch, end, kept, .. } = *self.place;
        let of = flow.block(block);
        if of.leaves {
            return None;
        }
        let first = block == branch && !std::mem::replace(&mut self.taken[thread as usize], true);
        let (mut to, kept) = (None, if first { self.side } else { kept });
        for edge in &of.successors {
            let taken = match edge.condition {
                _ if block == branch => edge.to == kept,
                EdgeCondition::Always => true,
                EdgeCondition::Predicate(register, wanted) => {
                    let term = self.value(thread, register)?;
                    (self.values.constant(term)? != 0) == wanted
                }
                EdgeCondition::Index => return None,
            };
            if taken {
                to = Some(edge.to);
            }
        }
        let to = to?;
        self.passed[thread as usize].push(to);
        self.at[thread as usize] = match to == end {
            true => At::Done,
            false => At::Running(to, flow.block(to).first),
        };
        Some(())
    }

    /// Lets all warps exchange values whose lanes wait at shuffles; false if there are none.
    fn shuffle(&mut self) -> Option<bool> {
        let flow = self.place.flow;
        let mut any = false;
        for warp in 0..self.at.len().div_ceil(WARP_SIZE as usize) {
            let first = warp * WARP_SIZE as usize;
            let lanes = first..(first + WARP_SIZE as usize).min(self.at.len());
            let waits = |at: &At| match at {
                At::Waiting(block, inst) if is_shuffle(&flow.insts[*inst]) => Some((*block, *inst)),
                _ => None,
            };
            let Some((block, at)) = self.at[lanes.clone()].iter().find_map(waits) else { continue };
            let together = lanes.clone().all(|lane| {
                self.at[lane] == At::Waiting(block, at) && self.passed[lane] == self.passed[first]
            });
            if !together || lanes.len() < WARP_SIZE as usize {
                return None;
            }
            self.exchange(first as u32, at)?;
            lanes.for_each(|lane| self.at[lane] = At::Running(block, at.next()));
            self.last_shuffling = self.last_shuffling.max(Some(first as u32 + WARP_SIZE - 1));
            any = true;
        }
        Some(any)
    }

    /// `shfl.sync.mode.b32 d[|p], a, b, c, -1` in one warp (PTX ISA, "shfl.sync").
    fn exchange(&mut self, first: u32, at: InstId) -> Option<()> {
        let inst = &self.place.flow.insts[at];
        let [to, value, offset, clamp, Arg::Constant(mask)] = &inst.args[..] else { return None };
        if mask.as_integer()? as u32 != u32::MAX {
            return None;
        }
        let (to, predicate) = match to {
            Arg::Register(register) => (*register, None),
            Arg::Pair(pair) => match &pair[..] {
                [Arg::Register(to), Arg::Register(predicate)] => (*to, Some(*predicate)),
                _ => return None,
            },
            _ => return None,
        };
        let mut found = Vec::new();
        for lane in 0..WARP_SIZE {
            let mut own = Lane { block: self, thread: first + lane };
            let offset = operand(&mut own, offset, 32)?;
            let clamp = operand(&mut own, clamp, 32)?;
            let offset = self.values.constant(offset)? as i64 & 31;
            let clamp = self.values.constant(clamp)? as i64;
            let (segment, clamp, lane) = (clamp >> 8 & 31, clamp & 31, i64::from(lane));
            let most = lane & segment | clamp & !segment;
            let (from, within) = match inst.ast.form.qualifiers().nth(1)? {
                Qualifier::Up => (lane - offset, lane - offset >= most),
                Qualifier::Down => (lane + offset, lane + offset <= most),
                Qualifier::Bfly => (lane ^ offset, lane ^ offset <= most),
                Qualifier::Idx => {
                    let from = lane & segment | offset & !segment;
                    (from, from <= most)
                }
                _ => return None,
            };
            let from = if within { from } else { lane };
            let mut other = Lane { block: self, thread: first + u32::try_from(from).ok()? };
            let term = operand(&mut other, value, 32)?;
            found.push((term, within));
        }
        for (thread, (term, within)) in (first..).zip(found) {
            let within = self.values.arena.boolean(within);
            let registers = &mut self.registers[thread as usize];
            registers.insert(to, term);
            predicate.map(|predicate| registers.insert(predicate, within));
        }
        Some(())
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

/// Whether lanes exchange values at an instruction.
pub(super) fn is_shuffle(inst: &Inst<'_, '_>) -> bool {
    let form = &inst.ast.form;
    form.opcode == Opcode::Shfl
        && form.qualifiers().count() == 2
        && form.qualifiers().next() == Some(Qualifier::Sync)
        && inst.guard.is_none()
}

/// One thread of a block.
struct Lane<'l, 'b, 'p, 'm, 's> {
    block: &'l mut Block<'b, 'p, 'm, 's>,
    thread: u32,
}

impl Lane<'_, '_, '_, '_, '_> {
    /// The value that an instruction reads from the parameters into a register.
    fn parameter(&mut self, register: RegisterId, at: InstId) -> Option<TermId> {
        let width = self.width(register)?;
        Some(self.block.values.unknown(Unknown::Parameter(at), width))
    }

    /// The value of a register at the branch.
    fn initial(&mut self, register: RegisterId) -> Option<TermId> {
        let width = self.width(register)?;
        let Place { definitions, uniform, known, start, .. } = *self.block.place;
        if let Some(value) = known.constants.get(&register) {
            return Some(self.block.values.arena.constant(*value, width));
        }
        let origins = &mut self.block.origins;
        let known = origins.entry(register);
        let origin = *known.or_insert_with(|| definitions.invariant(register, start));
        if let Some(at) = origin {
            return Past { lane: self, reader: start }.made(register, at);
        }
        let own = uniform.varies(register).then_some(self.thread);
        Some(self.block.values.unknown(Unknown::Register(register, own), width))
    }

    /// The start of an array and the bytes from there that a shared access is about.
    fn accessed(&mut self, arg: &Arg<'_>, bytes: u32) -> Option<Access> {
        let Arg::Memory { base, offset, rest } = arg else { return None };
        rest.is_empty().then_some(())?;
        let start = match base {
            Base::Register(register) => {
                let term = self.read(*register)?;
                let width = self.block.values.arena.width(term);
                (width >= 32).then(|| self.block.values.arena.extract(term, 0, 32))?
            }
            Base::Symbol { name, local } => address(self.block.values, name, *local),
            Base::Absolute => return None,
        };
        let arena = &mut self.block.values.arena;
        let at = arena.add_constant(start, *offset as u64);
        let (constant, addends) = arena.linear_parts(at);
        let start = arena.sum(32, 0, addends);
        Some(Access { start, offset: i64::from(constant as i32), bytes, thread: self.thread })
    }

    /// The sizes of the elements of a weak access to shared memory, and their registers or values.
    fn elements<'a, 's>(inst: &'a Inst<'_, 's>, arg: &'a Arg<'s>) -> Option<(u32, &'a [Arg<'s>])> {
        let form = &inst.ast.form;
        let vectors = [Qualifier::V2, Qualifier::V4];
        let plain = form.qualifiers().all(|one| vectors.contains(&one));
        let bytes = form.last_type()?.bits() / 8;
        let parts = match arg {
            Arg::Vector(parts) => &parts[..],
            other => std::slice::from_ref(other),
        };
        let fits = form.elements().map_or(1, usize::from) == parts.len();
        let shared = form.space() == StateSpace::Shared;
        (plain && fits && shared && (1..=8).contains(&bytes)).then_some((bytes, parts))
    }

    fn load(&mut self, inst: &Inst<'_, '_>) -> Option<()> {
        let (bytes, parts) = Self::elements(inst, inst.args.first()?)?;
        let ty = inst.ast.form.last_type()?;
        let mut access = self.accessed(inst.args.get(1)?, bytes)?;
        for part in parts {
            let term = self.block.memory.read(self.block.values, access)?;
            access.offset += i64::from(bytes);
            let Arg::Register(register) = part else { return None };
            let width = self.width(*register)?;
            let arena = &mut self.block.values.arena;
            (arena.width(term) <= width).then_some(())?;
            let term = match ty.is_signed() {
                true => arena.sign_extend(term, width),
                false => arena.zero_extend(term, width),
            };
            self.block.registers[self.thread as usize].insert(*register, term);
        }
        Some(())
    }

    fn store(&mut self, inst: &Inst<'_, '_>) -> Option<()> {
        let (bytes, parts) = Self::elements(inst, inst.args.get(1)?)?;
        let mut access = self.accessed(inst.args.first()?, bytes)?;
        for part in parts {
            let term = operand(self, part, 8 * bytes as u8)?;
            self.block.memory.write(self.block.values, access, term)?;
            access.offset += i64::from(bytes);
        }
        Some(())
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
        let exact = self.block.place.known.least == self.block.place.known.most;
        let number = match belief(register) {
            Belief::WarpSize => WARP_SIZE,
            Belief::Thread(Axis::X) => self.thread,
            // Thread blocks have one row.
            Belief::Thread(_) => 0,
            Belief::Extent(Axis::Y | Axis::Z) => 1,
            Belief::Extent(Axis::X) if exact => self.block.place.known.least,
            Belief::Lane => self.thread % WARP_SIZE,
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
