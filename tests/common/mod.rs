//! What the integration tests share: finding NVIDIA's assembler, and the invariants that every
//! rewrite must keep whatever it decided.

pub mod assembler;
pub mod expectation;
pub mod header;
pub mod invariants;
pub mod missing;
pub mod noticed;
pub mod respelled;
pub mod rules;
pub mod shapes;
mod work;

pub use work::share;

use std::path::Path;

/// The root of the repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The text of a file given relative to the root.
///
/// # Panics
/// If it cannot be read.
pub fn read(file: &Path) -> String {
    std::fs::read_to_string(root().join(file)).unwrap_or_else(|e| panic!("{}: {e}", file.display()))
}

/// Fails the test with all messages, if there are any.
///
/// # Panics
/// If there are any.
pub fn report(failures: &[String], advice: &str) {
    assert!(
        failures.is_empty(),
        "\n{}\n\n{} failure(s). {advice}\n",
        failures.join("\n"),
        failures.len()
    );
}

/// The share of a list that a test run tries, evenly spaced; which, another number decides. Of a list that is not empty at
/// least one.
pub fn some<T>(all: Vec<T>, number: u64) -> Vec<T> {
    work::percent_of(share(100).min(100), all, number)
}
