//! Matrices held by the registers of a whole warp: `mma`, `wmma`, `ldmatrix`, `stmatrix`,
//! `movmatrix` (PTX ISA, "Warp Level Matrix Multiply-Accumulate Instructions").
//!
//! - `element`: the types of elements, and their values.
//! - `layout`: which lane holds which element.
//! - `product`: the arithmetic.
//! - `mma`, `wmma`, `rows`: the instructions.

mod element;
mod layout;
mod mma;
mod product;
mod rows;
mod wmma;

pub(super) use mma::decode as multiply;
pub(super) use rows::{rows, transpose};
pub(super) use wmma::decode as wmma;

use crate::interp::decode::{Decoder, Element as Fragment, Inst};
use crate::interp::fault::Fault;
use crate::interp::program::rare::Cell;
use crate::interp::registers::File;
use crate::isa::Modifier;
use crate::ptx::ScalarType;
use crate::ptx::ScalarType::{B32, B64};
use element::Element;

/// The shape `mMnNkK` of a product.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Shape {
    m: usize,
    n: usize,
    k: usize,
}

impl Shape {
    /// The shape that a modifier names.
    fn of(modifier: Modifier) -> Option<Shape> {
        match modifier {
            Modifier::Shape(shape) => match shape.extents() {
                [_, _, 0] => None,
                [m, n, k] => Some(Shape { m, n, k }),
            },
            _ => None,
        }
    }
}

/// The registers of a fragment, `{r0, r1, ...}` or a single one.
fn fragment<'m, 's>(
    cx: &mut Decoder<'_, 'm, 's>,
    inst: &Inst<'m, 's>,
    index: usize,
    element: Element,
    written: bool,
) -> Result<Vec<Cell>, Fault> {
    let (file, ty): (File, ScalarType) =
        if element == Element::F64 { (File::W64, B64) } else { (File::W32, B32) };
    let operand = inst.operand(index)?;
    let mut cells = Vec::new();
    for element in cx.elements(operand) {
        let slot = match element {
            Fragment::Operand(item) if written => cx.dest(item, ty)?,
            Fragment::Operand(item) => cx.source(item, ty)?,
            element => cx.element_source(element, ty)?,
        };
        cells.push((file, slot));
    }
    Ok(cells)
}
