//! Whether a row of taps pays: two loads, and a shuffle for each tap, against the taps' own loads.

use crate::cost::{Costs, Request};
use crate::reuse::Row;

/// Instructions of the test of the warp and of the branch on it; a few more if indices are checked.
const TEST: u32 = 3;

/// Rows of elements of two words pay only if they are predicted to take at most this share: three taps of
/// doubles take 1.03 times as long on an H100-like machine where 0.72 is predicted, and 0.54 to 0.66 on V100-like ones
/// where 0.53 is (`openacc-bench/results/strategies.md`).
const SHARE_OF_WIDE: f64 = 0.6;

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
    let instead = loads + moved + costs.instructions(test);
    match words > 1 && instead > kept * SHARE_OF_WIDE {
        true => (instead.max(kept), kept),
        false => (instead, kept),
    }
}
