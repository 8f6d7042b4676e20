//! A row of taps as a plan holds it: its loads, its taps, and the test in front of it.

use std::ops::Range;

use crate::cfg::InstId;

/// The loads of a row and the code in the place of its taps.
#[derive(Clone, Debug)]
pub(super) struct Window {
    /// The opcode of the load that every lane performs.
    pub opcode: String,
    /// The address of that load: base as written and bytes added.
    pub address: (String, i64),
    /// Widths in bits of the registers that it fills, one for each cell.
    pub widths: Vec<u32>,
    /// The additional loads of some lanes.
    pub beyond: Vec<Beyond>,
    /// The taps in program order; the loads stand in the place of the first.
    pub taps: Vec<WindowTap>,
    /// The [place](crate::rewrite::WarpTest::place) of their test.
    pub place: InstId,
    /// Whether a test has to show that lanes are consecutive in `tid.x`.
    pub linear_lanes: bool,
    /// Whether it is memory that nobody writes.
    pub read_only: bool,
}

impl Window {
    /// Whether lanes load bytes that only other lanes load in the original; those may write them before and after the
    /// load without synchronisation.
    pub(super) fn needs_order(&self) -> bool {
        !self.read_only && !self.beyond.is_empty()
    }
}

/// A load of some cells 32 lanes further on, by the first lanes, or 32 lanes before, by the last ones.
#[derive(Clone, Debug)]
pub(super) struct Beyond {
    /// Its opcode.
    pub opcode: String,
    /// Bytes from the address of every lane's load.
    pub bytes: i64,
    /// The cells that it loads.
    pub cells: Range<usize>,
    /// The first lanes if this is positive, otherwise the last ones.
    pub lanes: i32,
}

/// A tap of a row.
#[derive(Clone, Debug)]
pub(super) struct WindowTap {
    /// The whole statement's bytes in the text.
    pub span: Range<usize>,
    /// The registers that it fills.
    pub values: Vec<WindowValue>,
}

/// A register of a tap.
#[derive(Clone, Debug)]
pub(super) struct WindowValue {
    /// The register that is filled.
    pub register: String,
    /// The index of the cell that holds its value.
    pub cell: usize,
    /// Lanes up to the one whose cell it is; negative if that comes before.
    pub distance: i32,
}
