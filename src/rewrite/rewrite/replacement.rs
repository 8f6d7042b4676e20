//! A load that takes its value from another load's registers, as a plan holds it.

use std::ops::Range;

use super::bytes::Assembly;
use crate::cfg::BlockId;
use crate::reuse::LegalReuse;

/// One register that is filled from another one, in this or another lane.
#[derive(Clone, Debug)]
pub struct Transfer {
    /// The register that is sent: the source load's own, or a copy of it.
    pub sent: String,
    /// The register that the covered load writes.
    pub destination: String,
    /// Width of both in bits: 16, 32 or 64.
    pub bits: u32,
}

/// A covered load and its place in the text.
#[derive(Clone, Debug)]
pub struct Replacement {
    /// The whole statement's bytes in the text.
    pub span: Range<usize>,
    /// Where its opcode starts, behind the guard predicate.
    pub opcode: usize,
    /// The byte at which code that follows the load goes: behind a comment that ends the load's line.
    pub behind: usize,
    /// The basic block it stands in.
    pub block: BlockId,
    /// Its guard predicate as written (`%p1`, `!%p1`), if it has one.
    pub guard: Option<String>,
    /// Its address: base as written and bytes added.
    pub address: (String, i64),
    /// The registers that are filled from one register each.
    pub transfers: Vec<Transfer>,
    /// Those that are put together from bytes.
    pub assembly: Assembly,
    /// The legal reuse that covers it: the source load, the distance and the guards.
    pub covered: LegalReuse,
    /// If addresses are compared: the copy of the source's address register, and the required difference of the load's
    /// address register from it.
    pub compared: Option<(String, i64)>,
    /// The predicate that the source's value is there, if the lane has to be asked: it may not have executed
    /// the source, or have stored to its bytes since.
    pub executed: Option<String>,
    /// The registers about which the lane that sends is asked.
    pub same_index: Vec<CheckedRegister>,
}

/// A register about which the lane that sends is asked.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CheckedRegister {
    /// Its name, or that of a copy made where it got its value.
    pub name: String,
    /// Its width in bits, 32 or 64.
    pub bits: u8,
    /// Whether only its lower 32 bits count.
    pub low: bool,
    /// Whether the other lane's value must be larger by the distance in lanes, not the same.
    pub stride_one: bool,
}
