//! Whether a row of taps pays: two loads, and a shuffle for each tap, against the taps' own loads.

use crate::cost::{Costs, Request};
use crate::reuse::Row;

/// Instructions of the test of the warp and of the branch on it; a few more if indices are checked.
const TEST: u32 = 3;

/// The cycles of a row with two loads, and those of its own loads, of which `request` is one.
pub(super) fn costs(costs: &Costs, row: &Row, request: &Request) -> (f64, f64) {
    let taps = row.taps.len() as u32;
    let kept = f64::from(taps) * (costs.load(request) + costs.instructions(1));
    let elements = &row.taps[0].load.elements;
    let words: u32 = elements.iter().map(|element| element.register_bits.div_ceil(32)).sum();
    let shuffled = row.taps.iter().filter(|tap| tap.distance > 0).count() as u32;
    let beyond = Request { lanes: row.span, ..*request };
    let loads = costs.load(request) + costs.load(&beyond) + costs.instructions(2);
    // A selection and a shuffle for each word; the index and the bound are shared by all rows.
    let moved = f64::from(shuffled) * (costs.shuffle(32 * words) + costs.instructions(2 * words));
    let test = match row.no_wrap.len() as u32 {
        0 => TEST,
        checks => TEST + 2 * checks + 1,
    };
    (loads + moved + costs.instructions(test), kept)
}
