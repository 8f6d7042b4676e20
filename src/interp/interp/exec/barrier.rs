//! The barriers of a block: `bar`, `barrier` (PTX ISA, "Parallel Synchronization and Communication
//! Instructions: bar").
//!
//! Threads arrive one by one, as on devices since Volta: a barrier without a thread count opens when
//! every thread of the block that has not ended has arrived, a barrier with a count when that number of threads has.
//! A warp all of whose lanes have arrived counts as 32 threads even if it is incomplete. Lanes of a
//! warp that waited at one instruction run together behind it.

use super::block::Block;
use super::gates::{CLUSTER, COUNT, Gate};
use super::group::State;
use crate::interp::counters::Tally;
use crate::interp::fault::{Fault, FaultKind};
use crate::interp::memory::Shadow;
use crate::interp::program::{Barrier, BarrierKind, Op};
use crate::interp::registers::{LANES, Mask, Slot};

/// The rule of `.aligned` (PTX ISA, "barrier").
const ALIGNED: &str = "all lanes of a warp must execute this barrier together";

/// The number of the barrier that an instruction names, and the thread count; `value` reads a register.
fn named(barrier: &Barrier, value: impl Fn(Slot) -> u32) -> Result<(u32, Option<u32>), String> {
    let id = barrier.id.map_or(CLUSTER, &value);
    if barrier.id.is_some() && id as usize >= COUNT {
        return Err(format!("there is no barrier {id} among the {COUNT} of a block"));
    }
    let threads = barrier.threads.map(value);
    match threads.filter(|&count| count == 0 || count % LANES as u32 != 0) {
        Some(threads) => Err(format!(
            "a barrier's thread count has to be a multiple of {LANES}, and {threads} is none"
        )),
        None => Ok((id, threads)),
    }
}

impl<C: Tally> Block<'_, C> {
    fn barrier(&self, warp: usize, group: usize) -> Option<&Barrier> {
        let pc = self.warps[warp].groups[group].pc;
        match &self.warps[warp].function(self.machine, group).code.get(pc)?.op {
            Op::Barrier(barrier) => Some(barrier),
            _ => None,
        }
    }

    /// Lets a group arrive that has come to a barrier instruction.
    pub(super) fn arrive_at_barrier(
        &mut self,
        warp: usize,
        index: usize,
        mut shadow: Option<&mut Shadow>,
    ) -> Result<(), Fault> {
        let machine = self.machine;
        let group = self.warps[warp].groups[index].clone();
        let function = self.warps[warp].function(machine, index);
        let micro = &function.code[group.pc];
        let Op::Barrier(barrier) = &micro.op else { return Ok(()) };
        let span = function.spans[group.pc];
        let lanes = self.warps[warp].executing(machine, index);
        let live = self.warps[warp].live;
        let registers = self.warps[warp].registers(group.frame);
        let first = lanes.trailing_zeros() as usize;
        let fault = |message: String| {
            let fault = Fault::new(FaultKind::Undefined, message).at(span);
            Err(machine.blame(fault, warp as u32, lanes))
        };
        let (id, threads) = match named(barrier, |slot| registers.w32[slot][first]) {
            Ok(named) => named,
            Err(message) => return fault(message),
        };
        let (waits, vote) = match barrier.kind {
            BarrierKind::Sync => (true, None),
            BarrierKind::Arrive => (false, None),
            BarrierKind::Popc { p, negated, .. }
            | BarrierKind::And { p, negated, .. }
            | BarrierKind::Or { p, negated, .. } => {
                let mask = registers.preds[p];
                (true, Some(if negated { !mask } else { mask } & lanes))
            }
        };
        self.counters.at(self.warps[warp].function_id(index), group.pc).barriers += 1;
        let warps = self.warps.len();
        self.barriers.gates.resize(COUNT + 1, Gate::default());
        let gate = &mut self.barriers.gates[id as usize];
        if gate.count > 0 && gate.expected != threads {
            return fault(format!("threads arrive at barrier {id} with different thread counts"));
        }
        gate.arrived.resize(warps, 0);
        gate.waiting.resize(warps, 0);
        gate.expected = threads;
        gate.arrive(warp, lanes, live, vote);
        if waits {
            gate.waiting[warp] |= lanes;
        }
        if let Some(shadow) = shadow.as_deref_mut()
            && threads.is_some()
        {
            self.note_arrival(shadow, (warp, lanes), id);
        }
        let warp = &mut self.warps[warp];
        if !waits {
            warp.groups[index].pc = group.pc.next();
        } else if lanes == group.mask {
            warp.groups[index].state = State::Barrier(id);
        } else if barrier.aligned {
            let left = group.mask & !lanes;
            return fault(format!("{ALIGNED}; its guard leaves out the lanes {left:#010x}"));
        } else {
            // The lanes that the guard leaves out go on and meet the others behind the barrier.
            warp.diverge(
                machine,
                index,
                group.pc.next(),
                &[(group.mask & !lanes, group.pc.next()), (lanes, group.pc)],
            );
            if let Some(waiting) = warp.groups.last_mut() {
                waiting.state = State::Barrier(id);
            }
        }
        self.check_alignment(id)?;
        self.release_barriers(shadow);
        Ok(())
    }

    /// Lanes arrive at a barrier, perhaps not one of the whole block: their accesses so far happen before the later
    /// accesses of the lanes that wait there.
    fn note_arrival(&mut self, shadow: &mut Shadow, (warp, lanes): (usize, Mask), id: u32) {
        let mut who = self.accessor(warp, shadow);
        shadow.arrive(&mut who, (lanes, lanes == self.warps[warp].live), id);
        self.warps[warp].phase = Some(who.phase);
    }

    /// Checks that the lanes of each warp which wait at a barrier wait at the same instruction, where that is aligned.
    fn check_alignment(&self, id: u32) -> Result<(), Fault> {
        for (number, warp) in self.warps.iter().enumerate() {
            let mut first: Option<usize> = None;
            for index in 0..warp.groups.len() {
                let aligned = self.barrier(number, index).is_some_and(|barrier| barrier.aligned);
                if warp.groups[index].state != State::Barrier(id) || !aligned {
                    continue;
                }
                let Some(other) = first.replace(index) else { continue };
                let place = |index: usize| (warp.function_id(index), warp.groups[index].pc);
                if place(index) != place(other) {
                    let lanes = warp.groups[other].mask;
                    let message = format!("{ALIGNED}; the lanes {lanes:#010x} wait at another one");
                    return Err(self.misaligned(number, index, message));
                }
            }
        }
        Ok(())
    }

    /// The fault of a warp some of whose lanes wait at an aligned barrier, while all its others have branched past it
    /// and wait for them where the paths meet. Lanes that go from there to the end of the kernel count as ended; where
    /// lanes meet by chance, nothing is said.
    pub(super) fn divergent_barrier(&self) -> Option<Fault> {
        for (number, warp) in self.warps.iter().enumerate().filter(|(_, w)| !w.schedule.is_random())
        {
            let waits = |index: &usize| {
                matches!(warp.groups[*index].state, State::Barrier(_))
                    && self.barrier(number, *index).is_some_and(|barrier| barrier.aligned)
            };
            let all: Vec<usize> = (0..warp.groups.len()).collect();
            let Some(&index) = all.first().filter(|_| all.iter().all(waits)) else { continue };
            let met = warp.joins.iter().flatten().filter(|join| !warp.ends(self.machine, join));
            let others = met.fold(0, |lanes, join| lanes | join.arrived);
            if others != 0 {
                let message = format!("{ALIGNED}; the lanes {others:#010x} have branched past it");
                return Some(self.misaligned(number, index, message));
            }
        }
        None
    }

    fn misaligned(&self, warp: usize, index: usize, message: String) -> Fault {
        let (own, machine) = (&self.warps[warp], self.machine);
        let group = &own.groups[index];
        let span = own.function(machine, index).spans[group.pc];
        let fault = Fault::new(FaultKind::Undefined, message).at(span);
        machine.blame(fault, warp as u32, group.mask)
    }

    /// Opens every barrier that has been reached by all whom it waits for. Returns whether there was
    /// one. A barrier without a thread count, or at which all threads of the block wait, orders them all; any other one
    /// orders what the threads that have arrived did in front of it before what those do that wait at it.
    pub(super) fn release_barriers(&mut self, mut shadow: Option<&mut Shadow>) -> bool {
        let mut any = false;
        for id in 0..self.barriers.gates.len() {
            let gate = &self.barriers.gates[id];
            let complete = match gate.expected {
                Some(threads) => gate.count >= threads,
                None => self
                    .warps
                    .iter()
                    .zip(&gate.arrived)
                    .all(|(warp, &arrived)| warp.live & !arrived == 0),
            };
            if gate.count == 0 || !complete {
                continue;
            }
            let gate = std::mem::take(&mut self.barriers.gates[id]);
            any = true;
            let waiting: u32 = gate.waiting.iter().map(|lanes| lanes.count_ones()).sum();
            if gate.expected.is_none() || waiting == self.machine.threads() {
                self.epoch += 1;
                self.warps.iter_mut().for_each(|warp| warp.phase = None);
            } else if let Some(shadow) = shadow.as_deref_mut() {
                shadow.open(self.machine.number(self.id), id as u32, &gate.waiting);
            }
            for warp in 0..self.warps.len() {
                let mut passed = (0, Vec::new());
                for index in 0..self.warps[warp].groups.len() {
                    if self.warps[warp].groups[index].state == State::Barrier(id as u32) {
                        self.pass(warp, index, &gate);
                        let group = &self.warps[warp].groups[index];
                        passed.0 |= group.mask;
                        passed.1.push((group.frame, group.pc));
                    }
                }
                // Lanes that have waited together run together; see `unite` for the exceptions.
                passed.1.dedup();
                for (frame, pc) in passed.1 {
                    self.warps[warp].unite(self.machine, frame, pc, passed.0);
                }
            }
        }
        any
    }

    /// Writes a reduction's result and lets a group go on.
    fn pass(&mut self, warp: usize, index: usize, gate: &Gate) {
        let kind = self.barrier(warp, index).map(|barrier| barrier.kind);
        let warp = &mut self.warps[warp];
        let group = &mut warp.groups[index];
        group.state = State::Ready;
        group.pc = group.pc.next();
        let (mask, frame) = (group.mask, group.frame);
        let registers = warp.registers(frame);
        let (d, value) = match kind {
            Some(BarrierKind::Popc { d, .. }) => {
                let row = &mut registers.w32[d];
                crate::interp::registers::blend(row, &[gate.votes; LANES], mask);
                return;
            }
            Some(BarrierKind::And { d, .. }) => (d, gate.votes == gate.voters),
            Some(BarrierKind::Or { d, .. }) => (d, gate.votes > 0),
            _ => return,
        };
        let row = &mut registers.preds[d];
        *row = if value { *row | mask } else { *row & !mask };
    }
}
