//! The costs of loads and stores of structs, as loads and stores of consecutive words that the lanes exchange.

use super::stored::TransposeStores;
use super::structs::TransposeLoads;
use crate::cost::{Costs, Request};
use crate::patterns::finder::Weighed;
use crate::reuse::Limit;
use crate::reuse::transposition::Entry;

/// Instructions of the test of the warp and of the branch on it, and of the lane's address and number in the struct.
const TEST: u32 = 6;

/// Instructions of the number of the lane that a word comes from.
const SOURCE: u32 = 3;

/// The cycles of a struct by loads of consecutive words, and those of its own loads, which ask for `requests`; or of
/// vector loads, where these are allowed, may be possible and are cheaper.
pub(super) fn of_loads(
    costs: &Costs,
    whole: &TransposeLoads,
    requests: &[Request],
    wide: bool,
) -> Weighed {
    let cost_before: f64 =
        requests.iter().map(|request| costs.load(request) + costs.instructions(1)).sum();
    let size = whole.word_bits / 8;
    // The widest vector that an aligned array of these structs leaves aligned.
    let vectors = [16, 8]
        .into_iter()
        .filter(|bytes| (whole.words * size).is_multiple_of(*bytes) && *bytes > size);
    let vector = vectors.take(1).filter(|_| wide).map(|bytes| {
        let request = Request { bytes, ..requests[0] };
        f64::from(whole.words * size / bytes) * (costs.load(&request) + costs.instructions(1))
    });
    let cost_before = vector.fold(cost_before, f64::min);
    let request = Request { stride: Some(size.into()), bytes: size, ..requests[0] };
    let cost_after = transposed(costs, &request, whole.words, whole.no_wrap.len(), 0);
    let shared = !costs.allow_shuffles(&requests[0]);
    Weighed::new(cost_after, cost_before).limited(shared.then_some(Limit::SharedPipe))
}

/// The cycles of `words` accesses to consecutive words, with the transposition, the test of the warp and `more` further
/// instructions.
fn transposed(costs: &Costs, request: &Request, words: u32, no_wrap: usize, more: u32) -> f64 {
    let parts = request.bytes / 4;
    let selects = Entry::of(words).map_or(0, Entry::selects);
    let checks = TEST + 2 * no_wrap as u32 + more;
    f64::from(words) * (costs.load(request) + costs.shuffle(32 * parts))
        + costs.instructions(words * (1 + SOURCE) + parts * selects + checks)
}

/// The cycles of a struct by stores of consecutive words, and those of its own stores, whose lanes are `stride` bytes
/// apart; stores go past the first-level cache.
pub(super) fn of_stores(costs: &Costs, whole: &TransposeStores, stride: Option<i64>) -> (f64, f64) {
    let size = whole.word_bits / 8;
    let cost_before: f64 = whole
        .fields
        .iter()
        .map(|field| {
            let bytes = field.values.len() as u32 * size;
            let request = Request { stride, bytes, lanes: 32, past_l1: true };
            costs.load(&request) + costs.instructions(1)
        })
        .sum();
    let request = Request { stride: Some(size.into()), bytes: size, lanes: 32, past_l1: true };
    // Where the stores stood, they are still issued, for no lane.
    let left = whole.fields.len() as u32;
    (transposed(costs, &request, whole.words, whole.no_wrap.len(), left), cost_before)
}
