//! The Python module, without a wheel: its sources, with the program of the tests in `PATH`.

use std::path::Path;
use std::process::Command;

#[test]
fn the_module_calls_the_program() {
    succeeds("module.py");
}

#[test]
fn tests_that_pages_show_pass() {
    succeeds("pages.py");
}

fn succeeds(script: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = Path::new(env!("CARGO_BIN_EXE_ptxasw"));
    let path = std::env::var("PATH").unwrap_or_default();
    let folder = program.parent().expect("a folder").display();
    let output = Command::new("python3")
        .arg(root.join("tests/install").join(script))
        .arg(root)
        .env("PYTHONPATH", root.join("scripts/python"))
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("PATH", format!("{folder}:{path}"))
        .output()
        .expect("python3 can be started");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
}
