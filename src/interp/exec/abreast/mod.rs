//! Launches of a kernel that go the same ways, abreast: one of them is executed as any launch, with its schedule and all
//! checks, and 32 follow it, each micro-operation in all of them at a time.
//!
//! In: a machine for the launch in front, and what buffers and parameters hold in the 32, the one in front
//! among them. Out: what buffers hold afterwards; or nothing, and then each launch has to be executed by itself.
//! Promised: the same bytes as 32 launches by themselves would leave, none of which would have been a fault. The plan
//! ([`Plan`]) is only made where neither a branch nor an address nor a guard can differ between them, so that the bounds,
//! races, waiting lanes and schedules of the one in front are those of all.
//!
//! `flow`: what micro-operations read and write. `plan`: what differs, and what is to be done. `span`: how long
//! registers are needed. `rows`: the memory.

mod flow;
mod plan;
mod rows;
mod span;

pub use plan::Plan;
pub use rows::Row;

use super::access::Intent;
use super::block::{Block, Progress};
use super::follow::{Executed, Follow, From};
use super::grid::shadow;
use super::machine::Machine;
use crate::interp::counters::{Counters, Tally};
use crate::interp::fault::Fault;
use crate::interp::program::{Destination, FunctionId, Load, MicroOp, Op, Pc, Store};
use crate::interp::registers::{FULL, LANES, Mask, Registers, Slots, lanes};
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

/// The launches behind the one in front.
struct Abreast<'a> {
    plan: &'a Plan,
    code: &'a [MicroOp],
    room: &'a mut Room,
    global: &'a mut [Vec<Row>],
    params: &'a [Row],
    counters: Counters,
    /// They cannot follow.
    lost: bool,
}

/// Runs a launch of one block, and those that follow it; `global` is what they have in each region, `params` in the words
/// of the parameters. Returns whether they could follow.
///
/// # Errors
/// The launch in front faults.
pub fn run(
    machine: &Machine<'_>,
    plan: &Plan,
    room: &mut Room,
    (global, params): (&mut [Vec<Row>], &[Row]),
    (limit, races): (u64, bool),
) -> Result<Option<Counters>, Fault> {
    room.prepare(plan, machine);
    let code = &machine.program.functions[0].code;
    let counters = Counters::default();
    let behind = Abreast { plan, code, room, global, params, counters, lost: false };
    let mut shadow = races.then(|| shadow(machine, races));
    let mut block = Block::new(machine, [0; 3], behind);
    let progress = block.run(limit, &mut shadow)?;
    let done = progress == Progress::Done && !block.counters.lost;
    Ok(done.then_some(block.counters.counters))
}

impl Tally for Abreast<'_> {
    #[inline(always)]
    fn at(&mut self, _: FunctionId, _: Pc) -> &mut Counters {
        &mut self.counters
    }
}

impl Follow for Abreast<'_> {
    const FOLLOWS: bool = true;

    fn executed(&mut self, executed: &Executed<'_>) {
        let plan = self.plan;
        let code = self.code;
        let step = &plan.steps[executed.pc as usize];
        match (step, &code[executed.pc as usize].op) {
            (Step::Nothing, _) => {}
            (Step::Lanes { d, s, fills }, Op::Lanes(op, _)) => {
                let registers = &mut self.room.warps[executed.warp as usize];
                for lane in lanes(executed.lanes) {
                    filled(registers, fills, executed.registers, lane);
                    let at = lane as u32;
                    let slots = Slots {
                        d: d.map(|row| row + at),
                        s: s.map(|Source { row, by }| row + by * at),
                    };
                    (op.run)(registers, &slots, FULL);
                }
            }
            (Step::Same(fills), _) => {
                let registers = &mut self.room.warps[executed.warp as usize];
                for lane in lanes(executed.lanes) {
                    for &Fill { from: (file, slot), row } in fills {
                        let value = executed.registers.get(file, slot, lane);
                        rows::fill(registers, file, row + lane as u32, value);
                    }
                }
            }
            (Step::Load(dests), Op::Load(load)) => self.load(executed, load, dests),
            // (What was stored is told before.)
            (Step::Store { .. }, Op::Store(_)) => {}
            _ => self.lost = true,
        }
    }

    fn stores(&mut self, executed: &Executed<'_>) -> Mask {
        let plan = self.plan;
        let code = self.code;
        match (&plan.steps[executed.pc as usize], &code[executed.pc as usize].op) {
            (Step::Store { sources, fills }, Op::Store(store)) => {
                self.store(executed, store, sources, fills)
            }
            _ => 0,
        }
    }

    fn shuffled(&mut self, warp: u32, parts: &[(Pc, Mask)], from: &[From; LANES]) {
        let mut values = [[0; LANES]; LANES];
        let registers = &mut self.room.warps[warp as usize];
        for &(pc, mask) in parts {
            match self.plan.steps[pc as usize] {
                Step::Shuffle(a, _) => {
                    for lane in lanes(mask) {
                        values[lane] = registers.w32[a as usize + lane];
                    }
                }
                // (What does not differ follows by itself, but not what others wait for that does.)
                Step::Nothing if parts.len() == 1 => return,
                _ => self.lost = true,
            }
        }
        for &(pc, mask) in parts {
            let Step::Shuffle(_, Some(d)) = self.plan.steps[pc as usize] else { continue };
            for lane in lanes(mask) {
                registers.w32[d as usize + lane] = match from[lane] {
                    From::Lane(source) => values[source],
                    From::Nobody(value) => [value; LANES],
                };
            }
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

impl Abreast<'_> {
    fn load(&mut self, executed: &Executed<'_>, load: &Load, dests: &[u32]) {
        let &Executed { warp, lanes: mask, registers: front, spaces, .. } = executed;
        let registers = &mut self.room.warps[warp as usize];
        let addresses = spaces.addresses(front, &load.place);
        let what = (load.place.space, load.align, Intent::Read);
        let read = spaces.parts(what, &addresses, mask, |part, home| {
            let rows = match (part.window.region, home) {
                (Some(region), _) => &self.global[region],
                (None, StateSpace::Shared) => self.room.shared.as_slice(),
                _ => self.params,
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
        self.lost |= read.is_err();
    }

    fn store(
        &mut self,
        executed: &Executed<'_>,
        store: &Store,
        sources: &[Source],
        fills: &[Fill],
    ) -> Mask {
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
                    let row = source.row + source.by * lane as u32;
                    let changed = rows::store(rows, offset, store.bytes, (file, row), registers);
                    changes |= Mask::from(changed) << lane;
                }
            }
            Ok(())
        });
        self.lost |= written.is_err();
        changes
    }
}
