//! `scripts/ab-all` and `scripts/gpu`: without a GPU they say so; with one that the interpreter plays (`stub.py`) they
//! write the promised files.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::common;

fn script(name: &str) -> Command {
    let mut command = Command::new(common::root().join("scripts").join(name));
    command.env("REAL", env!("CARGO_BIN_EXE_ptxasw"));
    command
}

fn stub() -> String {
    common::root().join("tests/ab/stub.py").display().to_string()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
}

#[test]
fn without_a_gpu_the_status_is_4() {
    if std::env::var_os("LD_LIBRARY_PATH").is_some_and(|path| !path.is_empty())
        || Path::new("/dev/nvidiactl").exists()
    {
        eprintln!("not tried: there may be a GPU");
        return;
    }
    for (name, words) in [("ab-all", &[][..]), ("gpu", &["bits"]), ("microbench", &[])] {
        let output = script(name)
            .args(words)
            .args(["--ptxasw", env!("CARGO_BIN_EXE_ptxasw")])
            .output()
            .expect("python3");
        assert_eq!(output.status.code(), Some(4), "{name}: {}", said(&output));
        assert!(said(&output).contains("no usable GPU"), "{name}: {}", said(&output));
    }
}

#[test]
fn one_command_writes_dated_tables() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = script("ab-all")
        .args(["--ptxasw", &stub(), "--quick", "--date", "2001-02-03", "--output"])
        .arg(folder.path())
        .args(["jacobi", "matvec"])
        .output()
        .expect("python3");
    // The stub's `full` of jacobi computes something else.
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("jacobi 1002,1001,1 L2 keep: the output of `full` differs"));
    let read = |name: &str| {
        std::fs::read_to_string(folder.path().join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    };
    let table = read("ab.sm_86.2001-02-03.md");
    assert!(
        table.contains("| jacobi | 4098,4096,1 | flush | 100.00 | 1.250 [1.240, 1.260] |"),
        "{table}"
    );
    assert_eq!(table.lines().filter(|line| line.ends_with("| **no** |")).count(), 4, "{table}");
    assert_eq!(table.lines().filter(|line| line.ends_with("| yes |")).count(), 4, "{table}");
    let report: Value = serde_json::from_str(&read("ab.sm_86.2001-02-03.json")).expect("JSON");
    assert_eq!(report["measurements"].as_array().map(Vec::len), Some(8));
    assert_eq!(report["measurements"][0]["file"], "jacobi/jacobi.sm_80.ptx");
    assert!(read("compare.sm_86.2001-02-03.txt").contains("sincos_sum full: different"));
    assert!(read("micro.sm_86.2001-02-03.md").contains("Stub, 1 block(s)"));
    assert!(read("micro-all-blocks.sm_86.2001-02-03.md").contains("Stub, 2 block(s)"));
    // The page takes the file with all measurements.
    let page = Command::new(env!("CARGO_BIN_EXE_ptxasw")).arg("report").arg(folder.path()).output();
    let page = page.expect("runs");
    assert!(page.status.success() && said(&page).contains("Stub (sm_86, CUDA 12.4), L2 flushed"));
}

/// An application whose build is a call of `ptxas`, and which runs faster when that was on.
#[test]
fn applications_are_timed_with_and_without() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).expect("writes");
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("changes");
    };
    write(
        "build",
        "#!/bin/sh\necho $PTXASW > mode\n[ $PTXASW = off ] || echo '{\"file\": \"a.ptx\", \
        \"kernels\": [{\"name\": \"k\", \"shuffles\": 4}]}' > \"$PTXASW_REPORT/a.json\"\n",
    );
    write(
        "app",
        "#!/bin/sh\n[ $(cat mode) = $PTXASW ] || exit 3\n[ $PTXASW = off ] && echo took 30 ms || \
        echo took 20 ms\n",
    );
    let app = |words: &[&str]| {
        script("gpu")
            .arg("application")
            .current_dir(folder.path())
            .args(words)
            .output()
            .expect("python3")
    };
    let json = folder.path().join("out.json");
    let json = json.to_str().expect("UTF-8");
    let time =
        ["--time", "took ([0-9]+) ms", "--samples", "5", "--json", json, "--build", "./build"];
    let output = app(&[&time[..], &["--", "./app"]].concat());
    assert!(output.status.success(), "{}", said(&output));
    assert!(said(&output).contains("speed-up   1.5000 [1.5000, 1.5000]; 4 shuffles in 1 kernels"));
    let result: Value =
        serde_json::from_str(&std::fs::read_to_string(json).expect("written")).expect("JSON");
    assert_eq!(result["medians"]["off"], 30.0);
    // Nothing is left in the folder itself, which was copied.
    assert!(!folder.path().join("mode").exists());
    // Where ptxasw is not called, both are the same program.
    let output = app(&["--samples", "2", "true"]);
    assert!(said(&output).contains("ptxasw was not called"), "{}", said(&output));
    assert!(said(&output).contains("too few samples for an interval"), "{}", said(&output));
    assert_eq!(app(&["false"]).status.code(), Some(1));
    assert_eq!(app(&["--time", "no group", "true"]).status.code(), Some(2));
}

/// The launch files for the interpreter's kernels are about kernels there are.
#[test]
fn launch_files_of_the_interpreters_kernels_run() {
    let launches = common::root().join("tests/ab/launch");
    let mut count = 0;
    for entry in launches.read_dir().expect("a folder").flatten() {
        let name = entry.file_name().into_string().expect("UTF-8");
        let kernels = name.split('.').next().expect("a name");
        let output = Command::new(env!("CARGO_BIN_EXE_ptxasw"))
            .arg("run")
            .arg(common::root().join(format!("tests/interp/kernels/{kernels}.ptx")))
            .arg("--launch")
            .arg(entry.path())
            .output()
            .expect("runs");
        assert!(output.status.success(), "{name}: {}", said(&output));
        count += 1;
    }
    assert!(count >= 10, "{count}");
}
