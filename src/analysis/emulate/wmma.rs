//! What `wmma.load` and `wmma.store` access: a whole matrix, cut into parts of consecutive bytes.
//!
//! PTX leaves open which lane holds which element, so only the bytes of the whole matrix are known, and no lane's own.

use super::operands;
use super::special::{Reading, read};
use super::state::State;
use crate::cfg::{Arg, Inst};
use crate::expr::{BinaryOp, TermId};
use crate::isa::{Modifier, Opcode, Qualifier, Special};
use crate::ptx::ScalarType;

/// The most parts of a matrix: one for each lane.
const MAX_PARTS: usize = 32;

/// A matrix in memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WmmaMatrix {
    /// Bytes of a part. Each begins at a multiple of them: PTX demands that rows are aligned to the bytes of a
    /// fragment ("Matrix Storage for WMMA"), and no part is longer.
    pub part_bytes: u32,
    /// The number of parts.
    pub parts: usize,
    /// The parts of a row, or of a column if the matrix lies in memory by columns; a power of two.
    parts_per_row: usize,
    row_elements: usize,
    element_bytes: u32,
}

impl WmmaMatrix {
    /// The matrix of a `wmma.load` or `wmma.store`; `None` for anything else, and for elements of less than a byte.
    pub fn of(inst: &Inst<'_, '_>) -> Option<WmmaMatrix> {
        let form = &inst.ast.form;
        if form.opcode != Opcode::Wmma || !form.has_any(&[Qualifier::Load, Qualifier::Store]) {
            return None;
        }
        let [m, n, k] = form.modifiers().iter().find_map(|modifier| match modifier {
            Modifier::Shape(shape) => Some(shape.extents()),
            _ => None,
        })?;
        let (rows, columns) = match () {
            () if form.has(Qualifier::A) => (m, k),
            () if form.has(Qualifier::B) => (k, n),
            () => (m, n),
        };
        let by_rows = form.has(Qualifier::Row);
        let (lines, row_elements) = if by_rows { (rows, columns) } else { (columns, rows) };
        let Modifier::Type(ty) = *form.modifiers().last()? else { return None };
        let element_bytes = ty.bits() / 8;
        let registers = match inst.args.get(usize::from(form.has(Qualifier::Store)))? {
            Arg::Vector(elements) => elements.len(),
            _ => 1,
        };
        let register_bytes = if ty == ScalarType::F64 { 8 } else { 4 };
        let row_bytes = u32::try_from(row_elements).ok()? * element_bytes;
        let part_bytes = row_bytes.min(registers as u32 * register_bytes);
        let is_whole =
            part_bytes >= 4 && part_bytes.is_power_of_two() && row_bytes.is_multiple_of(part_bytes);
        if !is_whole {
            return None;
        }
        let parts_per_row = (row_bytes / part_bytes) as usize;
        let parts = lines * parts_per_row;
        let is_known = parts_per_row.is_power_of_two() && (1..=MAX_PARTS).contains(&parts);
        is_known.then_some(WmmaMatrix {
            part_bytes,
            parts,
            parts_per_row,
            row_elements,
            element_bytes,
        })
    }

    /// The address of the part that has the number of the lane. `start`: the address operand.
    pub(super) fn part<'s>(
        &self,
        state: &mut State<'_, '_, 's>,
        inst: &Inst<'_, 's>,
        start: TermId,
    ) -> Option<TermId> {
        let stride = match inst.args.get(2) {
            Some(operand) => operands::value(state, operand, 32)?,
            None => state.arena.constant(self.row_elements as u64, 32),
        };
        let Reading::Symbol { info, range } = read(Special::Laneid, state.function) else {
            return None;
        };
        let arena = &mut state.arena;
        let lane = state.symbols.term(arena, info, range);
        let width = arena.width(start);
        let per_row = self.parts_per_row as u64;
        let shift = arena.constant(per_row.trailing_zeros().into(), 32);
        let line = arena.binary(BinaryOp::ShiftRight, lane, shift);
        let within = arena.and_constant(lane, per_row - 1);
        let [line, within, stride] = [line, within, stride].map(|term| arena.resize(term, width));
        let bytes = arena.scale(stride, self.element_bytes.into());
        let before = arena.binary(BinaryOp::Multiply, line, bytes);
        let inside = arena.scale(within, self.part_bytes.into());
        let begin = arena.add(start, before);
        Some(arena.add(begin, inside))
    }
}
