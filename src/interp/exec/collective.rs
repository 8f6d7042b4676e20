//! Instructions that lanes of a warp execute together.
//!
//! A member that has not come yet is waited for; one that has ended is not. The lanes may come in
//! different groups and even at different instructions, as long as operation and member mask are
//! the same. A value read from a lane that takes no part (because it has ended, is not a member,
//! or its guard is false) is garbage: reproducible, but never what the reader hoped for.

use super::block::Block;
use super::machine::Machine;
use super::warp::{State, Warp};
use crate::interp::counters::Tally;
use crate::interp::fault::{Fault, FaultKind};
use crate::interp::program::{Collective, CollectiveKind, Op, Reduction, Shuffle};
use crate::interp::registers::{File, LANES, Mask, blend, lanes};

/// The lanes that take part and their operands.
struct Gathered {
    lanes: Mask,
    a: [u64; LANES],
    b: [u32; LANES],
    c: [u32; LANES],
}

/// What they get.
struct Outcome {
    d: [u64; LANES],
    p: Mask,
}

/// What a lane sees in the register of a lane that takes no part.
fn garbage(reader: usize, source: usize) -> u64 {
    let seed = (reader as u64) << 32 | source as u64;
    let mixed = (seed ^ 0x5bd1_e995_9d1c_40c7).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 7
}

impl<C: Tally> Block<'_, C> {
    /// Lets every collective instruction of a warp happen whose members have all come. Returns
    /// whether there was one.
    ///
    /// # Errors
    /// A lane executes it that is not in its own member mask.
    pub fn resolve_collectives(&mut self, warp: usize) -> Result<bool, Fault> {
        let mut any = false;
        'again: loop {
            let warp = &mut self.warps[warp];
            for index in 0..warp.groups.len() {
                if warp.groups[index].state == State::Collective
                    && warp.resolve(self.machine, &mut self.counters, index)?
                {
                    any = true;
                    continue 'again;
                }
            }
            return Ok(any);
        }
    }
}

impl Warp {
    fn collective<'p>(&self, machine: &Machine<'p>, index: usize) -> Option<&'p Collective> {
        let pc = self.groups[index].pc as usize;
        match &self.function(machine, index).code[pc].op {
            Op::Collective(collective) => Some(collective),
            _ => None,
        }
    }

    /// The member mask of each lane of a group.
    fn members(&mut self, collective: &Collective, index: usize, active: Mask) -> [Mask; LANES] {
        let frame = self.groups[index].frame;
        match collective.members {
            Some(slot) => self.registers(frame).w32[slot as usize],
            None => [active; LANES],
        }
    }

    /// Performs the instruction at which a group stands, if all members are there.
    fn resolve(
        &mut self,
        machine: &Machine<'_>,
        counters: &mut impl Tally,
        index: usize,
    ) -> Result<bool, Fault> {
        let Some(collective) = self.collective(machine, index) else { return Ok(false) };
        let active = self.executing(machine, index);
        let members = self.members(collective, index, active);
        let span = self.function(machine, index).spans[self.groups[index].pc as usize];
        // Groups at the same operation whose members overlap take part together.
        let mut present = self.groups[index].mask;
        let mut parts = vec![(index, active)];
        let mut wanted = lanes(active).fold(0, |mask, lane| mask | members[lane]);
        for other in 0..self.groups.len() {
            if other == index || self.groups[other].state != State::Collective {
                continue;
            }
            let Some(theirs) = self.collective(machine, other) else { continue };
            if theirs.kind != collective.kind {
                continue;
            }
            let executing = self.executing(machine, other);
            let masks = self.members(theirs, other, executing);
            let same = lanes(executing).any(|lane| members_agree(&members, active, masks[lane]));
            if same {
                present |= self.groups[other].mask;
                parts.push((other, executing));
                wanted |= lanes(executing).fold(0, |mask, lane| mask | masks[lane]);
            }
        }
        if wanted & self.live & !present != 0 {
            return Ok(false);
        }
        for &(group, executing) in &parts {
            let Some(theirs) = self.collective(machine, group) else { continue };
            let masks = self.members(theirs, group, executing);
            if let Some(lane) = lanes(executing).find(|&lane| masks[lane] >> lane & 1 == 0) {
                let message = format!("lane {lane} is not in its own member mask");
                let fault = Fault::new(FaultKind::Undefined, message).at(span);
                return Err(machine.blame(fault, self.index, 1 << lane));
            }
        }
        self.perform(machine, &parts);
        for &(group, _) in &parts {
            let counters = counters.at(self.function_id(group), self.groups[group].pc);
            match collective.kind {
                CollectiveKind::Shuffle(_) => counters.shuffles += 1,
                CollectiveKind::Sync => {
                    counters.barriers += 1;
                    self.phase = None;
                }
                _ => counters.votes += 1,
            }
            self.groups[group].state = State::Ready;
            self.groups[group].pc += 1;
        }
        Ok(true)
    }

    /// Computes for each set of lanes with one member mask, and writes the results.
    fn perform(&mut self, machine: &Machine<'_>, parts: &[(usize, Mask)]) {
        let mut all = Gathered { lanes: 0, a: [0; LANES], b: [0; LANES], c: [0; LANES] };
        let mut masks = [0; LANES];
        let Some(first) = parts.first().and_then(|&(group, _)| self.collective(machine, group))
        else {
            return;
        };
        for &(group, executing) in parts {
            let Some(collective) = self.collective(machine, group) else { continue };
            let members = self.members(collective, group, executing);
            let frame = self.groups[group].frame;
            let registers = self.registers(frame);
            for lane in lanes(executing) {
                let [a, b, c] = collective.s;
                all.a[lane] = match collective.kind {
                    CollectiveKind::Shuffle(_) | CollectiveKind::Redux(_) => {
                        u64::from(registers.w32[a as usize][lane])
                    }
                    CollectiveKind::All
                    | CollectiveKind::Any
                    | CollectiveKind::Uni
                    | CollectiveKind::Ballot => {
                        let bit = registers.preds[a as usize] >> lane & 1 != 0;
                        u64::from(bit != collective.negated)
                    }
                    CollectiveKind::MatchAny(file) | CollectiveKind::MatchAll(file) => match file {
                        File::W64 => registers.w64[a as usize][lane],
                        _ => u64::from(registers.w32[a as usize][lane]),
                    },
                    CollectiveKind::Sync | CollectiveKind::Elect => 0,
                };
                if let CollectiveKind::Shuffle(_) = collective.kind {
                    all.b[lane] = registers.w32[b as usize][lane];
                    all.c[lane] = registers.w32[c as usize][lane];
                }
                masks[lane] = members[lane];
            }
            all.lanes |= executing;
        }
        let mut outcome = Outcome { d: [0; LANES], p: 0 };
        let mut rest = all.lanes;
        while rest != 0 {
            let mask = masks[rest.trailing_zeros() as usize];
            let set = lanes(rest).filter(|&lane| masks[lane] == mask).fold(0, |m, l| m | 1 << l);
            rest &= !set;
            together(first.kind, &all, set, mask, &mut outcome);
        }
        for &(group, executing) in parts {
            let Some(&Collective { kind, d, p, .. }) = self.collective(machine, group) else {
                continue;
            };
            let frame = self.groups[group].frame;
            let registers = self.registers(frame);
            if let Some(p) = p {
                let row = &mut registers.preds[p as usize];
                *row = *row & !executing | outcome.p & executing;
            }
            let Some(d) = d else { continue };
            if matches!(kind, CollectiveKind::All | CollectiveKind::Any | CollectiveKind::Uni) {
                let bits = lanes(executing).fold(0, |m, lane| m | (outcome.d[lane] as u32) << lane);
                let row = &mut registers.preds[d as usize];
                *row = *row & !executing | bits & executing;
            } else {
                let values = outcome.d.map(|value| value as u32);
                blend(&mut registers.w32[d as usize], &values, executing);
            }
        }
    }
}

fn members_agree(members: &[Mask; LANES], active: Mask, mask: Mask) -> bool {
    lanes(active).any(|lane| members[lane] == mask)
}

/// One operation of the lanes `set`, which name the members `mask`.
fn together(kind: CollectiveKind, all: &Gathered, set: Mask, mask: Mask, outcome: &mut Outcome) {
    let everyone = |outcome: &mut Outcome, value: u64| {
        lanes(set).for_each(|lane| outcome.d[lane] = value);
    };
    let true_lanes = lanes(set).filter(|&lane| all.a[lane] != 0).fold(0, |m, l| m | 1 << l);
    match kind {
        CollectiveKind::Sync => {}
        CollectiveKind::Elect => {
            everyone(outcome, u64::from(set.trailing_zeros()));
            outcome.p |= set & set.wrapping_neg();
        }
        CollectiveKind::All => everyone(outcome, u64::from(true_lanes == set)),
        CollectiveKind::Any => everyone(outcome, u64::from(true_lanes != 0)),
        CollectiveKind::Uni => {
            everyone(outcome, u64::from(true_lanes == 0 || true_lanes == set));
        }
        CollectiveKind::Ballot => everyone(outcome, u64::from(true_lanes)),
        CollectiveKind::MatchAny(_) => {
            for lane in lanes(set) {
                let equal = lanes(set).filter(|&other| all.a[other] == all.a[lane]);
                outcome.d[lane] = equal.fold(0, |m, other| m | 1 << other);
            }
        }
        CollectiveKind::MatchAll(_) => {
            let first = all.a[set.trailing_zeros() as usize];
            let equal = lanes(set).all(|lane| all.a[lane] == first);
            everyone(outcome, if equal { u64::from(mask) } else { 0 });
            outcome.p |= if equal { set } else { 0 };
        }
        CollectiveKind::Redux(operation) => {
            let values = lanes(set).map(|lane| all.a[lane] as u32);
            everyone(outcome, u64::from(reduce(operation, values)));
        }
        CollectiveKind::Shuffle(mode) => {
            for lane in lanes(set) {
                let (source, inside) = shuffle_source(mode, lane, all.b[lane], all.c[lane]);
                let takes_part = set >> source & 1 != 0;
                outcome.d[lane] = if takes_part { all.a[source] } else { garbage(lane, source) };
                outcome.p |= Mask::from(inside) << lane;
            }
        }
    }
}

/// The lane that `shfl` reads, and whether the computed lane was in range.
fn shuffle_source(mode: Shuffle, lane: usize, b: u32, c: u32) -> (usize, bool) {
    let (lane, b, clamp, segment) = (lane as u32, b & 31, c & 31, c >> 8 & 31);
    let limit = lane & segment | clamp & !segment;
    let first = lane & segment;
    let (source, inside) = match mode {
        Shuffle::Up => {
            let source = lane.wrapping_sub(b) as i32;
            (source as u32, source >= limit as i32)
        }
        Shuffle::Down => (lane + b, lane + b <= limit),
        Shuffle::Bfly => (lane ^ b, lane ^ b <= limit),
        Shuffle::Idx => (first | b & !segment, first | b & !segment <= limit),
    };
    if inside { (source as usize, true) } else { (lane as usize, false) }
}

fn reduce(operation: Reduction, values: impl Iterator<Item = u32>) -> u32 {
    let signed = |a: u32, b: u32, max: bool| {
        let (a, b) = (a as i32, b as i32);
        (if max { a.max(b) } else { a.min(b) }) as u32
    };
    let combined = match operation {
        Reduction::Add => values.reduce(u32::wrapping_add),
        Reduction::MinU => values.reduce(u32::min),
        Reduction::MaxU => values.reduce(u32::max),
        Reduction::MinS => values.reduce(|a, b| signed(a, b, false)),
        Reduction::MaxS => values.reduce(|a, b| signed(a, b, true)),
        Reduction::And => values.reduce(|a, b| a & b),
        Reduction::Or => values.reduce(|a, b| a | b),
        Reduction::Xor => values.reduce(|a, b| a ^ b),
        Reduction::Float { max, abs, nan } => {
            let number = |bits: u32| f32::from_bits(if abs { bits & 0x7fff_ffff } else { bits });
            let choose = |a: f32, b: f32| match (nan && (a.is_nan() || b.is_nan()), max) {
                (true, _) => f32::NAN,
                (false, true) => crate::interp::float::maximum32(a, b),
                (false, false) => crate::interp::float::minimum32(a, b),
            };
            values
                .map(number)
                .reduce(choose)
                .map(|value| crate::interp::float::canonical32(value).to_bits())
        }
    };
    combined.unwrap_or_default()
}
