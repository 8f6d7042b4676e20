//! Whether a row of taps pays: two loads and a shuffle for each tap against the loads.

use crate::cost::{Costs, Request};
use crate::reuse::Row;

/// Instructions that the test of the warp and the branch on it take; some more where indices are checked.
const TEST: u32 = 3;

/// What a row takes in cycles with two loads, and what its loads take, `request` being one of them.
pub(super) fn costs(costs: &Costs, row: &Row, request: &Request) -> (f64, f64) {
    let taps = row.taps.len() as u32;
    let kept = f64::from(taps) * (costs.load(request) + costs.instructions(1));
    let elements = &row.taps[0].load.elements;
    let words: u32 = elements.iter().map(|element| element.register_bits.div_ceil(32)).sum();
    let shuffled = row.taps.iter().filter(|tap| tap.distance > 0).count() as u32;
    let beyond = Request { lanes: row.span, ..*request };
    let loads = costs.load(request) + costs.load(&beyond) + costs.instructions(2);
    // For each word a selection and the shuffle; the index and the bound are shared by all rows.
    let moved = f64::from(shuffled) * (costs.shuffle(32 * words) + costs.instructions(2 * words));
    let test = match row.no_wrap.len() as u32 {
        0 => TEST,
        checks => TEST + 2 * checks + 1,
    };
    (loads + moved + costs.instructions(test), kept)
}
