//! A row of taps as a plan holds it: its two loads, its taps, and the test in front of it.

use std::ops::Range;

use crate::cfg::BlockId;
use crate::reuse::NoWrap;

/// The two loads of a row and the code in the place of its taps.
#[derive(Clone, Debug)]
pub struct Window {
    /// The opcode of the loads.
    pub opcode: String,
    /// The address of the first load: base as written and bytes added.
    pub address: (String, i64),
    /// Bytes from the first load's address to the second's.
    pub beyond: i64,
    /// How many lanes perform the second load.
    pub span: u32,
    /// Widths in bits of the registers that each load fills, in order.
    pub widths: Vec<u32>,
    /// The taps in program order; both loads stand in the place of the first.
    pub taps: Vec<WindowTap>,
    /// The [place](WarpTest::place) of their test.
    pub place: u32,
    /// Whether a test has to show that lanes are consecutive in `tid.x`.
    pub linear_lanes: bool,
}

/// A tap of a row.
#[derive(Clone, Debug)]
pub struct WindowTap {
    /// The whole statement's bytes in the text.
    pub span: Range<usize>,
    /// The registers that it fills, in the order of the loads' registers.
    pub registers: Vec<String>,
    /// Lanes up to the one that has loaded its value.
    pub distance: u32,
}

/// The test of a warp in front of rewritten statements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WarpTest {
    /// The block in which it is tested.
    pub block: BlockId,
    /// The instruction in front of which it is tested.
    pub place: u32,
    /// Indices that must not wrap around in any lane.
    pub no_wrap: Vec<NoWrap>,
}
