//! One warp: groups of converged lanes, where they meet again, and the loop that executes them.
//!
//! The lanes of a warp form groups, each with a program counter of its own. A divergent branch splits
//! a group; the parts wait for each other at the meeting point that the launch chooses for the branch
//! ([`Schedule`]). Unlike with a plain stack, every group that is not waiting can run, so lanes that
//! wait in different branches (for a barrier, a shuffle, or a lock) do not block each other; and lanes
//! that wait at a meeting point go on when no other lane can.

use super::access::Spaces;
use super::blame::fault_of;
use super::group::{Frame, Group, Join, State};
use super::machine::Machine;
use super::schedule::Schedule;
use super::step::{Next, Site, fault, step};
use super::watch::Watch;
use crate::interp::counters::Tally;
use crate::interp::fault::{Fault, FaultKind};
use crate::interp::memory::{PhaseId, new_junk};
use crate::interp::poison::Poison;
use crate::interp::program::{AT_RETURN, Function, FunctionId, Guard, MicroOp, Op, Pc, Region};
use crate::interp::registers::{FULL, LANES, Mask, Registers};
use crate::interp::symbol::Step;
use smallvec::SmallVec;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use typed_index_collections::TiSlice;

/// Why [`Warp::run`] has returned.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stop {
    /// The group waits, has ended or has met others; another one may run.
    Switch,
    /// The group has arrived at a barrier of the block, at its program counter.
    Barrier(usize),
    /// The group stands at a collective instruction.
    Collective(usize),
    /// The group calls a function.
    Call(usize),
    /// The group stands at an instruction that moves the stack pointer.
    Stack(usize),
    /// The group has used up its slice.
    Slice,
    /// The group has found a phase of an `mbarrier` object unfinished, and others go on.
    Yield(usize),
}

/// One warp.
#[derive(Debug)]
pub(super) struct Warp {
    /// Its number in the block.
    pub index: u32,
    /// The block's number.
    pub block: u64,
    /// Lanes that exist and have not ended.
    pub live: Mask,
    /// Its groups; the last one that is ready runs.
    pub groups: Vec<Group>,
    /// Reconvergence points; free ones are `None`.
    pub joins: Vec<Option<Join>>,
    /// Frames, free ones among them.
    pub frames: Vec<Frame>,
    /// Local memory, lanes interleaved.
    pub local: Vec<AtomicU32>,
    /// The marks of poison in local memory; empty if poison is not followed.
    pub local_marks: Vec<AtomicU32>,
    /// Bytes of local memory in use by each lane.
    pub local_bytes: u64,
    /// Instructions executed.
    pub steps: u64,
    /// Times that a group used up its slice.
    pub slices: u32,
    /// The phase that the warp is in, unless the phase has just ended.
    pub phase: Option<PhaseId>,
    /// Whether lanes have executed a `.sync` instruction together since the phase was last looked at.
    pub gathered: bool,
    /// The warp's choices where the PTX ISA leaves one.
    pub schedule: Schedule,
}

impl Warp {
    /// A warp at the start of the kernel.
    pub(super) fn new(machine: &Machine<'_>, block: [u32; 3], index: u32) -> Warp {
        let threads = machine.threads();
        let left = threads - index * LANES as u32;
        let live = if left >= 32 { Mask::MAX } else { (1 << left) - 1 };
        let mut warp = Warp {
            index,
            block: machine.number(block),
            live,
            groups: Vec::new(),
            joins: Vec::new(),
            frames: Vec::new(),
            local: Vec::new(),
            local_marks: Vec::new(),
            local_bytes: 0,
            steps: 0,
            slices: 0,
            phase: None,
            gathered: false,
            schedule: Schedule::new(machine.meet, machine.number(block), index),
        };
        let frame = warp.push_frame(machine, block, FunctionId::KERNEL);
        warp.groups.push(Group {
            pc: Pc::ENTRY,
            mask: live,
            frame,
            join: None,
            state: State::Ready,
        });
        warp
    }

    /// Makes a frame for a function.
    pub(super) fn push_frame(
        &mut self,
        machine: &Machine<'_>,
        block: [u32; 3],
        id: FunctionId,
    ) -> usize {
        let function = &machine.program.functions[id];
        let template = &function.frame;
        let mut registers = Registers {
            preds: template.preds.clone(),
            w32: template.w32.clone(),
            w64: template.w64.clone(),
        };
        for &(special, slot) in &template.specials {
            registers.w32[slot] =
                std::array::from_fn(|lane| machine.special(special, block, self.index, lane));
        }
        let frames = self.frames.iter().filter(|frame| !frame.free);
        let local_base = frames
            .map(|frame| {
                let fixed = machine.program.functions[frame.function].local_bytes;
                (frame.local_base + fixed + frame.dynamic).next_multiple_of(16)
            })
            .max()
            .unwrap_or(0);
        self.local_bytes = self.local_bytes.max(local_base + function.local_bytes);
        self.grow_local(machine);
        self.forget_local(machine, local_base, function.local_bytes);
        let follows =
            machine.follows_poison && machine.recorder.is_none() && !function.unwritten.is_empty();
        let unwritten = &function.unwritten;
        let mut poison = follows.then(|| Poison::of_unwritten(template, unwritten, self.live));
        if let Some(recorder) = machine.recorder {
            poison = Some(Poison::new(template).with_recorder(recorder));
        }
        if machine.follows_origins {
            let begun = poison.unwrap_or_else(|| Poison::new(template));
            poison = Some(begun.with_origins(template));
        }
        if machine.world.is_some() {
            let begun = poison.unwrap_or_else(|| Poison::new(template));
            poison = Some(begun.with_symbols(template));
        }
        let poison = poison.map(Box::new);
        let frame = Frame { function: id, registers, poison, local_base, dynamic: 0, free: false };
        match self.frames.iter().position(|frame| frame.free) {
            Some(free) => {
                self.frames[free] = frame;
                free
            }
            None => {
                self.frames.push(frame);
                self.frames.len() - 1
            }
        }
    }

    /// Makes room for the local memory in use.
    pub(super) fn grow_local(&mut self, machine: &Machine<'_>) {
        let words = (self.local_bytes.div_ceil(4) * LANES as u64) as usize;
        let have = self.local.len();
        if have < words {
            let more = 4 * (words - have) as u64;
            self.local.extend(new_junk(have as u64, more));
            if machine.follows_poison {
                self.local_marks.extend(machine.new_marks(more));
            }
        }
    }

    /// Marks bytes of local memory as unwritten, in all lanes: those of a variable whose life begins.
    pub(super) fn forget_local(&mut self, machine: &Machine<'_>, first: u64, bytes: u64) {
        if let Some(world) = machine.world {
            let words = first / 4..(first + bytes).div_ceil(4);
            let warp = self.index * LANES as u32..(self.index + 1) * LANES as u32;
            world.state().memory.forget_local(self.block, warp, words);
        }
        if self.local_marks.is_empty() || machine.recorder.is_some() {
            return;
        }
        let words = (first / 4) as usize * LANES..((first + bytes).div_ceil(4)) as usize * LANES;
        for word in &self.local_marks[words] {
            word.store(u32::MAX, Relaxed);
        }
    }

    /// The registers of a frame.
    pub(super) fn registers(&mut self, frame: usize) -> &mut Registers {
        &mut self.frames[frame].registers
    }

    /// The number of the function that a group is in.
    pub(super) fn function_id(&self, group: usize) -> FunctionId {
        let frame = self.groups[group].frame;
        self.frames[frame].function
    }

    /// The function that a group is in.
    pub(super) fn function<'p>(&self, machine: &Machine<'p>, group: usize) -> &'p Function {
        &machine.program.functions[self.function_id(group)]
    }

    /// The lanes of a group that take part in the micro-operation at its program counter.
    pub(super) fn executing(&mut self, machine: &Machine<'_>, group: usize) -> Mask {
        let Group { pc, mask, frame, .. } = self.groups[group];
        let guard = self.function(machine, group).code[pc].guard;
        active(self.registers(frame), guard, mask)
    }

    /// Whether all lanes have ended.
    pub(super) fn done(&self) -> bool {
        self.groups.is_empty()
    }

    /// The group to run next.
    pub(super) fn ready(&mut self) -> Option<usize> {
        if !self.schedule.is_random() {
            return self.groups.iter().rposition(|group| group.state == State::Ready);
        }
        let is_ready = |index: &usize| self.groups[*index].state == State::Ready;
        let count = (0..self.groups.len()).filter(is_ready).count() as u64;
        let number = self.schedule.below(count) as usize;
        (0..self.groups.len()).filter(|&index| self.groups[index].state == State::Ready).nth(number)
    }

    /// Runs one group until something happens that concerns others, or until `slice` instructions were
    /// executed.
    ///
    /// # Errors
    /// The kernel faults.
    pub(super) fn run<T: Tally>(
        &mut self,
        machine: &Machine<'_>,
        shared: Shared<'_>,
        tally: &mut T,
        watch: &mut Watch<'_>,
        index: usize,
        slice: u64,
    ) -> Result<Stop, Fault> {
        let poison = &mut self.frames[self.groups[index].frame].poison;
        if poison.as_ref().is_some_and(|poison| poison.is_clean()) {
            *poison = None;
        }
        if poison.is_some() {
            self.run_as::<T, true>(machine, shared, tally, watch, index, slice)
        } else {
            self.run_as::<T, false>(machine, shared, tally, watch, index, slice)
        }
    }

    /// As [`Warp::run`]; `POISON`: some registers hold poison.
    fn run_as<T: Tally, const POISON: bool>(
        &mut self,
        machine: &Machine<'_>,
        shared: Shared<'_>,
        tally: &mut T,
        watch: &mut Watch<'_>,
        index: usize,
        slice: u64,
    ) -> Result<Stop, Fault> {
        let id = self.function_id(index);
        let function = &machine.program.functions[id];
        let Group { mut pc, mask, frame, .. } = self.groups[index];
        let ahead = self.ahead(function, index);
        let end = self.steps.saturating_add(slice);
        let Frame { registers, local_base, poison, .. } = &mut self.frames[frame];
        let spaces = Spaces {
            layout: &machine.program.layout,
            global: machine.global,
            shared: shared.0,
            shared_marks: shared.1,
            local: (&self.local, self.local_bytes),
            local_marks: machine.follows_poison.then_some(self.local_marks.as_slice()),
            params: (machine.params, machine.params_marks),
            one_wins: machine.one_wins,
            frame: *local_base,
        };
        let code: &TiSlice<Pc, MicroOp> = &function.code;
        loop {
            if POISON && let Some(poison) = poison {
                poison.reach(pc, mask);
                match poison.reach_symbols(pc, mask, registers, machine.world) {
                    Ok(None) => {}
                    Ok(Some(other)) => {
                        pc = other;
                        continue;
                    }
                    Err(failed) => {
                        return Err(fault_of(machine, function, pc, watch, failed, self.index));
                    }
                }
            }
            if ahead.reached(pc) {
                self.groups[index].pc = pc;
                self.arrive(machine, index);
                return Ok(Stop::Switch);
            }
            if self.steps >= end {
                self.groups[index].pc = pc;
                return Ok(Stop::Slice);
            }
            let micro = &code[pc];
            let counters = tally.at(id, pc);
            let mut lanes = active(registers, micro.guard, mask);
            if micro.first {
                self.steps += 1;
                counters.instructions += 1;
                counters.lane_instructions += u64::from(lanes.count_ones());
            }
            watch.who.site = function.site(pc);
            let mut is_done = false;
            if POISON && let Some(poison) = poison {
                let site = (code, pc, watch.who.site);
                match poison.prepare(site, registers, (mask, lanes), machine.world) {
                    Ok(Step::Lanes(executing)) => lanes = executing,
                    Ok(Step::Done) => is_done = true,
                    Ok(Step::Part(apart, meet)) => {
                        self.groups[index].pc = pc;
                        self.diverge(machine, index, meet, &[(apart, pc), (mask & !apart, pc)]);
                        return Ok(Stop::Switch);
                    }
                    Err(failed) => {
                        let fault = fault_of(machine, function, pc, watch, failed, self.index);
                        return Err(fault);
                    }
                }
            }
            if POISON && let Some(observer) = machine.observer {
                observer.see((id, pc), &micro.op, (registers, lanes), &spaces);
            }
            if lanes == 0 {
                if matches!(micro.op, Op::Branch { .. }) {
                    counters.branches += 1;
                }
                pc = pc.next();
                continue;
            }
            let stepped = match &micro.op {
                Op::Lanes(run, slots) => {
                    if !(POISON && is_done && machine.observer.is_none()) {
                        (run.run)(registers, slots, lanes);
                    }
                    Ok(Next::On)
                }
                Op::Load(load) => {
                    let loaded = spaces.load(registers, load, lanes, counters, watch);
                    loaded.map(|()| if watch.has_found() { Next::Poison } else { Next::On })
                }
                Op::Store(store) => {
                    let poison = if POISON { poison.as_deref() } else { None };
                    let stored = spaces.store(registers, store, lanes, counters, (watch, poison));
                    stored.map(|()| Next::On)
                }
                Op::Branch { target, .. } if lanes == mask => {
                    counters.branches += 1;
                    pc = *target;
                    continue;
                }
                Op::CrossLane(_) | Op::Fragment(_) if lanes != FULL => {
                    if lanes == mask && self.live == FULL {
                        self.groups[index].pc = pc;
                        return Ok(Stop::Collective(index));
                    }
                    Err(fault(lanes, FaultKind::Undefined, not_aligned(lanes)))
                }
                op if let Some(stop) = stop(op, index) => {
                    self.groups[index].pc = pc;
                    return Ok(stop);
                }
                Op::Return | Op::Exit => {
                    self.groups[index].pc = pc.next();
                    self.leave(machine, index, lanes, matches!(micro.op, Op::Return));
                    return Ok(Stop::Switch);
                }
                op => {
                    let site =
                        Site { machine, spaces: &spaces, steps: self.steps, pc, lanes, mask };
                    let poison = if POISON { poison.as_deref() } else { None };
                    let stepped = step(op, &site, registers, counters, (watch, poison));
                    if matches!(stepped, Ok(Next::On)) && watch.has_found() {
                        Ok(Next::Poison)
                    } else {
                        stepped
                    }
                }
            };
            if POISON
                && stepped.is_ok()
                && let Some(poison) = poison
                && let Some(origins) = &mut poison.origins
            {
                let what = (&micro.op, watch.who.site);
                origins.after(what, registers, lanes, machine);
            }
            if POISON
                && stepped.is_ok()
                && let (Some(poison), Some(world)) = (poison.as_deref_mut(), machine.world)
            {
                if let (Ok(Next::Poison), Some(marks)) = (&stepped, watch.marks.as_deref_mut()) {
                    poison.take(marks);
                }
                poison.finish(registers, world);
            }
            match stepped {
                Ok(Next::On) => pc = pc.next(),
                Ok(Next::Poison) => {
                    let poison =
                        poison.get_or_insert_with(|| Box::new(Poison::new(&function.frame)));
                    if let Some(marks) = watch.marks.as_deref_mut() {
                        poison.take(marks);
                    }
                    pc = pc.next();
                    if !POISON {
                        self.groups[index].pc = pc;
                        return Ok(Stop::Switch);
                    }
                }
                Ok(Next::At(target)) => pc = target,
                Ok(Next::Yield) => {
                    self.groups[index].pc = pc.next();
                    return Ok(Stop::Yield(index));
                }
                Ok(Next::Part { meet, ways }) => {
                    self.groups[index].pc = pc;
                    self.diverge(machine, index, meet, &ways);
                    return Ok(Stop::Switch);
                }
                Err(failed) => {
                    let (lane, access) = (failed.lane, failed.access);
                    let mut fault = fault_of(machine, function, pc, watch, failed, self.index);
                    if let (Some(poison), Some(access)) = (poison, access)
                        && let Some(origins) = &poison.origins
                    {
                        origins.explain(&mut fault, (&micro.op, lane), access, machine);
                    }
                    return Err(fault);
                }
            }
        }
    }

    /// The places at which a group stops to wait for others.
    fn ahead<'p>(&self, function: &'p Function, index: usize) -> Ahead<'p> {
        let group = &self.groups[index];
        let join = group.join.and_then(|id| self.joins[id].as_ref());
        let mut ahead = Ahead {
            meeting: join.map_or(AT_RETURN, |join| join.at),
            outer: SmallVec::new(),
            around: SmallVec::new(),
        };
        // Only if the points are chosen at random a group can come to an outer one first, or leave a
        // loop in which the others wait for it.
        if self.schedule.is_random() {
            ahead.outer.extend(self.joins_of(group).skip(1).map(|(_, join)| join.at));
            let joins = self.joins_of(group);
            ahead.around.extend(joins.filter_map(|(_, join)| Some(&function.loops[join.within?])));
        }
        ahead
    }
}

/// Where a group that runs has to stop to wait for others.
struct Ahead<'p> {
    /// Its innermost meeting point; [`AT_RETURN`] if it has none.
    meeting: Pc,
    /// The meeting points further out at which it has to stop.
    outer: SmallVec<[Pc; 4]>,
    /// Loops at whose end it has to stop.
    around: SmallVec<[&'p Region; 2]>,
}

impl Ahead<'_> {
    #[inline(always)]
    fn reached(&self, pc: Pc) -> bool {
        pc == self.meeting && pc != AT_RETURN
            || self.outer.contains(&pc)
            || self.around.iter().any(|region| !region.contains(pc))
    }
}

/// Why a group must stop at an instruction whatever its lanes hold, if it must.
fn stop(op: &Op, index: usize) -> Option<Stop> {
    Some(match op {
        Op::Barrier(_) => Stop::Barrier(index),
        Op::Collective(_) => Stop::Collective(index),
        Op::Call(_) => Stop::Call(index),
        Op::Stack(_) => Stop::Stack(index),
        _ => return None,
    })
}

/// The message about a group at an instruction that all lanes must execute together.
pub(super) fn not_aligned(lanes: Mask) -> String {
    format!("all 32 lanes must execute this together; the lanes {lanes:#010x} are here alone")
}

/// A block's shared memory, and the marks of poison in it.
pub(super) type Shared<'a> = (&'a [AtomicU32], Option<&'a [AtomicU32]>);

/// The lanes of a mask for which a guard holds.
#[inline(always)]
fn active(registers: &Registers, guard: Guard, mask: Mask) -> Mask {
    match guard {
        Guard::Always => mask,
        Guard::If(slot) => mask & registers.preds[slot],
        Guard::Unless(slot) => mask & !registers.preds[slot],
    }
}
