//! Operations on numbers that fill registers, in all lanes at once: sums, products and copies of symbols.

use super::Symbols;
use super::lanes::fills;
use super::world::State;
use crate::algebra::{Elements, Format, Meaning, Real};
use crate::interp::poison::{Poison, Source};
use crate::interp::program::rare::Cell;
use crate::interp::registers::{FULL, File, LANES, Mask, Slots, WarpOp, lanes};
use smallvec::SmallVec;

/// Numbers of a format in some lanes.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// The register.
    pub cell: Cell,
    /// The lanes.
    pub lanes: Mask,
    /// The format.
    pub format: Format,
    /// The numbers.
    pub numbers: Elements<LANES>,
}

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

    /// Writes numbers to a register in some lanes: those of `given`, or those of the present operation.
    pub(crate) fn put_row(
        &mut self,
        (file, slot): Cell,
        mask: Mask,
        format: Format,
        given: Option<(&Elements<LANES>, Source)>,
    ) {
        let (at, width) = super::place(file);
        let source = given.map_or(Source::symbol(self.site), |given| given.1);
        if let Some(symbols) = &mut self.symbols {
            let Symbols { planes, row, .. } = &mut **symbols;
            let plane = planes[at][slot].get_or_insert_with(|| Box::new(super::Plane::new(width)));
            plane.set_numbers(mask.into(), format, given.map_or(&*row, |given| given.0));
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
