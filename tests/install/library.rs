//! `libptxasw.so`, called by programs in C: the example of its header, and calls that fail.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::folder::{Folder, stdout};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The library, which Cargo has made beside the tests.
pub fn made() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    tests.parent().unwrap().join("libptxasw_capi.so")
}

/// Compiles a program and links it to the library.
fn compiled(folder: &Folder, source: &str, how: &[&str]) -> PathBuf {
    fs::copy(made(), folder.path("libptxasw.so")).unwrap();
    let program = folder.path("program");
    let output = Command::new("cc")
        .args(["-Wall", "-Wextra", "-Werror", "-std=gnu99", "-I"])
        .arg(root().join("src/capi"))
        .arg(root().join(source))
        .arg(folder.path("libptxasw.so"))
        .args(how)
        .args(["-Wl,-rpath,$ORIGIN", "-o"])
        .arg(&program)
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    program
}

fn said(output: &Output) -> String {
    stdout(output) + &String::from_utf8_lossy(&output.stderr)
}

#[test]
fn the_example_adds_vectors() {
    let folder = Folder::new();
    // Where a program is not moved, its arrays lie in front of the windows of the interpreter.
    for how in ["-pie", "-no-pie"] {
        let program = compiled(&folder, "src/capi/examples/vecadd.c", &["-fPIE", how]);
        let sample = root().join("ptx-samples/vecadd/vecadd.sm_80.ptx");
        let output = Command::new(&program).arg(sample).output().unwrap();
        assert_eq!(said(&output), "0: 3 1500 2997\n");
        let output = Command::new(&program).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
    }
}

#[test]
fn failing_calls_say_why_and_return() {
    let folder = Folder::new();
    let program = compiled(&folder, "tests/install/library.c", &[]);
    let ptx = root().join("tests/install/library.ptx");
    let call = |case: &str, checks: &str| {
        let mut call = Command::new(&program);
        said(&call.arg(case).arg(&ptx).env("PTXASW_RUN_CHECKS", checks).output().unwrap())
    };
    // -1.5, -1, 30 as floats; what a kernel writes before it faults stays.
    assert_eq!(call("", "race,init"), "0: bfc00000 bf800000 41f00000\n");
    for (case, checks, code, why) in [
        ("kept", "", 3, ": `memory without a name` cannot be written"),
        ("unmapped", "", 3, "no memory is mapped at the address 0x"),
        ("few", "", 2, "the kernel has 3 parameters, not 2"),
        ("negative", "", 2, "a size of -1"),
        ("twice", "race", 3, "ptx_run:28:5: error:"),
        ("twice", "", 0, "0: bf800000 bf000000 41f40000\n"),
        ("", "races", 2, "`races` is neither `race` nor `init`"),
    ] {
        let said = call(case, checks);
        assert!(said.starts_with(&format!("{code}: ")) && said.contains(why), "{case}: {said}");
    }
}
