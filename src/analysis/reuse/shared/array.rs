//! An array in shared memory with its accesses.

use crate::cfg::{InstId, RegisterId};
use crate::expr::TermId;
use crate::reuse::refusal::Refusal;
use crate::reuse::restriction::Restriction;

/// An access to an array, in the lanes of some warps.
#[derive(Clone, Debug)]
pub struct ArrayAccess {
    /// The instruction.
    pub inst: InstId,
    /// Bytes that each lane accesses.
    pub bytes: u32,
    /// How many loops are around it.
    pub depth: usize,
    /// The register that the address is in, if it is in one, and the bytes added.
    pub base: (Option<RegisterId>, i64),
    /// The width of the address in bits.
    pub width: u8,
    /// The bits that may be set in the bytes from the array's start to where the register points, if those are
    /// known to be less than the array's size.
    pub bits: Option<u64>,
    /// Bytes from the array's start in each lane, for each warp that is looked at. A value from memory counts as one for
    /// all lanes of a warp.
    pub offsets: Vec<Vec<u64>>,
    /// The same, where each lane has another value from memory; empty if the address depends on none.
    pub spread: Vec<Vec<u64>>,
    /// Bytes from the array's start, where the text does not name the block's shape.
    pub of_any_shape: Option<TermId>,
    /// The lanes that there are.
    pub lanes: u32,
}

/// An array in shared memory.
#[derive(Clone, Debug)]
pub struct SharedArray {
    /// Its name.
    pub name: String,
    /// The bytes of its declaration in the text.
    pub declaration: std::ops::Range<usize>,
    /// 1-based line of the declaration.
    pub line: u32,
    /// The element's type as written, and its bytes.
    pub element: (&'static str, u64),
    /// Its bytes; 0 if each launch gives their number.
    pub bytes: u64,
    /// Whether each launch gives its bytes (`.extern .shared`).
    pub is_dynamic: bool,
    /// Whether the module declares it, outside of functions.
    pub is_of_module: bool,
    /// The alignment of its address.
    pub align: u64,
    /// The bytes by which it may grow.
    pub room: u64,
    /// The bytes by which it might grow without `restriction`.
    pub unrestricted_room: u64,
    /// Why it may not grow, or by no more than `room`.
    pub restriction: Restriction,
    /// Its accesses in the order of the text.
    pub accesses: Vec<ArrayAccess>,
    /// Why its bytes stay where they are, if that is certain.
    pub refusal: Option<Refusal>,
}
