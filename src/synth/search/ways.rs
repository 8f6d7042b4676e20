//! The ways of a value through a choice, and what follows for the choice.

use typed_index_collections::TiSlice;

use crate::synth::program::{CellId, PointId};

/// The ways of one demand, as far as they matter.
pub(super) struct Ways {
    /// How many different cells are needed.
    copies: u32,
    cells: Vec<CellId>,
    /// The point that the first way leads to.
    point: Option<PointId>,
    values: u64,
    /// Whether they lead to several points.
    pub several: bool,
}

impl Ways {
    /// None yet.
    pub(super) fn new(copies: u32) -> Ways {
        Ways { copies, cells: Vec::new(), point: None, values: 0, several: false }
    }

    /// Adds a way; true if more are of no interest.
    pub(super) fn add(&mut self, point: PointId, value: u8, cell: CellId) -> bool {
        if self.copies > 1 {
            if !self.cells.contains(&cell) {
                self.cells.push(cell);
            }
            return self.cells.len() >= self.copies as usize;
        }
        self.several |= *self.point.get_or_insert(point) != point;
        self.values |= 1 << value;
        self.several
    }

    /// Takes away what would leave the demand without a way; false if it has none.
    pub(super) fn apply(self, masks: &mut TiSlice<PointId, u64>, changed: &mut bool) -> bool {
        if self.copies > 1 {
            return self.cells.len() >= self.copies as usize;
        }
        let Some(point) = self.point else { return false };
        if !self.several {
            let mask = &mut masks[point];
            *changed |= *mask & self.values != *mask;
            *mask &= self.values;
        }
        true
    }
}
