//! Where each planted mistake is noticed.
//!
//! `tests/noticed.txt` says for each mistake the place (a seed, a kernel, a sketch) where it was noticed last: that is
//! tried first, and is enough. Where it no longer shows the mistake, all places are tried, and the test says which line
//! to write. With `PTXASW_TEST_WORK=100` all places are tried until one shows the mistake, whatever the file says.

use ptxasw::planted::Bug;

use super::share;

/// Lines `TEST MISTAKE PLACE`.
const RECORDED: &str = include_str!("../noticed.txt");

/// The recorded place.
fn recorded(test: &str, bug: Bug) -> Option<&'static str> {
    RECORDED.lines().find_map(|line| line.strip_prefix(&format!("{test} {bug:?} ")))
}

/// Has each mistake looked for where it was noticed last, and where that is in vain, in all places, in order.
///
/// # Panics
/// A mistake is not noticed, or not where the file says.
pub fn assert_noticed(
    test: &str,
    bugs: &[Bug],
    places: &[String],
    notices: impl Fn(Bug, usize) -> bool,
) {
    let known = |place: &str| places.iter().position(|other| other == place);
    let judged = bugs.iter().filter_map(|&bug| {
        let here = recorded(test, bug).and_then(known).filter(|&place| notices(bug, place));
        if here.is_some() && share(100) < 100 {
            return None;
        }
        match (here, (0..places.len()).find(|&place| notices(bug, place))) {
            (Some(_), Some(_)) => None,
            (_, None) => Some(format!("nobody notices {bug:?}")),
            (None, Some(place)) => Some(format!(
                "{bug:?} is noticed elsewhere; tests/noticed.txt needs the line\n{test} {bug:?} {}",
                places[place]
            )),
        }
    });
    let complaints: Vec<String> = judged.collect();
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}
