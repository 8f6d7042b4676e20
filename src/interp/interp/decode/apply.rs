//! Operations on the operands of an instruction: slots of the sources, the operation, the slot of the
//! destination.
//!
//! In: a decoded instruction, the types of its operands, and a function of a warp's or a lane's
//! values. Out: micro-operations. Every operand is checked against its type; an operand that does not
//! fit is a fault.

use super::decoder::Decoder;
use super::inst::Inst;
use super::operand::file_of;
use super::vector::Element;
use crate::algebra::Meaning;
use crate::interp::fault::Fault;
use crate::interp::program::Op;
use crate::interp::program::rare::Scalar;
use crate::interp::registers::{Slot, WarpFn};
use crate::ptx::{Operand, ScalarType};

impl<'m, 's> Decoder<'_, 'm, 's> {
    /// Applies a pure operation to all operands: the first is the destination, of type `d`, the
    /// others the sources, of types `s`.
    ///
    /// # Errors
    /// A wrong number of operands, or one that does not fit its type.
    pub(crate) fn apply(
        &mut self,
        inst: &Inst<'m, 's>,
        run: WarpFn,
        d: ScalarType,
        s: &[ScalarType],
    ) -> Result<(), Fault> {
        inst.finish()?;
        if inst.operands().len() != s.len() + 1 {
            let name = inst.ast.opcode.text;
            let count = inst.operands().len();
            return Err(inst.unsupported(format!("`{name}` is not modelled with {count} operands")));
        }
        let mut sources = [Slot::default(); 4];
        for (index, &ty) in s.iter().enumerate() {
            sources[index] = self.source(inst.operand(index + 1)?, ty)?;
        }
        let dest = self.dest(inst.operand(0)?, d)?;
        self.emit_lanes(run, &[dest], &sources[..s.len()]);
        Ok(())
    }

    /// Applies a function lane by lane: the first operand is the destination, of type `d`, the
    /// others the sources, of types `s`, at most four.
    ///
    /// # Errors
    /// A wrong number of operands, or one that does not fit its type.
    pub(crate) fn scalar(
        &mut self,
        inst: &Inst<'m, 's>,
        d: ScalarType,
        (s, meaning): (&[ScalarType], Meaning),
        run: impl Fn([u64; 4]) -> Result<u64, &'static str> + Send + Sync + 'static,
    ) -> Result<(), Fault> {
        inst.finish()?;
        if inst.operands().len() != s.len() + 1 {
            let name = inst.ast.opcode.text;
            let count = inst.operands().len();
            return Err(inst.unsupported(format!("`{name}` is not modelled with {count} operands")));
        }
        let mut sources = Vec::new();
        for (index, &ty) in s.iter().enumerate() {
            sources.push((file_of(ty), self.source(inst.operand(index + 1)?, ty)?));
        }
        let d = (file_of(d), self.dest(inst.operand(0)?, d)?);
        self.emit(Op::Scalar(Box::new(Scalar { run: Box::new(run), d, s: sources, meaning })));
        Ok(())
    }

    /// Applies a pure operation whose source and destination registers may be wider than their
    /// types, as `cvt` allows: sources give their low bits, the result is extended.
    ///
    /// # Errors
    /// As [`Decoder::apply`].
    pub(crate) fn apply_wide(
        &mut self,
        run: WarpFn,
        d: (&'m Operand<'s>, ScalarType),
        s: &[(&'m Operand<'s>, ScalarType)],
    ) -> Result<(), Fault> {
        let mut sources = [Slot::default(); 4];
        for (slot, &(operand, ty)) in sources.iter_mut().zip(s) {
            *slot = self.source_low(operand, ty)?;
        }
        let result = self.temporary(d.0, d.1)?;
        self.emit_lanes(run, &[result], &sources[..s.len()]);
        self.store_wide(d.0, d.1, result)
    }

    /// The slot in which to compute a result of a type: the destination itself if its register fits,
    /// otherwise a register from which [`Decoder::store_wide`] takes the result.
    ///
    /// # Errors
    /// The operand cannot be written.
    pub(crate) fn temporary(
        &mut self,
        operand: &'m Operand<'s>,
        ty: ScalarType,
    ) -> Result<Slot, Fault> {
        self.element_temporary(Element::Operand(operand), ty)
    }

    /// Writes a result that was computed in [`Decoder::temporary`]'s slot to its destination,
    /// extended.
    ///
    /// # Errors
    /// The operand cannot be written.
    pub(crate) fn store_wide(
        &mut self,
        operand: &'m Operand<'s>,
        ty: ScalarType,
        result: Slot,
    ) -> Result<(), Fault> {
        self.element_store(Element::Operand(operand), ty, result)
    }
}
