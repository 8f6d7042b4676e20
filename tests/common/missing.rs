//! Tests that cannot be run here.

#![allow(
    clippy::disallowed_methods,
    reason = "the environment is the business of few modules of the program; a test harness is outside of it"
)]

use std::io::Write;

/// Says that a test, or a part of one, is not run, and why. `scripts/test` names these at its end, in the file that
/// `PTXASW_TEST_NOT_RUN` names, and with `CI=true` it fails.
///
/// # Panics
/// The file cannot be written.
pub fn not_run(what: &str) {
    eprintln!("not run: {what}");
    if let Some(path) = std::env::var_os("PTXASW_TEST_NOT_RUN") {
        let file = std::fs::OpenOptions::new().append(true).create(true).open(path);
        file.and_then(|mut file| writeln!(file, "{what}"))
            .expect("the list of tests that are not run");
    }
}
