//! Other places for the bytes of an array: a swizzle of its addresses, or gaps between its rows.

use std::fmt;

use super::SharedArray;

/// The largest row that a swizzle or a gap is tried for, as a power of two.
const LARGEST_ROW: u8 = 12;

/// Bits of the number of a byte within a 16-byte vector, the widest access that is moved as a whole.
const VECTOR: u8 = 4;

/// Bytes of the blocks that a swizzle maps to themselves where each launch gives the array's size, as a power of two: a row
/// of all banks. The size has to be a multiple of them, which is asked when the kernel starts.
pub const BLOCK: u8 = 7;

/// What such an array begins at a multiple of, as a power of two: 0, or behind the 1024 bytes that are the system's since
/// sm_90 (CUDA C++ Programming Guide, "Compute Capability 9.x").
const LARGEST_START: u8 = 10;

/// Where an array's bytes go.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Placement {
    /// They stay.
    Same,
    /// Address `a` becomes `a ^ (a >> row & (1 << bits) - 1) << unit`; the array begins at a multiple of
    /// `1 << row` and ends at one.
    Swizzle {
        /// A row has `1 << row` bytes.
        row: u8,
        /// How many bits of the row's number are taken.
        bits: u8,
        /// Bytes are moved `1 << unit` at a time.
        unit: u8,
    },
    /// Offset `o` becomes `o + (o >> row) * bytes`.
    Gaps {
        /// A row has `1 << row` bytes.
        row: u8,
        /// Bytes behind each row.
        bytes: u64,
    },
}

impl Placement {
    /// The new offset of a byte, in an array that begins at a multiple of the placement's alignment.
    pub fn apply(self, offset: u64) -> u64 {
        match self {
            Placement::Same => offset,
            Placement::Swizzle { row, bits, unit } => {
                offset ^ ((offset >> row & ((1 << bits) - 1)) << unit)
            }
            Placement::Gaps { row, bytes } => offset + (offset >> row) * bytes,
        }
    }

    /// Whether words are moved by themselves.
    fn moves_words(self) -> bool {
        matches!(self, Placement::Swizzle { unit: 2, .. } | Placement::Gaps { bytes: 4, .. })
    }

    /// The required alignment of the array's address.
    pub fn align(self, array: &SharedArray) -> u64 {
        match self {
            Placement::Swizzle { row, .. } if !array.is_dynamic => array.align.max(1 << row),
            _ => array.align,
        }
    }

    /// The bytes that the array takes.
    pub fn bytes(self, array: &SharedArray) -> u64 {
        match self {
            Placement::Gaps { .. } => {
                (self.apply(array.bytes.saturating_sub(1)) + 1).next_multiple_of(array.element.1)
            }
            _ => array.bytes,
        }
    }

    /// The required alignment of the array's start, as a power of two, where each launch gives its size.
    pub fn start(self) -> u8 {
        match self {
            Placement::Swizzle { row, .. } => row.max(BLOCK),
            _ => 0,
        }
    }

    /// Whether the array's bytes may be placed so. Then different bytes have different places within the array,
    /// and those of an access stay together and aligned:
    ///
    /// A swizzle changes the bits of an address from `unit` to below `row` by those from `row` on, which stay; so it
    /// is undone by itself, and maps each row to itself. The bytes of an access differ in the bits below `unit`
    /// only. Gaps keep bytes in their order; those of an access are in one row, and each row begins at a multiple
    /// of the access's bytes, like the gap.
    ///
    /// Where each launch gives the size, the swizzle is one of whole [blocks](BLOCK) only: it changes no bit from
    /// `BLOCK` on, and those that decide lie there.
    pub fn fits(self, array: &SharedArray) -> bool {
        let widest = array.accesses.iter().map(|access| u64::from(access.bytes)).max().unwrap_or(1);
        let widest = if planted!(Bug::ArrayVectors) { 1 } else { widest };
        match self {
            Placement::Same => true,
            Placement::Swizzle { row, bits, unit } if array.is_dynamic => {
                let widths = array.accesses.windows(2).all(|pair| pair[0].width == pair[1].width);
                1 << unit >= widest
                    && (BLOCK..=LARGEST_START).contains(&row)
                    && unit + bits <= BLOCK
                    // One register holds the mask.
                    && widths
            }
            Placement::Gaps { .. } if array.is_dynamic => false,
            Placement::Swizzle { row, bits, unit } => {
                1 << unit >= widest
                    && unit + bits <= row
                    && array.bytes.is_multiple_of(1 << row)
                    // A larger alignment may leave a gap in front.
                    && (array.align >= 1 << row || array.room >= 1 << row)
            }
            Placement::Gaps { row, bytes } => {
                1 << row >= widest
                    && bytes.is_multiple_of(widest)
                    && widest <= array.align
                    && self.bytes(array) - array.bytes <= array.room
            }
        }
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Placement::Same => write!(f, "as it is"),
            Placement::Swizzle { row, bits, unit } => {
                write!(f, "xor swizzle, a ^ (a >> {row} & {}) << {unit}", (1u32 << bits) - 1)
            }
            Placement::Gaps { row, bytes } => {
                write!(f, "padding, {bytes} bytes behind each {}", 1u64 << row)
            }
        }
    }
}

/// The placements that an array may have, the simplest first.
pub fn placements(array: &SharedArray) -> Vec<Placement> {
    let swizzles = (5..=LARGEST_ROW).flat_map(|row| {
        (2..=VECTOR).flat_map(move |unit| {
            (1..=(row - unit).min(5)).map(move |bits| Placement::Swizzle { row, bits, unit })
        })
    });
    let gaps = (5..=LARGEST_ROW)
        .flat_map(|row| [4, 8, 16].into_iter().map(move |bytes| Placement::Gaps { row, bytes }));
    std::iter::once(Placement::Same)
        .chain(swizzles)
        .chain(gaps)
        .filter(|placement| placement.fits(array))
        // The mistake shows only if no layout that moves whole vectors is better.
        .filter(|placement| !planted!(Bug::ArrayVectors) || placement.moves_words())
        .collect()
}
