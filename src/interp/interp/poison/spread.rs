//! What operations make of poison in their sources.
//!
//! In: an operation that is about to be executed, its registers, and their poison. Out: the poison of its destinations.
//! An operation whose result bits depend on single bits of its sources is tried with the poisoned bits of each source all
//! 0 and all 1, in every combination; the bits of the result that differ are poisoned, and so `and` with 0 discards poison
//! and a shift moves it; `integer` does the like for arithmetic. Results of others are poisoned in full if a source is poisoned at all.

use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;

use super::{EVERYONE, Poison, SCRATCH, Source, whole};
use crate::interp::program::rare::{Cell, CrossLane, Scalar};
use crate::interp::registers::{
    Dependence, File, LANES, Mask, Registers, Slot, Slots, WarpOp, lanes,
};

/// The 16-bit half of a register.
const HALF: u64 = 0xffff;

impl Poison {
    /// A warp-wide operation in the lanes `mask`.
    pub(crate) fn lanes_op(
        &mut self,
        (op, slots): (&WarpOp, &Slots),
        mask: Mask,
        registers: &Registers,
    ) {
        let cells = |files: &[Option<File>], slots: &[Slot]| {
            let pairs = files.iter().zip(slots);
            pairs.filter_map(|(file, &slot)| Some(((*file)?, slot))).collect::<Vec<Cell>>()
        };
        let poisoned =
            op.s.iter().zip(&slots.s).fold(0, |all, (file, &slot)| {
                file.map_or(all, |file| all | self.lanes((file, slot)))
            }) & mask;
        if poisoned == 0 {
            for (file, &slot) in op.d.iter().zip(&slots.d) {
                if let Some(file) = *file {
                    self.clear((file, slot), mask);
                }
            }
            return;
        }
        let (sources, destinations) = (cells(&op.s, &slots.s), cells(&op.d, &slots.d));
        let mut found = vec![[(0, Source::default()); LANES]; destinations.len()];
        for lane in lanes(poisoned) {
            let source = self.first(sources.iter().copied(), lane).unwrap_or_default();
            for (found, &(file, _)) in found.iter_mut().zip(&destinations) {
                found[lane] = (whole(file), source);
            }
        }
        match op.dependence {
            Dependence::Whole => {}
            Dependence::Sum
            | Dependence::Product
            | Dependence::HighProduct
            | Dependence::Equality
            | Dependence::Monotone(_) => {
                let bits = self.integers((op, slots), &sources, poisoned, registers);
                for lane in lanes(poisoned) {
                    found[0][lane].0 &= bits[lane];
                }
            }
            Dependence::Halves => {
                for lane in lanes(poisoned) {
                    let any = sources.iter().fold(0, |any, &cell| any | self.bits(cell, lane));
                    let half =
                        |shift: u32| if any >> shift & HALF == 0 { 0 } else { HALF << shift };
                    found[0][lane].0 = half(0) | half(16);
                }
            }
            Dependence::Bits(count) => {
                let (data, others) = sources.split_at(usize::from(count).min(sources.len()));
                let chosen = others.iter().fold(0, |all, &cell| all | self.lanes(cell));
                let exact = poisoned & !chosen;
                let differing = self.tried((op, slots), data, (exact, 0), registers);
                for lane in lanes(exact) {
                    found[0][lane].0 = differing[lane];
                }
            }
        }
        for (&cell, found) in destinations.iter().zip(&found) {
            self.replace(cell, mask, found);
        }
    }

    /// The bits of an operation's result that differ as the poison in `data`, its first sources, is all least or all
    /// greatest. The bits `negative` of a number count as negative.
    pub(super) fn tried(
        &mut self,
        (op, slots): (&WarpOp, &Slots),
        data: &[Cell],
        (mask, negative): (Mask, u64),
        registers: &Registers,
    ) -> [u64; LANES] {
        let poisoned = data.iter().filter(|&&cell| self.lanes(cell) & mask != 0);
        let poisoned: IndexSet<Cell, FxBuildHasher> = poisoned.copied().collect();
        let mut place = Slots::default();
        let mut copied: Vec<(Cell, Slot)> = Vec::new();
        for (at, file) in op.s.iter().enumerate() {
            let Some(file) = *file else { continue };
            let cell = (file, slots.s[at]);
            let known = copied.iter().find(|(other, _)| *other == cell).map(|found| found.1);
            place.s[at] = known.unwrap_or(SCRATCH[at]);
            if known.is_none() {
                copied.push((cell, SCRATCH[at]));
                for lane in 0..LANES {
                    let value = registers.get(file, cell.1, lane);
                    self.scratch.set(file, SCRATCH[at], lane, value);
                }
            }
        }
        place.d = [SCRATCH[4], SCRATCH[5]];
        let result = (op.d[0].unwrap_or(File::W32), place.d[0]);
        let mut first = [0; LANES];
        let mut differing = [0; LANES];
        for choice in 0..1_u32 << poisoned.len() {
            for (number, &cell) in poisoned.iter().enumerate() {
                let Some(&(_, slot)) = copied.iter().find(|(other, _)| *other == cell) else {
                    continue;
                };
                for lane in lanes(mask) {
                    let bits = self.bits(cell, lane);
                    let value = self.scratch.get(cell.0, slot, lane);
                    let greatest = choice >> number & 1 != 0;
                    let chosen = if greatest { bits & !negative } else { bits & negative };
                    let value = value & !bits | chosen;
                    self.scratch.set(cell.0, slot, lane, value);
                }
            }
            (op.run)(&mut self.scratch, &place, EVERYONE);
            for lane in lanes(mask) {
                let value = self.scratch.get(result.0, result.1, lane);
                if choice == 0 {
                    first[lane] = value;
                } else {
                    differing[lane] |= value ^ first[lane];
                }
            }
        }
        differing
    }

    /// An operation that is performed lane by lane.
    pub(crate) fn scalar(&mut self, scalar: &Scalar, mask: Mask) {
        let mut found = [(0, Source::default()); LANES];
        for (lane, found) in found.iter_mut().enumerate() {
            if let Some(source) = self.first(scalar.s.iter().copied(), lane) {
                *found = (whole(scalar.d.0), source);
            }
        }
        self.replace(scalar.d, mask, &found);
    }

    /// An operation that mixes the registers of all lanes. It is tried with the poisoned bits all 0, all 1 and as they
    /// are: ones are NaN in most floating-point formats, so an element that depends on such a number differs.
    pub(crate) fn cross_lane(&mut self, cross_lane: &CrossLane, registers: &mut Registers) {
        let poisoned = cross_lane.sources.iter().any(|&cell| self.lanes(cell) != 0);
        if !poisoned {
            cross_lane.results.iter().for_each(|&cell| self.clear(cell, EVERYONE));
            return;
        }
        let row = |registers: &Registers, (file, slot): Cell| -> [u64; LANES] {
            std::array::from_fn(|lane| registers.get(file, slot, lane))
        };
        let rows = |registers: &Registers, cells: &[Cell]| -> Vec<[u64; LANES]> {
            cells.iter().map(|&cell| row(registers, cell)).collect()
        };
        let sources = rows(registers, &cross_lane.sources);
        let results = rows(registers, &cross_lane.results);
        let put = |registers: &mut Registers, cells: &[Cell], values: &[[u64; LANES]]| {
            for (&(file, slot), values) in cells.iter().zip(values) {
                (0..LANES).for_each(|lane| registers.set(file, slot, lane, values[lane]));
            }
        };
        let mut outcomes = Vec::new();
        for pattern in [Some(0), Some(u64::MAX), None] {
            put(registers, &cross_lane.results, &results);
            put(registers, &cross_lane.sources, &sources);
            if let Some(pattern) = pattern {
                for &cell in &cross_lane.sources {
                    for lane in lanes(self.lanes(cell)) {
                        let bits = self.bits(cell, lane);
                        let value = registers.get(cell.0, cell.1, lane) & !bits | pattern & bits;
                        registers.set(cell.0, cell.1, lane, value);
                    }
                }
            }
            (cross_lane.run)(registers);
            outcomes.push(rows(registers, &cross_lane.results));
        }
        put(registers, &cross_lane.results, &results);
        put(registers, &cross_lane.sources, &sources);
        let source = cross_lane.sources.iter().find_map(|&cell| {
            let lane = lanes(self.lanes(cell)).next()?;
            Some(self.source(cell, lane))
        });
        for (at, &cell) in cross_lane.results.iter().enumerate() {
            let found = std::array::from_fn(|lane| {
                let differs = |other: usize| outcomes[0][at][lane] ^ outcomes[other][at][lane];
                (differs(1) | differs(2), source.unwrap_or_default())
            });
            self.replace(cell, EVERYONE, &found);
        }
    }
}
