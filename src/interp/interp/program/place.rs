//! Memory operands, and the operations of accesses on the values there.

use crate::interp::registers::Slot;
use crate::ptx::StateSpace;

/// The start of an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Base {
    /// An absolute address: only the offset counts.
    Absolute,
    /// A narrow register, zero-extended.
    W32(Slot),
    /// A wide register.
    W64(Slot),
    /// The frame's part of local memory.
    Frame,
}

/// A memory operand.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// The space that the instruction names.
    pub space: StateSpace,
    /// The base of the address.
    pub base: Base,
    /// Bytes added.
    pub offset: i64,
}

/// The function of an atomic: old value and operands to new value, on raw bits of the type's
/// width.
pub(crate) type AtomicFn = fn(old: u64, b: u64, c: u64) -> u64;
