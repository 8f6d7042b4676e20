//! Instructions that lanes of a warp execute together.
//!
//! Each executing lane waits for the members that its own mask names, until all of them that have
//! not ended execute the same operation with the same mask (PTX ISA, "bar.warp.sync", "shfl.sync");
//! lanes whose guard is false do not wait. The lanes may come in different groups and even at
//! different instructions. Those that come to one instruction run together from there on, as behind
//! the `WARPSYNC` of machine code. A value read from a lane that takes no part (because it has ended,
//! is not a member, or its guard is false) is garbage: reproducible, but never what the reader hoped
//! for.

use super::block::Block;
use super::group::{Group, State};
use super::machine::Machine;
use super::warp::Warp;
use crate::interp::counters::Tally;
use crate::interp::fault::{Fault, FaultKind};
use crate::interp::program::{Collective, CollectiveKind, Op, Pc, Reduction, Shuffle};
use crate::interp::registers::{File, LANES, Mask, Registers, Slot, blend, lanes};

/// The lanes that take part and their operands.
pub(super) struct Gathered {
    pub lanes: Mask,
    pub a: [u64; LANES],
    pub b: [u32; LANES],
    pub c: [u32; LANES],
}

/// The results of the lanes.
pub(super) struct Outcome {
    d: [u64; LANES],
    p: Mask,
    /// By lane, the source lane that takes no part in the operation, if the lane reads from such a one.
    pub absent: [Option<u8>; LANES],
}

/// The value that a lane reads from a lane that takes no part.
fn garbage(reader: usize, source: usize) -> u64 {
    let seed = (reader as u64) << 32 | source as u64;
    let mixed = (seed ^ 0x5bd1_e995_9d1c_40c7).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 31).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 7
}

impl<C: Tally> Block<'_, C> {
    /// Lets a group arrive that has come to an instruction which lanes of its warp execute together.
    ///
    /// # Errors
    /// A lane executes the instruction that is not in its own member mask.
    pub(super) fn arrive_at_collective(&mut self, warp: usize, index: usize) -> Result<(), Fault> {
        let machine = self.machine;
        let warp = &mut self.warps[warp];
        let Some(collective) = warp.collective(machine, index) else {
            warp.arrive_aligned(machine, index);
            return Ok(());
        };
        let active = warp.executing(machine, index);
        let Group { pc, mask, .. } = warp.groups[index];
        let members = warp.members(collective, index, active);
        // Nearly always all lanes name the same members, and all of these are here.
        let named = members[active.trailing_zeros() as usize % LANES];
        let differ = |lane: usize| (members[lane] ^ named) & (active >> lane & 1).wrapping_neg();
        let alike = (0..LANES).fold(0, |any, lane| any | differ(lane)) == 0;
        if alike && active & !named == 0 && named & warp.live & !active == 0 {
            warp.perform(machine, &mut self.counters, &[(index, active)]);
            warp.groups[index].pc = pc.next();
            return Ok(());
        }
        if let Some(lane) = lanes(active).find(|&lane| members[lane] >> lane & 1 == 0) {
            let message = format!("lane {lane} is not in its own member mask");
            let span = warp.function(machine, index).spans[pc];
            let fault = Fault::new(FaultKind::Undefined, message).at(span);
            return Err(machine.blame(fault, warp.index, 1 << lane));
        }
        if active == mask {
            warp.groups[index].state = State::Collective;
        } else {
            // The lanes whose guard is false do not wait; behind the instruction they meet those that
            // do.
            let next = pc.next();
            warp.diverge(machine, index, next, &[(mask & !active, next), (active, pc)]);
            if let Some(waiting) = warp.groups.last_mut() {
                waiting.state = State::Collective;
            }
        }
        warp.resolve_collectives(machine, &mut self.counters);
        Ok(())
    }

    /// Lets every collective instruction of a warp happen whose members have all come. Returns whether
    /// there was one.
    pub(super) fn resolve_collectives(&mut self, warp: usize) -> bool {
        self.warps[warp].resolve_collectives(self.machine, &mut self.counters)
    }
}

/// The sets of lanes that name the same members.
fn sets(all: Mask, members: &[Mask; LANES]) -> impl Iterator<Item = Mask> {
    let mut rest = all;
    std::iter::from_fn(move || {
        let first = lanes(rest).next()?;
        let same = lanes(rest).filter(|&lane| members[lane] == members[first]);
        let set = same.fold(0, |set, lane| set | 1 << lane);
        rest &= !set;
        Some(set)
    })
}

impl Warp {
    pub(super) fn collective<'p>(
        &self,
        machine: &Machine<'p>,
        index: usize,
    ) -> Option<&'p Collective> {
        let pc = self.groups[index].pc;
        match &self.function(machine, index).code[pc].op {
            Op::Collective(collective) => Some(collective),
            _ => None,
        }
    }

    /// The member mask of each lane of a group.
    fn members(&mut self, collective: &Collective, index: usize, active: Mask) -> [Mask; LANES] {
        let frame = self.groups[index].frame;
        match collective.members {
            Some(slot) => self.registers(frame).w32[slot],
            None => [active; LANES],
        }
    }

    fn resolve_collectives(&mut self, machine: &Machine<'_>, counters: &mut impl Tally) -> bool {
        let mut any = false;
        while let Some(parts) = self.complete_set(machine) {
            any = true;
            self.perform(machine, counters, &parts);
            self.go_on(machine, parts);
        }
        any
    }

    /// The groups of waiting lanes whose members have all come, each with those of its lanes.
    fn complete_set(&mut self, machine: &Machine<'_>) -> Option<Vec<(usize, Mask)>> {
        let mut waiting: Vec<(usize, CollectiveKind, [Mask; LANES])> = Vec::new();
        for index in 0..self.groups.len() {
            if self.groups[index].state == State::Collective
                && let Some(collective) = self.collective(machine, index)
            {
                let mask = self.groups[index].mask;
                waiting.push((index, collective.kind, self.members(collective, index, mask)));
            }
        }
        for &(index, kind, ref members) in &waiting {
            for set in sets(self.groups[index].mask, members) {
                let wanted = members[set.trailing_zeros() as usize];
                let parts: Vec<(usize, Mask)> = waiting
                    .iter()
                    .filter(|(_, other, _)| *other == kind)
                    .map(|&(index, _, ref theirs)| {
                        let all = self.groups[index].mask;
                        let same = lanes(all).filter(|&lane| theirs[lane] == wanted);
                        (index, same.fold(0, |set, lane| set | 1 << lane))
                    })
                    .filter(|&(_, set)| set != 0)
                    .collect();
                let present = parts.iter().fold(0, |present, &(_, set)| present | set);
                if wanted & self.live & !present == 0 {
                    return Some(parts);
                }
            }
        }
        None
    }

    /// Lets lanes go on behind the instruction that they have executed together.
    fn go_on(&mut self, machine: &Machine<'_>, mut parts: Vec<(usize, Mask)>) {
        let all = parts.iter().fold(0, |all, &(_, set)| all | set);
        parts.sort_unstable_by_key(|&(index, _)| std::cmp::Reverse(index));
        let mut places: Vec<(usize, Pc)> = Vec::new();
        for (index, set) in parts {
            let Group { pc, mask, frame, .. } = self.groups[index];
            if !places.contains(&(frame, pc.next())) {
                places.push((frame, pc.next()));
            }
            if set == mask {
                self.groups[index].state = State::Ready;
                self.groups[index].pc = pc.next();
                continue;
            }
            // Lanes with other members still wait.
            let next = pc.next();
            self.diverge(machine, index, next, &[(set, next), (mask & !set, pc)]);
            if let Some(waiting) = self.groups.last_mut() {
                waiting.state = State::Collective;
            }
        }
        for (frame, pc) in places {
            self.unite(machine, frame, pc, all);
        }
    }

    /// Lets a group arrive at an instruction that all 32 lanes must execute together.
    fn arrive_aligned(&mut self, machine: &Machine<'_>, index: usize) {
        self.groups[index].state = State::Aligned;
        let Group { pc, frame, .. } = self.groups[index];
        let come =
            |group: &Group| group.state == State::Aligned && group.pc == pc && group.frame == frame;
        let all = self.groups.iter().filter(|group| come(group)).fold(0, |all, g| all | g.mask);
        if all == self.live {
            let waiting = self.groups.iter_mut().filter(|group| come(group));
            waiting.for_each(|group| group.state = State::Ready);
            self.merge(machine, frame, pc, all);
        }
    }

    /// Computes the operation for one set of lanes with one member mask, and writes the results.
    fn perform<T: Tally>(
        &mut self,
        machine: &Machine<'_>,
        counters: &mut T,
        parts: &[(usize, Mask)],
    ) {
        let Some(first) = parts.first().and_then(|&(group, _)| self.collective(machine, group))
        else {
            return;
        };
        let mut all = Gathered { lanes: 0, a: [0; LANES], b: [0; LANES], c: [0; LANES] };
        let mut wanted = 0;
        for &(group, executing) in parts {
            let Some(collective) = self.collective(machine, group) else { continue };
            let counters = counters.at(self.function_id(group), self.groups[group].pc);
            self.gathered = true;
            match collective.kind {
                CollectiveKind::Shuffle(_) => counters.shuffles += 1,
                CollectiveKind::Sync => {
                    counters.barriers += 1;
                    self.phase = None;
                }
                _ => counters.votes += 1,
            }
            let members = self.members(collective, group, executing);
            if executing != 0 {
                wanted = members[executing.ilog2() as usize];
            }
            let frame = self.groups[group].frame;
            all.gather(collective, self.registers(frame), executing);
        }
        let mut outcome = Outcome { d: [0; LANES], p: 0, absent: [None; LANES] };
        together(first.kind, &all, all.lanes, wanted, &mut outcome);
        if machine.recorder.is_some() {
            outcome.absent = [None; LANES];
        }
        if machine.follows_poison {
            self.spread_poison(machine, parts, first.kind, &all, &outcome);
        }
        for &(group, executing) in parts {
            let Some(collective) = self.collective(machine, group) else { continue };
            let frame = self.groups[group].frame;
            outcome.deliver(collective, self.registers(frame), executing);
        }
    }
}

impl Gathered {
    /// Adds the lanes `executing` with their operands.
    fn gather(&mut self, collective: &Collective, registers: &Registers, executing: Mask) {
        let [a, b, c] = collective.s;
        self.lanes |= executing;
        if let CollectiveKind::Shuffle(_) = collective.kind {
            let row = |slot: Slot| &registers.w32[slot];
            blend(&mut self.b, row(b), executing);
            blend(&mut self.c, row(c), executing);
            for (lane, (own, a)) in self.a.iter_mut().zip(row(a)).enumerate() {
                *own = if executing & 1 << lane != 0 { u64::from(*a) } else { *own };
            }
            return;
        }
        for lane in lanes(executing) {
            self.a[lane] = match collective.kind {
                CollectiveKind::Shuffle(_) | CollectiveKind::Redux(_) => {
                    u64::from(registers.w32[a][lane])
                }
                CollectiveKind::All
                | CollectiveKind::Any
                | CollectiveKind::Uni
                | CollectiveKind::Ballot => {
                    let bit = registers.preds[a] >> lane & 1 != 0;
                    u64::from(bit != collective.negated)
                }
                CollectiveKind::MatchAny(file) | CollectiveKind::MatchAll(file) => match file {
                    File::W64 => registers.w64[a][lane],
                    _ => u64::from(registers.w32[a][lane]),
                },
                CollectiveKind::Sync | CollectiveKind::Elect => 0,
            };
        }
    }
}

impl Outcome {
    /// Writes the results of the lanes `executing` into their registers.
    fn deliver(&self, collective: &Collective, registers: &mut Registers, executing: Mask) {
        let &Collective { kind, d, p, .. } = collective;
        if let Some(p) = p {
            let row = &mut registers.preds[p];
            *row = *row & !executing | self.p & executing;
        }
        let Some(d) = d else { return };
        if matches!(kind, CollectiveKind::All | CollectiveKind::Any | CollectiveKind::Uni) {
            let bits = lanes(executing).fold(0, |m, lane| m | (self.d[lane] as u32) << lane);
            let row = &mut registers.preds[d];
            *row = *row & !executing | bits & executing;
        } else {
            let row = &mut registers.w32[d];
            for (lane, (own, value)) in row.iter_mut().zip(&self.d).enumerate() {
                *own = if executing & 1 << lane != 0 { *value as u32 } else { *own };
            }
        }
    }
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
            let mut sources = [(0, false); LANES];
            for (lane, source) in sources.iter_mut().enumerate() {
                *source = shuffle_source(mode, lane, all.b[lane], all.c[lane]);
            }
            for lane in lanes(set) {
                let (source, inside) = sources[lane];
                let takes_part = set >> source & 1 != 0;
                if !takes_part {
                    outcome.absent[lane] = Some(source as u8);
                }
                outcome.d[lane] = if takes_part { all.a[source] } else { garbage(lane, source) };
                outcome.p |= Mask::from(inside) << lane;
            }
        }
    }
}

/// The lane that `shfl` reads, and whether the computed lane was in range.
pub(super) fn shuffle_source(mode: Shuffle, lane: usize, b: u32, c: u32) -> (usize, bool) {
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

/// The values of lanes combined.
pub(super) fn reduce(operation: Reduction, values: impl Iterator<Item = u32>) -> u32 {
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
                (false, true) => crate::float::maximum32(a, b),
                (false, false) => crate::float::minimum32(a, b),
            };
            values
                .map(number)
                .reduce(choose)
                .map(|value| crate::float::canonical32(value).to_bits())
        }
    };
    combined.unwrap_or_default()
}
