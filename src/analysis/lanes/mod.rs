//! Values of terms in the 32 lanes of a warp.
//!
//! In: a term of the memory trace, and a warp as far as it is known which. Out: a `LaneSum`, exact numbers for each lane
//! beside uniform terms (`Evaluator`); the `Stride` of an address that is affine in the lane; the term as another lane
//! has it (`Shifter`); samples of an address, by which candidates are guessed (`Fingerprints`). What a warp's lanes
//! access, and what that costs, is not looked at here.
//!
//! From the ground up: `shape`: the threads that are the lanes of a warp; `sum`: sums of uniform factors with an integer per
//! lane; `alignment`: the powers of two that divide uniform terms; `evaluate`: terms to lane sums; `quotients`: shifts and
//! remainders of these; `believed`: uniform values that the trace does not know; `shift`: terms of another lane; `stride`:
//! derivatives; `sampling`: values at fixed assignments.

mod alignment;
mod believed;
mod evaluate;
mod quotients;
mod sampling;
mod shape;
mod shift;
mod stride;
mod sum;

pub(crate) use alignment::Aligned;
pub(crate) use believed::believed_uniformity;
pub(crate) use evaluate::{Context, Evaluator, Value};
pub use sampling::mixed;
pub(crate) use sampling::{Fingerprints, agree_mostly, distances, grows_by_one};
pub use shape::{Assumed, BlockShape, LANES, of_thread};
pub(crate) use shape::{Warp, first_lanes, lanes_of};
pub(crate) use shift::Shifter;
pub use stride::{NotAffine, Stride, Strides, factor_name, sum_text};
pub use sum::Factor;
pub(crate) use sum::{Coefficients, LaneSum};
