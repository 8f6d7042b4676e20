//! The cost of a row of taps: its loads, and a shuffle for each tap of another lane, against the taps' own loads.

use super::rows::StencilGroup;
use super::shape::{Cell, StencilShape, Tap};
use crate::cost::{Costs, Request};
use crate::patterns::finder::Weighed;
use crate::reuse::Limit;

/// Instructions of the test of the warp and of the branch on it; a few more if indices are checked.
const TEST: u32 = 3;

/// Rows of elements of two words pay only if they are predicted to take at most this share: three taps of
/// doubles take 1.03 times as long on an H100-like machine where 0.72 is predicted, and 0.54 to 0.66 on V100-like ones
/// where 0.53 is (`openacc-bench/results/strategies.md`).
const SHARE_OF_WIDE: f64 = 0.6;

/// The taps and cells of a row.
struct Shape<'r> {
    taps: &'r [Tap],
    cells: &'r [Cell],
}

/// The cycles of a row, and those of its own loads; `request` is that of one of these loads, but for the bytes per
/// lane.
pub(super) fn costs(costs: &Costs, row: &StencilGroup, request: &Request) -> Weighed {
    let shape = Shape { taps: &row.taps, cells: &row.cells };
    // (The overflow check of an index is made once for all taps.)
    let mut checked: Vec<_> =
        row.no_wrap.iter().map(|check| (check.register, check.widened)).collect();
    checked.sort_unstable();
    checked.dedup();
    let test = match checked.len() as u32 {
        0 => TEST,
        checks => TEST + 2 * checks + 1,
    };
    let generic = if row.start().load.generic { 3 * row.cells.len() as u32 } else { 0 };
    shape.costs(costs, request, test + generic)
}

/// Whether a form with a vector in each lane takes fewer cycles than one vector load and the loads of other
/// lanes, and than the narrow forms that could stand for it.
pub(super) fn is_better(
    costs: &Costs,
    broad: &StencilShape,
    narrow: &[StencilShape],
    request: &Request,
) -> bool {
    let of = |form: &StencilShape| {
        let shape = Shape { taps: &form.taps, cells: &form.cells };
        shape.costs(costs, request, TEST)
    };
    let broad_form = of(broad);
    let saved: f64 = narrow.iter().map(|form| of(form).saved()).sum();
    let own = |tap: &&Tap| tap.values.iter().all(|value| value.distance == 0);
    let inside: f64 = broad.taps.iter().filter(own).map(|tap| load(costs, tap, request)).sum();
    let vector = costs.load(&bytes_of(&broad.cells, request)) + costs.instructions(1);
    let least = (broad_form.cost_before - saved).min(broad_form.cost_before - inside + vector);
    broad_form.cost_after < least && (broad_form.limit.is_none() || broad_form.cost_before < least)
}

/// The cycles of a tap's own load.
fn load(costs: &Costs, tap: &Tap, request: &Request) -> f64 {
    let bytes = u32::try_from(tap.load.bytes).unwrap_or(u32::MAX);
    costs.load(&Request { bytes, ..*request }) + costs.instructions(1)
}

/// The load of some cells by a warp.
fn bytes_of(cells: &[Cell], request: &Request) -> Request {
    let size = match cells {
        [first, second, ..] => second.offset - first.offset,
        _ => i64::from(request.bytes),
    };
    let bytes = u32::try_from(size * cells.len() as i64).unwrap_or(u32::MAX);
    Request { bytes, ..*request }
}

impl Shape<'_> {
    fn costs(&self, costs: &Costs, request: &Request, test: u32) -> Weighed {
        let cost_before: f64 = self.taps.iter().map(|tap| load(costs, tap, request)).sum();
        let whole = bytes_of(self.cells, request);
        let mut loads = costs.load(&whole) + costs.instructions(1);
        // (Cells of one number are loaded together; that they lie apart is not seen here.)
        for number in [|cell: &Cell| cell.ahead, |cell: &Cell| cell.behind] {
            let mut numbers: Vec<u32> = self.cells.iter().map(number).filter(|n| *n > 0).collect();
            numbers.sort_unstable();
            for same in numbers.chunk_by(|a, b| a == b) {
                let bytes = whole.bytes / self.cells.len() as u32 * same.len() as u32;
                let beyond = Request { lanes: same[0], bytes, ..*request };
                loads += costs.load(&beyond) + costs.instructions(1);
            }
        }
        // A selection and a shuffle for each word; the index and the bound are shared by all rows.
        let mut moved = 0.0;
        for value in self.taps.iter().flat_map(|tap| &tap.values).filter(|v| v.distance != 0) {
            let words = self.cells[value.cell].register_bits.div_ceil(32);
            moved += costs.shuffle(32 * words) + costs.instructions(2 * words);
        }
        let cost_after = loads + moved + costs.instructions(test);
        let words = |tap: &Tap| -> u32 {
            tap.values.iter().map(|v| self.cells[v.cell].register_bits.div_ceil(32)).sum()
        };
        let wide = self
            .taps
            .iter()
            .any(|tap| words(tap) > 1 && tap.values.iter().any(|value| value.distance != 0));
        let limit = (wide && cost_after > cost_before * SHARE_OF_WIDE)
            .then_some(Limit::WideShare((100.0 * SHARE_OF_WIDE) as u32));
        Weighed::new(cost_after, cost_before).limited(limit)
    }
}
