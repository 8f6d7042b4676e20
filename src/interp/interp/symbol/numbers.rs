//! Operations on numbers that fill registers, in all lanes at once: sums, products and copies of symbols.

use super::Symbols;
use super::lanes::fills;
use super::value::Kind;
use super::world::State;
use crate::algebra::{Algebra, Elements, Format, Meaning, Real};
use crate::interp::poison::{Poison, Source};
use crate::interp::program::rare::Cell;
use crate::interp::registers::{FULL, File, LANES, Mask, Slot, Slots, WarpOp, lanes};
use smallvec::SmallVec;

impl Poison {
    /// Computes an operation in the lanes where all sources are numbers that are symbols, if it is a plain one, and writes the
    /// results. Returns these lanes.
    pub(super) fn numbers_of_lanes(
        &mut self,
        (op, slots): (&WarpOp, &Slots),
        mask: Mask,
        state: &mut State,
    ) -> Mask {
        let (Some(file), None, Some(symbols)) = (op.d[0], op.d[1], &mut self.symbols) else {
            return 0;
        };
        let d = (file, slots.d[0]);
        if let (Meaning::Convert { from: from @ (Format::F16 | Format::Bf16), to, .. }, true) =
            (op.meaning, matches!(state.algebra, Algebra::Reals(_)))
        {
            return if fills(file, to) {
                self.widened((d, to), (slots.s[0], from), mask)
            } else {
                0
            };
        }
        let cells = op.s.iter().zip(slots.s).filter_map(|(file, slot)| Some(((*file)?, slot)));
        let cells: SmallVec<[Cell; 4]> = cells.collect();
        let format = match op.meaning {
            Meaning::Real(Real::Add | Real::Mul | Real::Fma, format, _) => Some(format),
            Meaning::Copy => symbols.plane(cells[0]).and_then(|plane| plane.format()),
            _ => None,
        };
        let Some(format) = format.filter(|&format| fills(file, format)) else { return 0 };
        let poison = [&self.lanes[0], &self.lanes[1], &self.lanes[2]];
        let Symbols { planes, row, .. } = &mut **symbols;
        let mut operands: SmallVec<[&Elements<LANES>; 4]> = SmallVec::new();
        let mut mask = mask;
        for (file, slot) in cells {
            let at = super::place(file).0;
            let Some(plane) = &planes[at][slot] else { return 0 };
            mask &= poison[at][slot] & plane.whole(format) as Mask;
            operands.push(plane.numbers());
        }
        if mask == 0 {
            return 0;
        }
        match op.meaning {
            Meaning::Real(real, ..) => {
                mask = state.algebra.apply_all(real, &operands, (mask.into(), row)) as Mask;
            }
            _ => row.copy(mask.into(), operands[0]),
        }
        drop(operands);
        self.put_row(d, mask, format, None);
        mask
    }

    /// Writes numbers of 16 bits in a wider format, which are the same real numbers. Returns the lanes that hold some.
    fn widened(
        &mut self,
        (d, to): (Cell, Format),
        (slot, from): (Slot, Format),
        mask: Mask,
    ) -> Mask {
        let Some(symbols) = &mut self.symbols else { return 0 };
        let Symbols { planes, row, .. } = &mut **symbols;
        let Some(plane) = &planes[super::place(File::W32).0][slot] else { return 0 };
        let mut found = 0;
        for lane in lanes(mask) {
            let half = plane.part(lane, 0);
            let is_whole = self.bits.w32[slot][lane] & 0xffff == 0xffff;
            if is_whole && (half.kind, half.part) == (Kind::Number(from), 0) {
                row.set(lane, half.element());
                found |= 1 << lane;
            }
        }
        if found != 0 {
            self.put_row(d, found, to, None);
        }
        found
    }

    /// Writes numbers to a register in some lanes: those that are given, or those of the present operation.
    pub(crate) fn put_row(
        &mut self,
        (file, slot): Cell,
        mask: Mask,
        format: Format,
        given: Option<&Elements<LANES>>,
    ) {
        let (at, width) = super::place(file);
        let source = Source::symbol(self.site);
        if let Some(symbols) = &mut self.symbols {
            let Symbols { planes, row, .. } = &mut **symbols;
            let plane = planes[at][slot].get_or_insert_with(|| Box::new(super::Plane::new(width)));
            plane.set_numbers(mask.into(), format, given.unwrap_or(row));
        }
        self.lanes[at][slot] |= mask;
        let sources = &mut self.sources[at][slot];
        match mask {
            FULL => *sources = [source; LANES],
            _ => lanes(mask).for_each(|lane| sources[lane] = source),
        }
        match file {
            File::W32 if mask == FULL => self.bits.w32[slot] = [u32::MAX; LANES],
            _ => lanes(mask).for_each(|lane| self.bits.set(file, slot, lane, u64::MAX)),
        }
    }
}
