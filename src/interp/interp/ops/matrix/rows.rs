//! Matrices of 8 x 8 elements of 16 bits: `ldmatrix`, `stmatrix`, `movmatrix` (PTX ISA, "ldmatrix" and
//! the following). Lane 4r + c holds elements 2c and 2c + 1 of row r, or of column r if the matrix is
//! transposed.

use super::element::Element;
use super::fragment;
use crate::interp::decode::{Decoder, Inst};
use crate::interp::fault::Fault;
use crate::interp::program::Op;
use crate::interp::program::rare::{CrossLane, FragmentBase, FragmentMove};
use crate::interp::registers::{File, LANES, Registers};
use crate::isa::{Modifier, Opcode, Qualifier, Shape};
use crate::ptx::ScalarType::{B16, B32};

/// `.m8n8`
const TILE: Modifier = Modifier::Shape(Shape::M8n8);
/// `.b16`
const HALVES: Modifier = Modifier::Type(B16);

/// `ldmatrix.sync.aligned.m8n8.num{.trans}{.shared}.b16 r, [p]` and `stmatrix`.
pub(crate) fn rows<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &mut Inst<'m, 's>,
) -> Result<(), Fault> {
    let store = inst.ast.form.opcode == Opcode::Stmatrix;
    let transposed = inst.take(Qualifier::Trans);
    let count = inst.take_qualifier(|m| match m {
        Qualifier::X1 => Some(1),
        Qualifier::X2 => Some(2),
        Qualifier::X4 => Some(4),
        _ => None,
    });
    let known = inst.take_modifier(TILE) && inst.take_modifier(HALVES);
    inst.take(Qualifier::Sync);
    inst.take(Qualifier::Aligned);
    let space = inst.take_space();
    inst.finish()?;
    let (Some(count), true) = (count, known) else {
        return Err(inst.unsupported(format!("`{}` is not modelled", inst.ast.opcode.text)));
    };
    let (at, registers) = if store { (0, 1) } else { (1, 0) };
    let cells = fragment(cx, inst, registers, Element::F16, !store)?;
    if cells.len() != count {
        return Err(inst.unsupported("the vector operand needs one register for each matrix"));
    }
    let place = cx.place(inst.operand(at)?, space)?;
    let address = move |base: &FragmentBase, lane: usize, index: usize| {
        let (group, along) = (lane / 4, lane % 4 * 2 + index % 2);
        let (row, column) = if transposed { (along, group) } else { (group, along) };
        base.addresses[8 * (index / 2) + row].wrapping_add(2 * column as u64)
    };
    let elements =
        (0..2 * count).map(|index| (cells[index / 2], 16 * (index % 2) as u32)).collect();
    cx.emit(Op::Fragment(Box::new(FragmentMove {
        store,
        place,
        stride: None,
        givers: 8 * count,
        align: 16,
        in_rows: true,
        bytes: 2,
        elements,
        address: Box::new(address),
    })));
    Ok(())
}

/// `movmatrix.sync.aligned.m8n8.trans.b16 d, a`.
pub(crate) fn transpose<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &mut Inst<'m, 's>,
) -> Result<(), Fault> {
    inst.take(Qualifier::Sync);
    inst.take(Qualifier::Aligned);
    inst.take(Qualifier::Trans);
    inst.take_modifier(TILE);
    inst.take_modifier(HALVES);
    inst.finish()?;
    let a = cx.source(inst.operand(1)?, B32)?;
    let d = cx.dest(inst.operand(0)?, B32)?;
    let (sources, results) = (vec![(File::W32, a)], vec![(File::W32, d)]);
    let run = Box::new(move |registers: &mut Registers| {
        let given = registers.w32[a];
        let element =
            |row: usize, column: usize| given[4 * row + column / 2] >> (16 * (column % 2)) & 0xffff;
        registers.w32[d] = std::array::from_fn::<u32, LANES, _>(|lane| {
            let (row, column) = (lane / 4, lane % 4 * 2);
            element(column, row) | element(column + 1, row) << 16
        });
    });
    cx.emit(Op::CrossLane(CrossLane { run, sources, results, product: None }));
    Ok(())
}
