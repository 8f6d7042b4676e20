//! The tests that stand in the sources beside the tested code, as `unit_tests!` lists them.

use ptxasw::unit;

#[test]
fn tests_in_the_sources() {
    unit::run("");
    assert!(unit::UNIT_TESTS.len() > 100, "only {} tests are listed", unit::UNIT_TESTS.len());
}

/// A test module that lists nothing would never run.
#[test]
fn every_test_module_lists_its_tests() {
    let mut pending = vec![std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    let mut missing = Vec::new();
    while let Some(path) = pending.pop() {
        if path.is_dir() {
            let entries = std::fs::read_dir(&path).expect("a folder");
            let paths = entries.map(|entry| entry.expect("an entry").path());
            // A member's `tests/units.rs` runs the list, and its examples have a test there.
            pending.extend(
                paths.filter(|path| !path.ends_with("tests") && !path.ends_with("examples")),
            );
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        let has_tests = text.contains("mod tests {") || path.ends_with("tests.rs");
        if text.contains("#[test]") || has_tests && !text.contains("crate::unit_tests!(") {
            missing.push(path.display().to_string());
        }
    }
    assert!(missing.is_empty(), "list them with `crate::unit_tests!`:\n{}", missing.join("\n"));
}
