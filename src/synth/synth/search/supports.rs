//! Supports of a demand, as in arc consistency: the values at a point of a hole by which a cell meets it. Values that
//! leave a demand unsupported are removed.

use typed_index_collections::TiSlice;

use crate::synth::program::{CellId, PointId};

/// The supports of one demand, as far as they matter.
pub(super) struct Supports {
    /// How many different cells are needed.
    copies: u32,
    cells: Vec<CellId>,
    /// The point of the first support.
    point: Option<PointId>,
    values: u64,
    /// Whether they are at several points.
    pub several: bool,
}

impl Supports {
    /// None yet.
    pub(super) fn new(copies: u32) -> Supports {
        Supports { copies, cells: Vec::new(), point: None, values: 0, several: false }
    }

    /// Adds a support; returns true if further ones change nothing.
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

    /// Removes the values that would leave the demand unsupported; returns false if it has no support.
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
