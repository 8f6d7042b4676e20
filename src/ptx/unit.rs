//! Tests of what modules keep to themselves, in a build with the Cargo feature `internals`.
//!
//! A test module lists its functions with `unit_tests!`; a test binary runs all of them. So the library is compiled
//! once for all tests: the test harness would compile it once more.

use std::panic;

use linkme::distributed_slice;

/// All tests, each with its path. A test fails if it panics.
#[allow(unsafe_code, reason = "the list is a section of a test binary")]
#[distributed_slice]
pub static UNIT_TESTS: [(&str, fn())];

/// Lists the tests of a module.
#[macro_export]
macro_rules! unit_tests {
    ($($name:ident),+ $(,)?) => {
        $(const _: () = {
            #[allow(unsafe_code, reason = "the list is a section of a test binary")]
            #[$crate::linkme::distributed_slice($crate::unit::UNIT_TESTS)]
            #[linkme(crate = $crate::linkme)]
            static TEST: (&str, fn()) = (concat!(module_path!(), "::", stringify!($name)), $name);
        };)+
    };
}

/// Runs the listed tests of a crate, as in `ptxasw_graph::`, or all of them if the prefix is empty.
///
/// # Panics
/// A test failed; or no test has the prefix.
pub fn run(prefix: &str) {
    let tests = || UNIT_TESTS.iter().filter(|(name, _)| name.starts_with(prefix));
    let fails =
        |(name, test): &(&'static str, fn())| panic::catch_unwind(test).err().map(|_| *name);
    let outcomes = crate::parallel::map(tests().collect::<Vec<_>>(), fails);
    assert!(!outcomes.is_empty(), "no test is listed for `{prefix}`");
    let failed: Vec<&str> = outcomes.iter().flatten().copied().collect();
    assert!(
        failed.is_empty(),
        "{} of {} failed:\n{}",
        failed.len(),
        outcomes.len(),
        failed.join("\n")
    );
}

/// The block of lines in the head of an example: what the example prints.
pub fn shown(example: &str) -> String {
    let lines = example.lines().filter_map(|line| line.strip_prefix("//!     "));
    lines.map(|line| format!("{line}\n")).collect()
}
