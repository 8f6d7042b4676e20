//! Instructions by which each lane moves some bytes of shared memory as a whole: `cp.async` into it, `ldmatrix` and
//! `stmatrix`.

use crate::cfg::{Arg, Inst};
use crate::isa::{Modifier, Opcode, Qualifier, ScalarType, Shape, StateSpace};

/// A lane's part of such an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Granule {
    /// The number of the operand with the address in shared memory.
    pub operand: usize,
    /// The bytes from there on, which stay together.
    pub bytes: u32,
}

/// The part of each lane, if the instruction has no other form. A row of a matrix of 8 x 8 numbers of 16 bits has 16
/// bytes, transposed or not (PTX ISA, "ldmatrix"); a copy has as many as its third operand says, whatever is read of
/// them ("cp.async").
pub(crate) fn granule(inst: &Inst<'_, '_>) -> Option<Granule> {
    let form = &inst.ast.form;
    let of_shared = form.space() == StateSpace::Shared;
    let of_rows = form.modifiers().contains(&Modifier::Shape(Shape::M8n8))
        && form.types()[..] == [ScalarType::B16];
    match form.opcode {
        Opcode::Ldmatrix if of_shared && of_rows => Some(Granule { operand: 1, bytes: 16 }),
        Opcode::Stmatrix if of_shared && of_rows => Some(Granule { operand: 0, bytes: 16 }),
        Opcode::Cp if of_shared && is_copy(inst) => match inst.args.get(2) {
            Some(Arg::Constant(size)) => match size.as_integer()? {
                size @ (4 | 8 | 16) => Some(Granule { operand: 0, bytes: size as u32 }),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    }
}

/// Whether an instruction names no bytes of memory at all: it waits for copies, or closes a group of them.
pub(super) fn only_waits(inst: &Inst<'_, '_>) -> bool {
    let is_address = |arg: &Arg<'_>| matches!(arg, Arg::Memory { .. } | Arg::Register(_));
    inst.ast.form.opcode == Opcode::Cp && is_copy(inst) && !inst.args.iter().any(is_address)
}

/// Whether an instruction is one of `cp.async` without `.bulk` and `.mbarrier`.
fn is_copy(inst: &Inst<'_, '_>) -> bool {
    let form = &inst.ast.form;
    form.has(Qualifier::Async) && !form.has_any(&[Qualifier::Bulk, Qualifier::Mbarrier])
}
