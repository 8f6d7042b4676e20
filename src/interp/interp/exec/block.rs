//! One block: its warps take turns, and its barriers bring them together.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::gates::Barriers;
use super::group::{Group, State};
use super::machine::Machine;
use super::warp::{Stop, Warp, not_aligned};
use super::watch::{Lacks, Watch};
use crate::interp::counters::Tally;
use crate::interp::fault::{Earlier, Fault, FaultKind};
use crate::interp::memory::{Accessor, Phase, PhaseId, Region, Shadow, new_junk};
use crate::interp::poison::Marks;
use crate::interp::program::{FunctionId, MicroOp, Op, Pc};
use crate::interp::registers::Mask;
use typed_index_collections::TiSlice;

/// Instructions after which a group that still runs lets others run: enough that hardly any
/// kernel notices, and little enough that a lane spinning on a lock does not starve its holder.
const SLICE: u64 = 1 << 11;

/// How long lanes wait at a meeting point before they go on without the others, in slices of a warp
/// that keeps running. This matters only where threads can wait for each other through memory.
const PATIENCE: u32 = 8;

/// How often in a row groups of a block find phases of `mbarrier` objects unfinished before that is a deadlock: only threads
/// of the block arrive. A block has at most 2^10 groups, so that each has asked again and again by then.
const MAX_TESTS: u64 = 1 << 15;

/// Whether a block has finished.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Progress {
    /// All its threads have ended.
    Done,
    /// It has used up its budget of instructions.
    Running,
}

/// One block.
#[derive(Debug)]
pub(super) struct Block<'p, C> {
    /// The data shared by all blocks.
    pub machine: &'p Machine<'p>,
    /// Its index in the grid.
    pub id: [u32; 3],
    /// Its shared memory.
    pub shared: Vec<AtomicU32>,
    /// The marks of poison in its shared memory; empty if poison is not followed.
    shared_marks: Vec<AtomicU32>,
    /// Whether no poison is in its shared memory, and from which barrier on that is looked for again.
    shared_clean: (bool, u32),
    /// Poison in memory.
    marks: Marks,
    /// Its warps.
    pub warps: Vec<Warp>,
    /// Its barriers.
    pub barriers: Barriers,
    /// The events that it has counted.
    pub counters: C,
    /// Instructions that its warps have executed.
    pub steps: u64,
    /// The text that it has printed.
    pub printed: String,
    /// Barriers that it has passed.
    pub epoch: u32,
    /// Its warps' phases in front of the last barrier, as far as no phase of another block lies
    /// between them, and the number of that barrier.
    before: (Range<PhaseId>, u32),
    /// Barriers that the search for races knows of.
    ordered: u32,
    /// How often a group has found a phase of an `mbarrier` object unfinished since any group did something else.
    tests: u64,
    /// What the phase lacked that was last found unfinished, unless something has arrived since.
    lacks: Option<Lacks>,
}

impl<'p, C: Tally> Block<'p, C> {
    /// A block at the start of the kernel.
    pub(super) fn new(machine: &'p Machine<'p>, id: [u32; 3], counters: C) -> Block<'p, C> {
        let warps = (0..machine.warps()).map(|index| Warp::new(machine, id, index)).collect();
        Block {
            machine,
            id,
            shared: new_junk(0, machine.program.layout.shared_bytes),
            shared_marks: if machine.follows_poison {
                machine.new_marks(machine.program.layout.shared_bytes)
            } else {
                Vec::new()
            },
            shared_clean: (false, 1),
            marks: Marks::default(),
            warps,
            barriers: Barriers::default(),
            counters,
            steps: 0,
            printed: String::new(),
            epoch: 0,
            before: (0..0, 0),
            ordered: 0,
            tests: 0,
            lacks: None,
        }
    }

    /// Runs until all threads have ended or about `budget` instructions were executed.
    ///
    /// # Errors
    /// The kernel faulted.
    pub(super) fn run(
        &mut self,
        budget: u64,
        shadow: &mut Option<Shadow>,
    ) -> Result<Progress, Fault> {
        let end = self.steps.saturating_add(budget);
        if let Some(shadow) = shadow {
            let next = shadow.next_phase();
            self.before = (next..next, self.epoch);
        }
        loop {
            let mut progress = false;
            for warp in 0..self.warps.len() {
                progress |= self.run_warp(warp, shadow).map_err(|mut fault| {
                    fault.block = Some(self.id);
                    fault
                })?;
            }
            progress |= self.release_barriers(shadow.as_mut());
            if self.warps.iter().all(Warp::done) {
                return Ok(Progress::Done);
            }
            // Lanes that wait at a meeting point are free to go on, and other lanes may wait for them:
            // once they end, say, a shuffle or barrier does without them.
            let machine = self.machine;
            if !progress && let Some(mut fault) = self.divergent_barrier() {
                fault.block = Some(self.id);
                return Err(fault);
            }
            if !progress {
                progress = self
                    .warps
                    .iter_mut()
                    .fold(false, |any, warp| any | warp.release_waiting(machine));
            }
            if !progress {
                let mut fault = self.deadlock();
                fault.block = Some(self.id);
                return Err(fault);
            }
            if self.steps >= end {
                return Ok(Progress::Running);
            }
        }
    }

    /// Whether a group can neither read poison from shared memory nor write some there. Shared memory is looked through
    /// behind a barrier, and if it is not clean, behind twice as many.
    fn is_shared_clean(&mut self, warp: usize, group: usize) -> bool {
        let warp = &self.warps[warp];
        let in_global = || self.machine.global.regions().iter().any(Region::has_poison);
        if warp.frames[warp.groups[group].frame].poison.is_some() || in_global() {
            self.shared_clean = (false, self.epoch + 1);
        } else if !self.shared_clean.0 && self.epoch >= self.shared_clean.1 {
            let clean = self.shared_marks.iter().all(|word| word.load(Relaxed) == 0);
            self.shared_clean = (clean, self.epoch.saturating_mul(2));
        }
        self.shared_clean.0
    }

    /// Notes that barriers were passed since the last time.
    fn pass_barriers(&mut self, shadow: &mut Shadow) {
        if self.ordered != self.epoch {
            self.ordered = self.epoch;
            shadow.barrier(self.machine.number(self.id));
        }
    }

    /// The current phase of a warp; a new one if something has ordered the warp's lanes.
    pub(super) fn accessor(&mut self, warp: usize, shadow: &mut Shadow) -> Accessor {
        self.pass_barriers(shadow);
        if self.before.1 != self.epoch {
            self.before = (self.before.0.start..shadow.next_phase(), self.epoch);
        }
        if std::mem::take(&mut self.warps[warp].gathered) {
            self.warps[warp].phase = self.warps[warp].phase.map(|phase| shadow.gather(phase));
        }
        let phase = *self.warps[warp].phase.get_or_insert_with(|| {
            let block = self.machine.number(self.id);
            shadow.begin(Phase {
                block,
                warp: warp as u32,
                epoch: self.epoch,
                first: 0,
                gathered: 0,
            })
        });
        Accessor { phase, before: self.before.0.clone(), site: 0 }
    }

    /// Runs a warp until its groups wait, end, or have had a slice. Returns whether it got on.
    fn run_warp(&mut self, warp: usize, shadow: &mut Option<Shadow>) -> Result<bool, Fault> {
        let mut progress = false;
        let mut left = SLICE >> self.warps[warp].schedule.below(SLICE.ilog2().into());
        loop {
            let Some(group) = self.warps[warp].ready() else {
                if self.resolve_collectives(warp) {
                    progress = true;
                    continue;
                }
                return Ok(progress);
            };
            progress = true;
            let machine = self.machine;
            let who = match shadow {
                Some(shadow) => self.accessor(warp, shadow),
                None => Accessor { phase: 0, before: 0..0, site: 0 },
            };
            let follows = machine.follows_poison;
            let asks = follows && !self.is_shared_clean(warp, group);
            let marks = follows.then_some(&mut self.marks);
            let shared = (self.shared.as_slice(), asks.then_some(self.shared_marks.as_slice()));
            let counters = &mut self.counters;
            let mut watch = Watch {
                shadow: shadow.as_mut(),
                who,
                race: None,
                marks,
                warp: warp as u32,
                arrived: false,
                lacks: None,
                world: machine.world,
                block: machine.number(self.id),
            };
            let before = self.warps[warp].steps;
            let stop = self.warps[warp].run(machine, shared, counters, &mut watch, group, left);
            let spent = self.warps[warp].steps - before;
            self.steps += spent;
            let stop = stop?;
            if self.warps[warp].phase.is_some() {
                self.warps[warp].phase = Some(watch.who.phase);
            }
            let lacks = watch.lacks;
            self.lacks = lacks.or(self.lacks.filter(|_| !watch.arrived));
            let yields = matches!(stop, Stop::Yield(_)) && !watch.arrived;
            self.tests = if yields { self.tests + 1 } else { 0 };
            if let (Stop::Yield(group), MAX_TESTS..) = (&stop, self.tests) {
                return Err(self.nobody_arrives(warp, *group, lacks));
            }
            left = left.saturating_sub(spent);
            match stop {
                Stop::Switch => {}
                Stop::Barrier(group) => self.arrive_at_barrier(warp, group, shadow.as_mut())?,
                Stop::Collective(group) => self.arrive_at_collective(warp, group)?,
                Stop::Call(group) => self.call(warp, group)?,
                Stop::Stack(group) => self.warps[warp].stack(machine, group)?,
                Stop::Slice | Stop::Yield(_) => left = 0,
            }
            // One slice is for all groups of the warp together: a loop that splits and joins its lanes
            // again and again would otherwise never use up its slice.
            if left == 0 {
                let patient = !machine.program.signals;
                self.warps[warp].end_slice(machine, patient);
                return Ok(true);
            }
        }
    }

    /// The fault of a block all of whose threads that run ask again and again for a phase of an `mbarrier` object.
    fn nobody_arrives(&self, warp: usize, group: usize, lacks: Option<Lacks>) -> Fault {
        let own = &self.warps[warp];
        let Group { pc, mask, .. } = own.groups[group];
        let mut message = "deadlock: all threads that run wait for a phase of an mbarrier object, and none arrives".to_owned();
        if let Some(lacks) = lacks {
            message += &format!("; {}", lacks.shown(&self.machine.program.layout));
        }
        let span = own.function(self.machine, group).spans[Pc(pc.0.saturating_sub(1))];
        let fault = Fault::new(FaultKind::Deadlock, message).at(span);
        self.machine.blame(fault, warp as u32, mask)
    }

    /// Adds the places of the threads to the fault of a launch that did not end: the loop in which the first running
    /// lanes spin, and the state of the others.
    pub(super) fn spinning(&self, mut fault: Fault) -> Fault {
        fault.block = Some(self.id);
        let mut places: Vec<Standing> = Vec::new();
        for warp in &self.warps {
            for (index, group) in warp.groups.iter().enumerate() {
                let function = warp.function_id(index);
                let code = &self.machine.program.functions[function].code;
                let (at, what) = match group.state {
                    State::Ready => match innermost(code, group.pc) {
                        Some(latch) => (latch, "spin in a loop"),
                        None => (group.pc, "run"),
                    },
                    State::Barrier(_) => (group.pc, "wait at a barrier"),
                    State::Collective | State::Aligned => {
                        (group.pc, "wait for lanes of their warp")
                    }
                };
                let lanes = (warp.index, group.mask);
                match places.iter_mut().find(|(a, f, w, _)| (*a, *f, *w) == (at, function, what)) {
                    Some((.., all)) => all.push(lanes),
                    None => places.push((at, function, what, vec![lanes])),
                }
            }
        }
        places.sort_by_key(|(.., what, _)| *what != "spin in a loop");
        for (number, (at, function, what, all)) in places.iter().enumerate() {
            let function = &self.machine.program.functions[*function];
            let count: u32 = all.iter().map(|(_, lanes)| lanes.count_ones()).sum();
            let (warp, lanes) = all[0];
            let [x, y, z] = self.machine.thread(warp, lanes.trailing_zeros() as usize);
            fault.message += &format!("; {count} threads from ({x}, {y}, {z}) on {what}");
            if number == 0 {
                fault = fault.at(function.spans[*at]);
                fault = self.machine.blame(fault, warp, lanes);
                if let Op::Branch { target, .. } = function.code[*at].op {
                    let mut body = function.code[target..=*at].iter();
                    if let Some(lacks) = self.lacks
                        && body.any(|micro| matches!(micro.op, Op::MBarrier(_)))
                    {
                        let lacks = lacks.shown(&self.machine.program.layout);
                        fault.message += &format!(" and wait for a phase there: {lacks}");
                    }
                    let span = function.spans[target];
                    let remedy = "the loop does not end for these threads, or the launch needs a larger `limit`";
                    let what = "the loop begins here";
                    fault.earlier = Earlier::new(span, what, remedy.to_owned());
                }
            }
        }
        fault
    }

    /// The fault of a deadlock: which lanes wait for what.
    fn deadlock(&self) -> Fault {
        let mut message = String::from("deadlock: no thread can go on");
        let mut fault = Fault::new(FaultKind::Deadlock, "");
        for warp in &self.warps {
            for (index, group) in warp.groups.iter().enumerate() {
                let function = warp.function(self.machine, index);
                let span = function.spans[group.pc];
                let what = match group.state {
                    State::Barrier(id) => format!("at barrier {id}"),
                    _ => "for other lanes of their warp".to_owned(),
                };
                if group.state == State::Aligned {
                    let fault = Fault::new(FaultKind::Undefined, not_aligned(group.mask)).at(span);
                    return self.machine.blame(fault, warp.index, group.mask);
                }
                if fault.span.is_none() {
                    let (number, lanes) = (warp.index, group.mask);
                    message += &format!("; lanes {lanes:#010x} of warp {number} wait {what}");
                    fault = self.machine.blame(fault.at(span), warp.index, group.mask);
                }
            }
        }
        fault.message = message;
        fault
    }
}

/// A place, the state of the lanes there in words, and these lanes by warps.
type Standing = (Pc, FunctionId, &'static str, Vec<(u32, Mask)>);

/// The branch that closes the innermost loop around a micro-operation.
fn innermost(code: &TiSlice<Pc, MicroOp>, at: Pc) -> Option<Pc> {
    let back = code.iter_enumerated().filter_map(|(pc, micro)| match micro.op {
        Op::Branch { target, .. } if target <= at && at <= pc => Some((pc.0 - target.0, pc)),
        _ => None,
    });
    back.min().map(|(_, pc)| pc)
}

impl Warp {
    /// Puts the group that has run last behind the others, and at times lets lanes go on that wait at
    /// a meeting point.
    fn end_slice(&mut self, machine: &Machine<'_>, patient: bool) {
        self.slices = self.slices.wrapping_add(1);
        if let Some(running) = self.ready() {
            self.groups[..=running].rotate_right(1);
        }
        if !patient && self.slices.is_multiple_of(PATIENCE) {
            self.release_waiting(machine);
        }
    }
}
