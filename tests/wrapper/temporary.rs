//! Temporary folders of calls that were killed: a later call removes them, and nothing else.

use crate::interrupt::wait_for_ptxas;
use crate::support::{Bench, run};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::Duration;

/// The tests of this file.
pub const TESTS: crate::Tests = &[
    ("killed_calls_leave_a_folder_that_goes_later", killed_calls_leave_a_folder_that_goes_later),
    ("folders_of_living_calls_stay", folders_of_living_calls_stay),
    ("other_folders_stay", other_folders_stay),
];

/// A call that waits in the real ptxas, and its folder.
fn waiting(bench: &Bench) -> (Child, PathBuf) {
    bench.input("wait.ptx", &["// rewrite: wait"]);
    bench.input("a.ptx", &["// rewrite: insert"]);
    let mut child = bench.stand_in(&["wait.ptx"]).spawn().unwrap();
    wait_for_ptxas(bench, &mut child);
    let names = bench.names("tmp");
    assert!(names.len() == 1 && names[0].starts_with("ptxasw-call-"), "{names:?}");
    (child, bench.path("tmp").join(&names[0]))
}

/// Ends the fake ptxas that waits, which a killed call leaves running.
fn end_ptxas(bench: &Bench) {
    let id = bench.noted("call.1.pid").unwrap();
    let id = Pid::from_raw(id.trim().parse().unwrap()).unwrap();
    kill_process(id, Signal::TERM).unwrap();
}

/// Makes a folder that was just made two hours old.
fn age(folder: &Path) {
    let folder = File::open(folder).unwrap();
    let made = folder.metadata().unwrap().modified().unwrap();
    folder.set_modified(made - Duration::from_secs(7200)).unwrap();
}

/// Makes a folder as a call does: for its user alone.
fn make(folder: &Path) {
    DirBuilder::new().mode(0o700).create(folder).unwrap();
}

/// One call that succeeds in silence.
fn call(bench: &Bench) {
    let output = run(bench.stand_in(&["a.ptx"]));
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}

fn killed_calls_leave_a_folder_that_goes_later() {
    let bench = Bench::new();
    let (mut child, left) = waiting(&bench);
    child.kill().unwrap();
    child.wait().unwrap();
    end_ptxas(&bench);
    call(&bench);
    assert!(left.exists(), "it is too young");
    age(&left);
    // A call does not wait for the removal, and may end before it.
    for _ in 0..100 {
        call(&bench);
        if !left.exists() {
            assert_eq!(bench.names("tmp"), [""; 0]);
            return;
        }
    }
    panic!("{} stays", left.display());
}

fn folders_of_living_calls_stay() {
    let bench = Bench::new();
    let (mut child, folder) = waiting(&bench);
    age(&folder);
    // Another stale folder shows that calls did look.
    let stale = bench.path("tmp/ptxasw-call-stale0");
    make(&stale);
    age(&stale);
    for _ in 0..100 {
        call(&bench);
        if !stale.exists() {
            break;
        }
    }
    assert!(!stale.exists());
    assert!(folder.join("0.ptx").exists());
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    child.wait().unwrap();
    assert!(!folder.exists());
}

fn other_folders_stay() {
    let bench = Bench::new();
    bench.input("a.ptx", &["// rewrite: insert"]);
    let other = bench.path("tmp/another-call-x");
    let users = bench.path("work/users");
    let stale = bench.path("tmp/ptxasw-call-stale0");
    for folder in [&other, &users, &stale] {
        make(folder);
        fs::write(folder.join("0.ptx"), "text").unwrap();
        age(folder);
    }
    bench.link(&users, "tmp/ptxasw-call-aalink");
    for _ in 0..100 {
        call(&bench);
        if !stale.exists() {
            break;
        }
    }
    assert!(!stale.exists());
    assert!(other.join("0.ptx").exists() && users.join("0.ptx").exists());
    assert!(bench.path("tmp/ptxasw-call-aalink").is_symlink());
}
