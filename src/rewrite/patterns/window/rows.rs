//! Rows of loads: taps whose addresses are the same affine function of the lane up to constants, so that one load by
//! the whole warp, and a second one by its first or last lanes, covers all bytes that the row reads.
//!
//! In: loads of one block that may take part, arranged by [`super::stencil_shape`]. Out: [`StencilGroup`]s. Each lane L
//! fills the row's cells from its address `X(L)` on. In lane L a value of distance d is in a cell of lane L + d, if
//! that is a lane of the warp. Otherwise lane L + d - 32 loads it 32 lanes further on, at `X(L + d - 32) + 32 *
//! stride`, or, if d is negative, lane L + d + 32 loads it 32 lanes before. Both are proved for each value, up to
//! checks at run time.
//!
//! No byte is read that the original does not read: each cell is read by a tap of its own lane. The bytes 32 lanes
//! further on of a lane L < `ahead` are read by the tap of distance `ahead` in lane L + 32 - `ahead`; likewise before
//! the warp. So gaps between the taps are harmless.

use super::shape::{broad_form, runs};
use crate::reuse::{Legality, Load, Multiple, NoWrap, Region};
use smallvec::SmallVec;

use super::shape::{Cell, Run, StencilShape, Tap};
use crate::cfg::{BlockId, InstId};
use crate::emulate::KernelTrace;
use crate::isa::limits::WARP_SIZE;

/// Loads for which a few loads and shuffles can stand.
#[derive(Clone, Debug)]
pub(super) struct StencilGroup {
    /// The loads in program order; all values are loaded in the place of the first.
    pub taps: Vec<Tap>,
    /// The cells that each lane loads, by address, without gaps.
    pub cells: Vec<Cell>,
    /// The block that they stand in.
    pub block: BlockId,
    /// The test whether the warp is full stands in front of this instruction; from there on the code is duplicated.
    pub place: InstId,
    /// Bytes from one lane's address to the next one's.
    pub stride: i64,
    /// Bytes from the first tap's address to the first cell.
    pub offset: i64,
    /// Whether a test has to show that lanes are consecutive in `tid.x`.
    pub linear_lanes: bool,
    /// Indices that must not wrap around, in any lane; their registers hold them at `place`.
    pub no_wrap: Vec<NoWrap>,
    /// Conditions on parameters under which the cells can be one vector; empty if they can anyway.
    pub multiples: SmallVec<[Multiple; 2]>,
}

impl StencilGroup {
    /// The first tap that needs no other lane; the first of all if each one does.
    pub(super) fn start(&self) -> &Tap {
        let own = |tap: &&Tap| tap.values.iter().all(|value| value.distance == 0);
        self.taps.iter().find(own).unwrap_or(&self.taps[0])
    }
}

/// A load whose address is further from its register is not taken: PTX adds a signed 32-bit number.
const MAX_OFFSET: i64 = 1 << 30;

/// The rows that some loads, in program order, fall into; none is longer than `reach` lanes or, in the
/// program, than `apart` instructions. A load is in one row at most. Rows of one `place` are tested for together. Of the forms with a vector in each lane
/// those are taken that `broad` asks for; it is given the form and those that would stand for it.
pub(super) fn rows(
    legality: &mut Legality<'_, '_, '_>,
    trace: &mut KernelTrace,
    loads: &[Load],
    (reach, apart): (u32, u32),
    mut broad: impl FnMut(&StencilShape, &[StencilShape]) -> bool,
) -> Vec<StencilGroup> {
    let runs = runs(legality, trace, loads, (reach, apart));
    let mut forms: Vec<(BlockId, StencilShape)> = Vec::new();
    for run in &runs {
        forms.extend(
            forms_of(legality, trace, run, reach, &mut broad).into_iter().map(|f| (run.block, f)),
        );
    }
    forms.sort_by_key(|(_, form)| form.range().start);
    let mut rows: Vec<StencilGroup> = Vec::new();
    let mut region = Region::default();
    for (block, form) in forms {
        let make = |legality: &mut Legality<'_, '_, '_>, trace: &mut KernelTrace, place| {
            row(legality, trace, block, &form, place)
        };
        rows.extend(legality.standing_twice(trace, &mut region, (block, form.range()), make));
    }
    rows
}

/// The forms of a run that are wanted: with a vector in each lane where `broad` says so.
fn forms_of(
    legality: &mut Legality<'_, '_, '_>,
    trace: &mut KernelTrace,
    run: &Run,
    reach: u32,
    broad: &mut impl FnMut(&StencilShape, &[StencilShape]) -> bool,
) -> Vec<StencilShape> {
    let mut left = run.clone();
    let mut found = Vec::new();
    while let Some(form) = broad_form(legality, trace, &left, reach) {
        let (taken, others) = left.split(&form);
        if !broad(&form, &taken.narrow(reach)) {
            break;
        }
        found.push(form);
        left = others;
    }
    found.extend(left.narrow(reach));
    found
}

/// A form as a row, if everything said in the module's head is proved of it, up to checks in front
/// of the instruction `place`.
fn row(
    legality: &mut Legality<'_, '_, '_>,
    trace: &mut KernelTrace,
    block: BlockId,
    form: &StencilShape,
    place: InstId,
) -> Option<StencilGroup> {
    let lanes = WARP_SIZE as i32;
    let (first, warp) = (&form.taps[0].load, i64::from(lanes) * form.stride);
    let last = form.cells.last().map_or(0, |cell| cell.offset);
    let ends = [form.offset, form.offset + last, form.offset + warp, form.offset - warp];
    if ends.iter().any(|end| end.abs() > MAX_OFFSET) || !legality.has_address(first, place) {
        return None;
    }
    let mut no_wrap = Vec::new();
    for tap in &form.taps {
        // (The elements of a load in one place give one claim.)
        let mut proofs: SmallVec<[(i32, i64); 4]> = SmallVec::new();
        for (value, element) in tap.values.iter().zip(&tap.load.elements) {
            let bytes = form.offset + form.cells[value.cell].offset - element.offset;
            proofs.push((value.distance, bytes));
            match value.distance {
                0 => {}
                n if n > 0 => proofs.push((n - lanes, bytes + warp)),
                n => proofs.push((n + lanes, bytes - warp)),
            }
        }
        proofs.sort_unstable();
        proofs.dedup();
        for (n, displacement) in proofs {
            let pair = (first, &tap.load);
            let proof =
                legality.prover.prove_checked_at(trace, pair, n, displacement, place).ok()?;
            no_wrap.extend(proof.checks);
        }
    }
    if planted!(Bug::RowWraps) {
        no_wrap.clear();
    }
    no_wrap.sort_unstable();
    no_wrap.dedup();
    Some(StencilGroup {
        taps: form.taps.clone(),
        cells: form.cells.clone(),
        block,
        place,
        stride: form.stride,
        offset: form.offset,
        linear_lanes: legality.linear.is_none(),
        no_wrap,
        multiples: form.multiples.clone(),
    })
}
