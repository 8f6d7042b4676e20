//! Work that takes turns: of several parts a short run does one each day.

use crate::common::share;

/// Whether a part of some work, one of `parts`, is done. A short run does one part, the next one tomorrow, so that a few days
/// do all; a longer one (`PTXASW_TEST_WORK=100`) does all of them. For work that compilers do, who take long and whose
/// versions do not change from one day to the next.
#[expect(clippy::disallowed_methods, reason = "the day decides which part is tried, and no result")]
pub fn has_turn(part: usize, parts: usize) -> bool {
    let seconds = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let day = seconds.map_or(0, |since| since.as_secs() / 86_400) as usize;
    share(100) >= 100 || day % parts == part % parts
}
