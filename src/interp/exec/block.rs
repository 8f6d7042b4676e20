//! One block: its warps take turns, and its barriers bring them together.

use std::ops::Range;
use std::sync::atomic::AtomicU32;

use super::access::Watch;
use super::follow::Follow;
use super::gates::Barriers;
use super::group::State;
use super::machine::Machine;
use super::warp::{Stop, Warp, not_aligned};
use crate::interp::fault::{Fault, FaultKind};
use crate::interp::memory::{Accessor, Phase, PhaseId, Shadow, new_words};

/// Instructions after which a group that still runs lets others run: enough that hardly any
/// kernel notices, and little enough that a lane spinning on a lock does not starve its holder.
const SLICE: u64 = 1 << 11;

/// How long lanes wait at a meeting point before they go on without the others, in slices of a warp
/// that keeps running. This matters only where threads can wait for each other through memory.
const PATIENCE: u32 = 8;

/// Whether a block has finished.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Progress {
    /// All its threads have ended.
    Done,
    /// It has used up its budget of instructions.
    Running,
}

/// One block.
#[derive(Debug)]
pub struct Block<'p, C> {
    /// What it shares with all other blocks.
    pub machine: &'p Machine<'p>,
    /// Its index in the grid.
    pub id: [u32; 3],
    /// Its shared memory.
    pub shared: Vec<AtomicU32>,
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
}

impl<'p, C: Follow> Block<'p, C> {
    /// A block at the start of the kernel.
    pub fn new(machine: &'p Machine<'p>, id: [u32; 3], counters: C) -> Block<'p, C> {
        let warps = (0..machine.warps()).map(|index| Warp::new(machine, id, index)).collect();
        Block {
            machine,
            id,
            shared: new_words(machine.program.layout.shared_bytes),
            warps,
            barriers: Barriers::default(),
            counters,
            steps: 0,
            printed: String::new(),
            epoch: 0,
            before: (0..0, 0),
        }
    }

    /// Runs until all threads have ended or about `budget` instructions were executed.
    ///
    /// # Errors
    /// The kernel faulted.
    pub fn run(&mut self, budget: u64, shadow: &mut Option<Shadow>) -> Result<Progress, Fault> {
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
            progress |= self.release_barriers();
            if self.warps.iter().all(Warp::done) {
                return Ok(Progress::Done);
            }
            // Lanes that wait at a meeting point are free to go on, and other lanes may wait for them:
            // once they end, say, a shuffle or barrier does without them.
            let machine = self.machine;
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

    /// The current phase of a warp; a new one if something has ordered the warp's lanes.
    fn accessor(&mut self, warp: usize, shadow: &mut Shadow) -> Accessor {
        if self.before.1 != self.epoch {
            self.before = (self.before.0.start..shadow.next_phase(), self.epoch);
        }
        let phase = *self.warps[warp].phase.get_or_insert_with(|| {
            let block = self.machine.number(self.id);
            shadow.begin(Phase { block, warp: warp as u32, epoch: self.epoch })
        });
        Accessor { phase, before: self.before.0.clone(), site: 0 }
    }

    /// Runs a warp until its groups wait, end, or have had a slice. Returns whether it got on.
    fn run_warp(&mut self, warp: usize, shadow: &mut Option<Shadow>) -> Result<bool, Fault> {
        let mut progress = false;
        let mut left = SLICE >> self.warps[warp].schedule.below(SLICE.ilog2().into());
        loop {
            let Some(group) = self.warps[warp].ready() else {
                if self.resolve_collectives(warp)? {
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
            let (shared, counters) = (&self.shared, &mut self.counters);
            let mut watch = Watch { shadow: shadow.as_mut(), who, changes: 0, race: None };
            let before = self.warps[warp].steps;
            let stop = self.warps[warp].run(machine, shared, counters, &mut watch, group, left)?;
            let spent = self.warps[warp].steps - before;
            self.steps += spent;
            left = left.saturating_sub(spent);
            match stop {
                Stop::Switch => {}
                Stop::Barrier(group) => self.arrive_at_barrier(warp, group)?,
                Stop::Collective(group) => self.arrive_at_collective(warp, group)?,
                Stop::Call(group) => self.call(warp, group)?,
                Stop::Stack(group) => self.warps[warp].stack(machine, group)?,
                Stop::Slice => left = 0,
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

    /// The fault of a deadlock: which lanes wait for what.
    fn deadlock(&self) -> Fault {
        let mut message = String::from("deadlock: no thread can go on");
        let mut fault = Fault::new(FaultKind::Deadlock, "");
        for warp in &self.warps {
            for (index, group) in warp.groups.iter().enumerate() {
                let function = warp.function(self.machine, index);
                let span = function.spans[group.pc as usize];
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
