//! The ways of a value through a choice, and what follows for the choice.

/// No point yet.
const NONE: u32 = u32::MAX;

/// The ways of one demand, as far as they matter.
pub(super) struct Ways {
    /// How many different cells are needed.
    copies: u32,
    cells: Vec<u32>,
    point: u32,
    values: u64,
    /// Whether they lead to several points.
    pub several: bool,
}

impl Ways {
    /// None yet.
    pub(super) fn new(copies: u32) -> Ways {
        Ways { copies, cells: Vec::new(), point: NONE, values: 0, several: false }
    }

    /// Adds a way; true if more are of no interest.
    pub(super) fn add(&mut self, point: u32, value: u8, cell: u32) -> bool {
        if self.copies > 1 {
            if !self.cells.contains(&cell) {
                self.cells.push(cell);
            }
            return self.cells.len() >= self.copies as usize;
        }
        if self.point == NONE {
            self.point = point;
        }
        self.several |= self.point != point;
        self.values |= 1 << value;
        self.several
    }

    /// Takes away what would leave the demand without a way; false if it has none.
    pub(super) fn apply(self, masks: &mut [u64], changed: &mut bool) -> bool {
        if self.copies > 1 {
            return self.cells.len() >= self.copies as usize;
        }
        if self.point == NONE {
            return false;
        }
        if !self.several {
            let mask = &mut masks[self.point as usize];
            *changed |= *mask & self.values != *mask;
            *mask &= self.values;
        }
        true
    }
}
