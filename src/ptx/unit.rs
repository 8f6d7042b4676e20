//! Tests of what modules keep to themselves, in a build with the Cargo feature `internals`.
//!
//! A test module lists its functions with `unit_tests!`; a test binary runs all of them. So the library is compiled
//! once for all tests: the test harness would compile it once more.

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
