//! What the integration tests share: finding NVIDIA's assembler, and the invariants that every
//! rewrite must keep whatever it decided.

// Starting processes and reading the environment is the business of few modules of the program;
// a test harness is outside of it.
#![allow(clippy::disallowed_methods)]

pub mod assembler;
pub mod invariants;

use std::path::{Path, PathBuf};

/// The root of the repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The `.ptx` files below a folder (given relative to the root), relative to the root and sorted.
///
/// # Panics
/// If the folder cannot be read or holds no such file: a test over nothing would pass.
pub fn ptx_files(folder: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut pending = vec![root().join(folder)];
    while let Some(folder) = pending.pop() {
        let entries =
            std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
        for entry in entries {
            let path = entry.expect("a readable folder entry").path();
            if path.is_dir() {
                pending.push(path);
            } else if path.extension().is_some_and(|e| e == "ptx") {
                found.push(path.strip_prefix(root()).expect("a path below the root").to_owned());
            }
        }
    }
    assert!(!found.is_empty(), "no .ptx file in {folder}");
    found.sort();
    found
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
