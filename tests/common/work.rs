//! How much of the random work a test run does.

/// How many of `all` kernels, launches or instructions are tried: as many percent as `PTXASW_TEST_WORK` says, 10 if it is
/// not set. A longer run sets 100. (Kernels that were found to fail are replayed whatever it says.)
///
/// # Panics
/// The variable is not a number.
#[expect(clippy::disallowed_methods, reason = "how much is tried is asked for from outside")]
pub fn share(all: u64) -> u64 {
    let percent = match std::env::var("PTXASW_TEST_WORK") {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("PTXASW_TEST_WORK={text}")),
        Err(_) => 10,
    };
    (all * percent / 100).max(1)
}

/// As many percent of a list, evenly spaced; which, another number decides. Of a list that is not empty at least one.
pub fn percent_of<T>(percent: u64, all: Vec<T>, number: u64) -> Vec<T> {
    let offset = number.wrapping_mul(37) % 100;
    let mut count = 0;
    let last = all.len().saturating_sub(1);
    let chosen = all.into_iter().enumerate().filter(|&(index, _)| {
        let is_chosen = (index as u64 * percent + offset) % 100 < percent;
        count += usize::from(is_chosen);
        is_chosen || index == last && count == 0
    });
    chosen.map(|(_, one)| one).collect()
}
