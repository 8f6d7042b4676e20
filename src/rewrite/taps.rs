//! A row of taps as a plan holds it: its two loads, its taps, and what is tested in front of it.

use std::ops::Range;

use crate::cfg::BlockId;
use crate::reuse::NoWrap;

/// The two loads of a row and what stands in the place of its taps.
#[derive(Clone, Debug)]
pub struct Window {
    /// The opcode of the loads.
    pub opcode: String,
    /// The address of the first load: base as written and bytes added.
    pub address: (String, i64),
    /// Bytes from there to what the second one loads.
    pub beyond: i64,
    /// So many lanes perform the second one.
    pub span: u32,
    /// Widths in bits of the registers that each load fills, in order.
    pub widths: Vec<u32>,
    /// The taps in program order; both loads stand in the place of the first.
    pub taps: Vec<WindowTap>,
    /// The block that they stand in.
    pub block: BlockId,
    /// Whether it has to be tested that lanes are consecutive in `tid.x`.
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

/// What must hold of a warp for the rewritten statements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WarpTest {
    /// The block in which it is tested.
    pub block: BlockId,
    /// Indices that must not wrap around in any lane.
    pub no_wrap: Vec<NoWrap>,
}
