//! Launches of a kernel that go the same ways, abreast: one of them is executed as any launch, with its schedule and all
//! checks, and others follow it, each micro-operation in 32 of them at a time.
//!
//! In: a machine for the launch in front, and what buffers and parameters hold in the others, the one in front
//! among them. Out: what buffers hold afterwards; or nothing, and then each launch has to be executed by itself.
//! Promised: the same bytes as the launches by themselves would leave, none of which would have been a fault. The plan
//! ([`Plan`]) is only made where neither a branch nor an address nor a guard can differ between them, so that the bounds,
//! races, waiting lanes and schedules of the one in front are those of all. Its poison is that of any of them.
//!
//! `flow`: what micro-operations read and write. `plan`: what differs, and what is to be done. `span`: how long
//! registers are needed. `rows`: the memory.

mod flow;
mod plan;
mod rows;
mod span;

pub use plan::Plan;
pub use rows::Row;

use smallvec::SmallVec;

use super::access::Intent;
use super::block::{Block, Progress};
use super::follow::{Executed, Follow, From};
use super::grid::shadow;
use super::machine::Machine;
use crate::interp::counters::{Counters, Tally};
use crate::interp::fault::Fault;
use crate::interp::program::{Destination, FunctionId, Load, MicroOp, Op, Pc, Store};
use crate::interp::registers::{FULL, LANES, Mask, Registers, Slot, Slots, lanes};
use crate::ptx::StateSpace;
use plan::{Fill, Source, Step};

/// Room for registers and shared memory, to be used again.
#[derive(Debug, Default)]
pub struct Room {
    warps: Vec<Registers>,
    shared: Vec<Row>,
}

impl Room {
    /// Makes room for so many warps, as they are at first.
    fn prepare(&mut self, plan: &Plan, machine: &Machine<'_>) {
        let words = if plan.shared { machine.program.layout.shared_bytes.div_ceil(4) } else { 0 };
        self.shared.clear();
        self.shared.resize(words as usize, [0; LANES]);
        let count = machine.warps() as usize;
        if self.warps.len() < count {
            self.warps.resize_with(count, Registers::default);
        }
        let [preds, w32, w64] = plan.rows;
        let frame = &machine.program.functions[0].frame;
        for registers in &mut self.warps[..count] {
            registers.preds.resize(preds.max(registers.preds.len()), 0);
            registers.w32.resize(w32.max(registers.w32.len()), [0; LANES]);
            registers.w64.resize(w64.max(registers.w64.len()), [0; LANES]);
            for &(file, row, value) in &plan.constants {
                rows::fill(registers, file, row, value);
            }
            for &Fill { from: (file, slot), row } in &plan.starts {
                for lane in 0..LANES {
                    let value = frame.first(file, slot, lane);
                    rows::fill(registers, file, row + lane as u32, value);
                }
            }
        }
    }
}

/// What 32 launches have.
#[derive(Debug)]
pub struct Sheet<'a> {
    /// Room for their registers and their shared memory.
    pub room: &'a mut Room,
    /// For each region its words.
    pub global: Vec<Vec<Row>>,
    /// The words of the parameters.
    pub params: Vec<Row>,
}

/// The launches behind the one in front.
struct Abreast<'a, 's> {
    plan: &'a Plan,
    code: &'a [MicroOp],
    sheets: &'a mut [Sheet<'s>],
    counters: Counters,
    /// They cannot follow.
    lost: bool,
}

/// Runs a launch of one block, and those that follow it. Returns its events; none if they could not follow.
///
/// # Errors
/// The launch in front faults.
pub fn run(
    machine: &Machine<'_>,
    plan: &Plan,
    sheets: &mut [Sheet<'_>],
    (limit, races): (u64, bool),
) -> Result<Option<Counters>, Fault> {
    for sheet in &mut *sheets {
        sheet.room.prepare(plan, machine);
    }
    let code = &machine.program.functions[0].code;
    let counters = Counters::default();
    let behind = Abreast { plan, code, sheets, counters, lost: false };
    let mut shadow = races.then(|| shadow(machine, races));
    let mut block = Block::new(machine, [0; 3], behind);
    let progress = block.run(limit, &mut shadow)?;
    let done = progress == Progress::Done && !block.counters.lost;
    Ok(done.then_some(block.counters.counters))
}

impl Tally for Abreast<'_, '_> {
    #[inline(always)]
    fn at(&mut self, _: FunctionId, _: Pc) -> &mut Counters {
        &mut self.counters
    }
}

impl Follow for Abreast<'_, '_> {
    const FOLLOWS: bool = true;

    fn executed(&mut self, executed: &Executed<'_>) {
        let pc = executed.pc as usize;
        let (step, op) = (&self.plan.steps[pc], &self.code[pc].op);
        // (What is stored was told before.)
        if matches!(step, Step::Nothing | Step::Store { .. }) {
            return;
        }
        for sheet in &mut *self.sheets {
            self.lost |= !sheet.follow(executed, step, op);
        }
    }

    fn varies(&self, pc: Pc) -> u8 {
        self.plan.varies[pc as usize]
    }

    fn stores(&mut self, executed: &Executed<'_>) -> Mask {
        let pc = executed.pc as usize;
        let mut changes = 0;
        if let (Step::Store { sources, fills }, Op::Store(store)) =
            (&self.plan.steps[pc], &self.code[pc].op)
        {
            for sheet in &mut *self.sheets {
                match sheet.store(executed, store, sources, fills) {
                    Some(changed) => changes |= changed,
                    None => self.lost = true,
                }
            }
        }
        changes
    }

    fn shuffled(&mut self, warp: u32, parts: &[(Pc, Mask)], from: &[From; LANES]) {
        let steps = parts.iter().map(|&(pc, mask)| (&self.plan.steps[pc as usize], mask));
        let mut moves: SmallVec<[(Slot, Option<Slot>, Mask); 2]> = SmallVec::new();
        for (step, mask) in steps {
            match *step {
                Step::Shuffle(a, d) => moves.push((a, d, mask)),
                // What does not differ follows by itself, unless lanes exchange it for what does.
                Step::Nothing => {}
                _ => self.lost = true,
            }
        }
        if moves.is_empty() {
            return;
        }
        self.lost |= moves.len() < parts.len();
        for sheet in &mut *self.sheets {
            shuffle(&mut sheet.room.warps[warp as usize], &moves, from);
        }
    }
}

/// Moves values between lanes: the rows of values and results, and the lanes.
fn shuffle(registers: &mut Registers, moves: &[(Slot, Option<Slot>, Mask)], from: &[From; LANES]) {
    let mut values = [[0; LANES]; LANES];
    for &(a, _, mask) in moves {
        for lane in lanes(mask) {
            values[lane] = registers.w32[a as usize + lane];
        }
    }
    for &(_, d, mask) in moves {
        let Some(d) = d else { continue };
        for lane in lanes(mask) {
            registers.w32[d as usize + lane] = match from[lane] {
                From::Lane(source) => values[source],
                From::Nobody(value) => [value; LANES],
            };
        }
    }
}

/// Fills rows with what a lane of the launch in front has.
#[inline(always)]
fn filled(registers: &mut Registers, fills: &[Fill], front: &Registers, lane: usize) {
    for &Fill { from: (file, slot), row } in fills {
        rows::fill(registers, file, row, front.get(file, slot, lane));
    }
}

impl Sheet<'_> {
    /// Does what the launch in front has done. Returns whether that was possible.
    fn follow(&mut self, executed: &Executed<'_>, step: &Step, op: &Op) -> bool {
        let registers = &mut self.room.warps[executed.warp as usize];
        match (step, op) {
            (Step::Lanes { d, s, fills }, Op::Lanes(op, _)) => {
                let run = op.run;
                let [s0, s1, s2, s3] = s;
                for lane in lanes(executed.lanes) {
                    if !fills.is_empty() {
                        filled(registers, fills, executed.registers, lane);
                    }
                    let at = lane as u32;
                    let slots = Slots {
                        d: [d[0] + at, d[1] + at],
                        s: [s0.of(at), s1.of(at), s2.of(at), s3.of(at)],
                    };
                    run(registers, &slots, FULL);
                }
                true
            }
            (Step::Same(fills), _) => {
                for lane in lanes(executed.lanes) {
                    for &Fill { from: (file, slot), row } in fills {
                        let value = executed.registers.get(file, slot, lane);
                        rows::fill(registers, file, row + lane as u32, value);
                    }
                }
                true
            }
            (Step::Load(dests), Op::Load(load)) => self.load(executed, load, dests),
            _ => false,
        }
    }

    fn load(&mut self, executed: &Executed<'_>, load: &Load, dests: &[u32]) -> bool {
        let &Executed { warp, lanes: mask, registers: front, spaces, .. } = executed;
        let registers = &mut self.room.warps[warp as usize];
        let addresses = spaces.addresses(front, &load.place);
        let what = (load.place.space, load.align, Intent::Read);
        let read = spaces.parts(what, &addresses, mask, |part, home| {
            let rows = match (part.window.region, home) {
                (Some(region), _) => self.global[region].as_slice(),
                (None, StateSpace::Shared) => self.room.shared.as_slice(),
                _ => self.params.as_slice(),
            };
            for lane in lanes(part.lanes) {
                let dests = load.dests.iter().zip(dests);
                for (index, (dest, &row)) in (0..).zip(dests) {
                    let Some(dest) = dest else { continue };
                    let dest = Destination { slot: row + lane as u32, ..*dest };
                    let offset = part.offsets[lane] + index * u64::from(load.bytes);
                    rows::load(rows, offset, load.bytes, dest, registers);
                }
            }
            Ok(())
        });
        read.is_ok()
    }

    fn store(
        &mut self,
        executed: &Executed<'_>,
        store: &Store,
        sources: &[Source],
        fills: &[Fill],
    ) -> Option<Mask> {
        let mut changes = 0;
        let &Executed { warp, lanes: mask, registers: front, spaces, .. } = executed;
        let registers = &mut self.room.warps[warp as usize];
        let addresses = spaces.addresses(front, &store.place);
        let what = (store.place.space, store.align, Intent::Write);
        let written = spaces.parts(what, &addresses, mask, |part, _| {
            let rows = match part.window.region {
                Some(region) => self.global[region].as_mut_slice(),
                None => self.room.shared.as_mut_slice(),
            };
            for lane in lanes(part.lanes) {
                filled(registers, fills, front, lane);
                let sources = store.sources.iter().zip(sources);
                for (index, (&(file, _), source)) in (0..).zip(sources) {
                    let offset = part.offsets[lane] + index * u64::from(store.bytes);
                    let row = source.of(lane as u32);
                    let changed = rows::store(rows, offset, store.bytes, (file, row), registers);
                    changes |= Mask::from(changed) << lane;
                }
            }
            Ok(())
        });
        written.is_ok().then_some(changes)
    }
}
