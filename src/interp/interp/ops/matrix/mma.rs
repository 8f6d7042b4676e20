//! `mma.sync` with n = 8 (PTX ISA, "mma"): dense products whose fragments the manual lays out.

use super::element::Element;
use super::layout::{Matrix, Part, Spread};
use super::product::{BitOperation, Product};
use super::{Shape, fragment};
use crate::float::Round;
use crate::interp::decode::{Decoder, Inst};
use crate::interp::fault::Fault;
use crate::interp::program::Op;
use crate::interp::program::rare::CrossLane;
use crate::interp::registers::Registers;
use crate::isa::Qualifier;

/// `mma.sync.aligned.shape.row.col.dtype.atype.btype.ctype d, a, b, c`.
pub(crate) fn decode<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &mut Inst<'m, 's>,
) -> Result<(), Fault> {
    let (shape, types, options) = modifiers(inst)?;
    // In the shape of the first generation each quarter of the warp computes a product of its own.
    let first_generation = shape == Shape { m: 8, n: 8, k: 4 } && types[1] == Element::F16;
    if first_generation || shape.n != 8 || !matches!(shape.m, 8 | 16) {
        return Err(inst.unsupported(format!("`{}` is not modelled", inst.ast.opcode.text)));
    }
    emit(cx, inst, Spread::Mma, shape, types, &options)
}

/// The modifiers besides shape and types.
pub(super) struct Options {
    saturate: bool,
    round: Option<Round>,
    bits: Option<BitOperation>,
}

/// Takes all modifiers: shape, the types of D, A, B and C, options.
///
/// # Errors
/// A modifier or a combination that is not modelled.
pub(super) fn modifiers(inst: &mut Inst<'_, '_>) -> Result<(Shape, [Element; 4], Options), Fault> {
    let unsupported = |inst: &Inst<'_, '_>| {
        inst.unsupported(format!("`{}` is not modelled", inst.ast.opcode.text))
    };
    for name in [
        Qualifier::Mma,
        Qualifier::Sync,
        Qualifier::Aligned,
        Qualifier::Row,
        Qualifier::Col,
        Qualifier::Row,
        Qualifier::Col,
        Qualifier::KindF8f6f4,
    ] {
        inst.take(name);
    }
    let options = Options {
        saturate: inst.take(Qualifier::Satfinite),
        round: inst.take_round(),
        bits: match (
            inst.take(Qualifier::And),
            inst.take(Qualifier::Xor),
            inst.take(Qualifier::Popc),
        ) {
            (true, false, true) => Some(BitOperation::And),
            (false, true, true) => Some(BitOperation::Xor),
            _ => None,
        },
    };
    let shape = inst.take_with(Shape::of).ok_or_else(|| unsupported(inst))?;
    let mut given = Vec::new();
    while let Some(element) = inst.take_with(Element::of) {
        given.push(element);
    }
    inst.finish()?;
    let types = match given[..] {
        [d, a, b, c] => [d, a, b, c],
        // `wmma` of halves names only the types of the accumulators.
        [d, c] => [d, Element::F16, Element::F16, c],
        _ => return Err(unsupported(inst)),
    };
    let [d, a, b, c] = types;
    let accumulates = match a {
        _ if a.is_integer() => {
            b.is_integer() && [c, d] == [Element::S32; 2] && a.bits() == b.bits()
        }
        Element::F64 => [b, c, d] == [Element::F64; 3],
        Element::F16 => b == a && [c, d].iter().all(|e| [Element::F16, Element::F32].contains(e)),
        Element::Bf16 | Element::Tf32 => b == a && [c, d] == [Element::F32; 2],
        // All other types have a place of 8 bits, and may be mixed.
        _ => {
            b.bits() == 8
                && !b.is_integer()
                && [c, d].iter().all(|e| [Element::F16, Element::F32].contains(e))
        }
    };
    if !accumulates || (a == Element::B1) != options.bits.is_some() {
        return Err(unsupported(inst));
    }
    Ok((shape, types, options))
}

/// Emits the product of the four fragments.
///
/// # Errors
/// A fragment that does not have as many registers as the shape needs.
pub(super) fn emit<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &Inst<'m, 's>,
    spread: Spread,
    shape: Shape,
    [d, a, b, c]: [Element; 4],
    options: &Options,
) -> Result<(), Fault> {
    let mut matrix = |index, part, element| {
        let cells = fragment(cx, inst, index, element, index == 0)?;
        let matrix = Matrix { part, shape, spread, element, cells };
        if matrix.is_complete() {
            return Ok(matrix);
        }
        let count = matrix.cells.len();
        let message =
            format!("operand {} of this shape does not fit into {count} registers", index + 1);
        Err(inst.unsupported(message))
    };
    let product = Product {
        d: matrix(0, Part::C, d)?,
        a: matrix(1, Part::A, a)?,
        b: matrix(2, Part::B, b)?,
        c: matrix(3, Part::C, c)?,
        saturate: options.saturate,
        round: options.round.unwrap_or(Round::Even),
        bits: options.bits,
    };
    let sources =
        [&product.a, &product.b, &product.c].iter().flat_map(|m| m.cells.clone()).collect();
    let results = product.d.cells.clone();
    let meaning = product.meaning();
    let run = Box::new(move |registers: &mut Registers| product.run(registers));
    cx.emit(Op::CrossLane(CrossLane { run, sources, results, product: meaning }));
    Ok(())
}
