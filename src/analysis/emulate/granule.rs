//! Copies and rows of matrices: instructions by which each lane moves some bytes of shared memory as a whole.

use crate::cfg::{Arg, Inst};
use crate::isa::{Modifier, Opcode, Qualifier, Shape};
use crate::ptx::ScalarType;

/// Bytes of a row of a matrix of 8 x 8 elements of 16 bits (PTX ISA, "ldmatrix").
const ROW_BYTES: u32 = 16;

/// The bytes that each lane moves as a whole, and the operand with their address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Granule {
    /// The operand's number.
    pub operand: usize,
    /// A power of two.
    pub bytes: u32,
}

/// What `cp.async` stores and `ldmatrix` and `stmatrix` access in shared memory.
pub fn granule(inst: &Inst<'_, '_>) -> Option<Granule> {
    let form = &inst.ast.form;
    let in_rows = form.modifiers().contains(&Modifier::Shape(Shape::M8n8))
        && form.last_type() == Some(ScalarType::B16);
    match (form.opcode, inst.args.get(2)) {
        (Opcode::Ldmatrix, _) if in_rows => Some(Granule { operand: 1, bytes: ROW_BYTES }),
        (Opcode::Stmatrix, _) if in_rows => Some(Granule { operand: 0, bytes: ROW_BYTES }),
        (Opcode::Cp, Some(Arg::Constant(bytes)))
            if form.has(Qualifier::Async)
                && !form.has_any(&[Qualifier::Bulk, Qualifier::Mbarrier]) =>
        {
            let bytes = u32::try_from(bytes.as_integer()?).ok()?;
            matches!(bytes, 4 | 8 | 16).then_some(Granule { operand: 0, bytes })
        }
        _ => None,
    }
}
