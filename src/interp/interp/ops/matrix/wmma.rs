//! `wmma.load`, `wmma.store`, `wmma.mma` (PTX ISA, "wmma.load" and the following).

use super::element::Element;
use super::layout::{Part, Spread};
use super::{Shape, fragment, mma};
use crate::interp::decode::{Decoder, Inst};
use crate::interp::fault::Fault;
use crate::interp::program::Op;
use crate::interp::program::rare::{FragmentBase, FragmentMove};
use crate::isa::Qualifier;
use crate::ptx::ScalarType::U32;

/// All instructions of this family.
pub(crate) fn decode<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &mut Inst<'m, 's>,
) -> Result<(), Fault> {
    if inst.ast.form.has(Qualifier::Mma) {
        let (shape, types, options) = mma::modifiers(inst)?;
        return mma::emit(cx, inst, Spread::Wmma, shape, types, &options);
    }
    let store = inst.take(Qualifier::Store);
    let part = inst.take_qualifier(|m| {
        Some(match m {
            Qualifier::A => Part::A,
            Qualifier::B => Part::B,
            Qualifier::C | Qualifier::D => Part::C,
            _ => return None,
        })
    });
    if !store && !inst.take(Qualifier::Load) {
        return Err(inst.unsupported("this form of `wmma` is not modelled"));
    }
    inst.take(Qualifier::Sync);
    inst.take(Qualifier::Aligned);
    let by_rows = inst.take(Qualifier::Row);
    inst.take(Qualifier::Col);
    let space = inst.take_space();
    let shape = inst.take_with(Shape::of);
    let element = inst.take_with(Element::of);
    inst.finish()?;
    let (Some(part), Some(shape), Some(element)) = (part, shape, element) else {
        return Err(inst.unsupported(format!("`{}` is not modelled", inst.ast.opcode.text)));
    };
    if element.bits() < 8 {
        return Err(inst.unsupported(format!("`{}` is not modelled", inst.ast.opcode.text)));
    }
    let (at, registers) = if store { (0, 1) } else { (1, 0) };
    let cells = fragment(cx, inst, registers, element, !store)?;
    let per = element.per_register();
    let total = cells.len() * per;
    let (rows, columns) = part.size(shape);
    if rows * columns == 0 || !(total * 32).is_multiple_of(rows * columns) {
        return Err(inst.unsupported("the registers do not hold a matrix of this shape"));
    }
    let place = cx.place(inst.operand(at)?, space)?;
    let stride = match inst.operands().get(2) {
        Some(operand) => Some(cx.source(operand, U32)?),
        None => None,
    };
    let bytes = element.bits() / 8;
    let leading = if by_rows { columns } else { rows } as u64;
    let address = move |base: &FragmentBase, lane: usize, index: usize| {
        let (row, column) = Spread::Wmma.place(part, shape, (per, total), lane, index);
        let step = if stride.is_some() { u64::from(base.strides[lane]) } else { leading };
        let (far, near) = if by_rows { (row, column) } else { (column, row) };
        let elements = (far as u64).wrapping_mul(step).wrapping_add(near as u64);
        base.addresses[lane].wrapping_add(elements.wrapping_mul(u64::from(bytes)))
    };
    let elements = (0..total)
        .map(|index| (cells[index / per], (index % per) as u32 * element.bits()))
        .collect();
    cx.emit(Op::Fragment(Box::new(FragmentMove {
        store,
        place,
        stride,
        givers: 32,
        align: bytes.max(4),
        in_rows: false,
        bytes,
        elements,
        address: Box::new(address),
    })));
    Ok(())
}
