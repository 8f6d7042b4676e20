//! `alloca`, `stacksave`, `stackrestore` (PTX ISA, "Stack Manipulation Instructions").

use super::operand::file_of;
use super::{Decoder, Inst};
use crate::interp::fault::Fault;
use crate::interp::program::Op;
use crate::interp::program::rare::{Stack, StackKind};
use crate::isa::Opcode;
use crate::ptx::{Operand, ScalarType};

/// The alignment in bytes if the instruction names none.
const DEFAULT_ALIGN: u64 = 8;

/// `alloca.type d, size{, align}`, `stacksave.type d`, `stackrestore.type a`.
pub(crate) fn decode<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &mut Inst<'m, 's>,
) -> Result<(), Fault> {
    let ty = inst.take_type()?;
    if !matches!(ty, ScalarType::U32 | ScalarType::U64) {
        return Err(inst.bad_type(ty));
    }
    inst.finish()?;
    let file = file_of(ty);
    let zero = cx.immediate(file, 0);
    let (kind, value) = match inst.ast.form.opcode {
        Opcode::Alloca => {
            let size = cx.source(inst.operand(1)?, ty)?;
            let align = inst.operands().get(2).map_or(Ok(DEFAULT_ALIGN), |operand| {
                alignment(operand).ok_or_else(|| {
                    cx.error(operand.span(), "an alignment is a power of two, as a number")
                })
            })?;
            (StackKind::Allocate { d: (file, cx.dest(inst.operand(0)?, ty)?), align }, size)
        }
        Opcode::StackSave => (StackKind::Save { d: (file, cx.dest(inst.operand(0)?, ty)?) }, zero),
        _ => (StackKind::Restore, cx.source(inst.operand(0)?, ty)?),
    };
    cx.emit(Op::Stack(Box::new(Stack { kind, value: (file, value) })));
    Ok(())
}

fn alignment(operand: &Operand<'_>) -> Option<u64> {
    let Operand::Immediate(immediate) = operand else { return None };
    let align = u64::try_from(immediate.value.as_integer()?).ok()?;
    (align.is_power_of_two() && align <= 1 << 16).then_some(align)
}
