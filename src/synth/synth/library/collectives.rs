//! Collectives of a warp by the instructions for them: `redux` for integers, votes for conditions.

use super::header::{Header, bracketed};
use super::notes::by_hand;

const TEST: &str = "tests/library.rs, collectives_combine_a_warp";

const PROOF: &str = "by `ptxasw verify`, of the functions of integers: every lane gets the same by the instruction of sm_80 and \
                     by the shuffles of sm_70; of those of conditions: the same as the sum or the operator by shuffles over 1 \
                     and 0";

/// The header.
pub(super) fn header() -> Header {
    let (text, functions) = by_hand(include_str!("collectives.cuh"), PROOF, TEST);
    let about = "What all lanes of a warp compute together: sums, extrema and bitwise operators of 32-bit integers (one \
                 instruction from sm_80 on, shuffles before), counts of conditions. All 32 lanes call them together; every \
                 lane gets the result, and `lane` is the number of the lane, 0 to 31.";
    let text = bracketed("collectives.cuh", about, &["common.cuh"], &text);
    Header { file: "collectives.cuh", text, functions }
}
