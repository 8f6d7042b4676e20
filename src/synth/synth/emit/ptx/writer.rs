//! The body of a function while it is written.

use std::fmt::Display;

use crate::isa::ScalarType;
use crate::ptx::write::{Block, Op, Reg, op};
use crate::synth::emit::domain::Domain;
use crate::synth::emit::kernel::Kernel;

/// Writes instructions.
pub(super) struct Writer<'k> {
    pub kernel: &'k Kernel,
    /// The type of elements, of 32 or 64 bits.
    pub element: ScalarType,
    /// Their bytes.
    pub bytes: usize,
    /// Lanes that have coordinates of their own.
    pub lanes: &'k Domain,
    pub coordinates: Vec<(&'k str, Reg)>,
    pub block: Block,
    /// The value in each register of each array; `None` is undefined.
    pub arrays: Vec<Vec<Option<Reg>>>,
}

impl Writer<'_> {
    /// An element that an instruction makes, unless it is known.
    pub(super) fn element(&mut self, op: Op, operands: &[&dyn Display]) -> Reg {
        self.block.once_in(|fresh| fresh.of_kind(0), op, operands)
    }

    /// One of two elements.
    pub(super) fn select(&mut self, a: &Reg, b: &Reg, condition: &Reg) -> Reg {
        self.element(op!(Selp.(self.element)), &[a, b, condition])
    }

    /// An element with the same value in all lanes.
    pub(super) fn constant(&mut self, value: i64) -> Reg {
        self.element(op!(Mov.(self.element)), &[&value])
    }
}
