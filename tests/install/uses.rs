//! Installing as people do it, with the program itself.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use ptxasw::install::state::MARK;

use crate::folder::{Folder, PTXASW, REAL, real_ptxas, stderr, stdout};

/// What the stand-in in `bin` answers to `--version`, which is what the real one answers.
fn version(folder: &Folder) -> String {
    stdout(&folder.call(folder.path("bin/ptxas")).arg("--version").output().unwrap())
}

#[test]
fn there_and_back() {
    let folder = Folder::new();
    let plain = folder.contents();
    let said = folder.ptxasw(&["install", "."]);
    assert!(said.contains("/bin/ptxas is ptxasw now; the real one is "), "{said}");
    assert_eq!(folder.names(), ["ptxas", "ptxas.real"]);
    assert!(!folder.path("bin/ptxas").is_symlink());
    assert!(version(&folder).contains("release 99.1"));
    assert!(folder.ptxasw(&["install", "bin"]).contains("is this ptxasw already"));
    let said = folder.ptxasw(&["install", "--link", "."]);
    assert!(said.contains("as a link to "), "{said}");
    assert_eq!(fs::canonicalize(folder.path("bin/ptxas")).unwrap(), Path::new(PTXASW));
    assert!(version(&folder).contains("release 99.1"));
    assert!(folder.ptxasw(&["uninstall", "."]).contains("is the real one again"));
    assert!(folder.contents() == plain);
    assert!(folder.ptxasw(&["uninstall", "."]).contains("nothing to do"));
}

#[test]
fn an_older_one_is_replaced() {
    let folder = Folder::new();
    folder.ptxasw(&["install", "."]);
    let mark = String::from_utf8_lossy(MARK);
    folder.script("bin/ptxas", &format!("#!/bin/sh\n# {mark}\necho ptxasw 0\n"));
    assert!(folder.ptxasw(&["install", "."]).contains("was brought up to date"));
    assert!(fs::read(folder.path("bin/ptxas")).unwrap() == fs::read(PTXASW).unwrap());
    assert!(fs::read(folder.path("bin/ptxas.real")).unwrap() == REAL.as_bytes());
}

#[test]
fn a_toolkit_without_a_bin_folder() {
    let folder = Folder::new();
    folder.ptxasw(&["install", "bin"]);
    assert!(version(&folder).contains("release 99.1"));
    folder.ptxasw(&["uninstall", "bin"]);
    assert_eq!(folder.names(), ["ptxas"]);
}

#[test]
fn other_names_of_nvidias_assembler() {
    let folder = Folder::new();
    folder.script("bin/ptxas-blackwell", &REAL.replace("99.1", "100.0"));
    folder.ptxasw(&["install", "--as", "ptxas-blackwell", "."]);
    assert_eq!(folder.names(), ["ptxas", "ptxas-blackwell", "ptxas-blackwell.real"]);
    let answer = |explicit: &str| {
        let mut call = folder.call(folder.path("bin/ptxas-blackwell"));
        stdout(&call.env("PTXASW_PTXAS", explicit).arg("--version").output().unwrap())
    };
    assert!(answer("").contains("release 100.0"));
    assert!(answer("bin/ptxas").contains("release 100.0"), "its own real one comes first");
    folder.ptxasw(&["uninstall", "--as", "ptxas-blackwell", "."]);
    assert_eq!(folder.names(), ["ptxas", "ptxas-blackwell"]);
}

#[test]
fn calls_meanwhile_never_find_it_missing() {
    // Not a script: the shell opens those a second time, when another program may have the name.
    let Some(ptxas) = real_ptxas() else { return };
    let folder = Folder::empty();
    folder.program("bin/ptxas", ptxas);
    calls_during(&folder, || {
        for round in 0..10 {
            folder.ptxasw(if round % 2 == 0 { &["install", "."] } else { &["uninstall", "."] });
        }
    });
}

#[test]
fn calls_never_find_it_missing_however_often_it_comes_and_goes() {
    let Some(ptxas) = real_ptxas() else { return };
    let folder = Folder::empty();
    folder.program("bin/ptxas", ptxas);
    let [front, real, new] =
        ["bin/ptxas", "bin/ptxas.real", "bin/new"].map(|name| folder.path(name));
    calls_during(&folder, || {
        for round in 0..6_000_u64 {
            // The steps of an installation and the one of its removal, as fast as they can follow.
            if round % 2 == 0 {
                std::fs::hard_link(&front, &real).unwrap();
                std::os::unix::fs::symlink(PTXASW, &new).unwrap();
                std::fs::rename(&new, &front).unwrap();
            } else {
                std::fs::rename(&real, &front).unwrap();
            }
            std::thread::sleep(Duration::from_micros(round * 7919 % 400));
        }
    });
}

/// Calls `bin/ptxas` until `work` is done; each call must reach the real one.
fn calls_during(folder: &Folder, work: impl FnOnce()) {
    let (done, calls) = (AtomicBool::new(false), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    let output = folder.call(folder.path("bin/ptxas")).arg("--version").output();
                    // Somebody else's fork may hold a file open that was just written.
                    if output
                        .as_ref()
                        .is_err_and(|e| e.kind() == std::io::ErrorKind::ExecutableFileBusy)
                    {
                        continue;
                    }
                    let output = output.unwrap();
                    assert!(
                        stdout(&output).contains("Ptx optimizing"),
                        "{output:?} {:?}",
                        folder.names()
                    );
                    calls.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        work();
        done.store(true, Ordering::Relaxed);
    });
    assert!(calls.into_inner() > 0);
}

#[test]
fn a_killed_installation_can_be_repeated() {
    let mut killed = 0;
    for milliseconds in [1, 2, 4, 8, 16, 32, 64] {
        let folder = Folder::new();
        let mut call = folder.call(PTXASW);
        let call = call.args(["install", "."]).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = call.spawn().unwrap();
        std::thread::sleep(Duration::from_millis(milliseconds));
        child.kill().unwrap();
        killed += usize::from(child.wait().unwrap().signal().is_some());
        assert!(version(&folder).contains("release 99.1"), "{:?}", folder.names());
        folder.ptxasw(&["install", "."]);
        assert_eq!(folder.names(), ["ptxas", "ptxas.real"]);
        folder.ptxasw(&["uninstall", "."]);
        assert_eq!(folder.names(), ["ptxas"]);
        assert!(fs::read(folder.path("bin/ptxas")).unwrap() == REAL.as_bytes());
    }
    assert!(killed > 0);
}

#[test]
fn the_message_names_the_help() {
    let folder = Folder::empty();
    let output = folder.call(PTXASW).args(["install", "."]).output().unwrap();
    assert!(stderr(&output).contains("\n  help: name the folder of a toolkit"), "{output:?}");
}
