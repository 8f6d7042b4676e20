//! Unrecognised files stay unchanged, and the reason is given.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;

use crate::folder::{Folder, PTXASW, REAL, stderr};

/// A change to a folder with a real `bin/ptxas`.
type Change = fn(&Folder);

/// The change to the folder, the call, and a part of the message.
const CASES: &[(Change, &[&str], &str)] = &[
    (|f| fs::remove_file(f.path("bin/ptxas")).unwrap(), &["install", "."], "there is no ptxas in"),
    (|_| {}, &["install", "no/such"], "no/such: there is no such folder"),
    (|_| {}, &["install", "bin/ptxas"], "bin/ptxas: this is not a folder"),
    (
        |f| fs::set_permissions(f.path("bin/ptxas"), fs::Permissions::from_mode(0o644)).unwrap(),
        &["install", "."],
        "bin/ptxas: this is not executable",
    ),
    (
        |f| {
            fs::remove_file(f.path("bin/ptxas")).unwrap();
            fs::create_dir(f.path("bin/ptxas")).unwrap();
        },
        &["install", "."],
        "bin/ptxas: this is not a file",
    ),
    (
        |f| drop(f.script("bin/ptxas", "#!/bin/sh\necho 'GNU assembler (GNU Binutils) 2.40'\n")),
        &["install", "."],
        "bin/ptxas: it does not answer `--version` like NVIDIA's ptxas",
    ),
    (
        |f| drop(f.script("bin/ptxas", "#!/bin/sh\necho Ptx optimizing assembler; exit 1\n")),
        &["install", "."],
        "bin/ptxas: `--version` fails",
    ),
    (
        |f| fs::write(f.path("bin/ptxas"), "\u{7f}ELF nonsense").unwrap(),
        &["install", "."],
        "bin/ptxas: it cannot be run",
    ),
    (
        |f| drop(f.script("bin/ptxas.real", "#!/bin/sh\n")),
        &["install", "."],
        "bin/ptxas is not ptxasw, and",
    ),
    (
        |f| drop(f.script("bin/ptxas.real", "#!/bin/sh\n")),
        &["uninstall", "."],
        "bin/ptxas is not ptxasw, and",
    ),
    (
        |f| {
            fs::remove_file(f.path("bin/ptxas")).unwrap();
            symlink(PTXASW, f.path("bin/ptxas")).unwrap();
        },
        &["install", "."],
        "bin/ptxas.real: this is missing",
    ),
    (
        |f| {
            fs::remove_file(f.path("bin/ptxas")).unwrap();
            symlink(PTXASW, f.path("bin/ptxas")).unwrap();
            symlink(PTXASW, f.path("bin/ptxas.real")).unwrap();
        },
        &["uninstall", "."],
        "bin/ptxas.real: this is ptxasw as well",
    ),
    (|_| {}, &["install", "--as", "bin/ptxas", "."], "is not the name of an assembler"),
    (|_| {}, &["install", "--as", "ptxas.real", "."], "is not the name of an assembler"),
    (|_| {}, &["install", "--as", "ptxasw", "."], "is not the name of an assembler"),
    (|_| {}, &["install", "--as", "nvptx-none-as", "."], "there is no nvptx-none-as in"),
    (
        |f| drop(f.script("bin/as", "#!/bin/sh\necho 'GNU assembler (GNU Binutils) 2.40'\n")),
        &["install", "--as", "as", "."],
        "like GCC's assembler for nvptx",
    ),
    (|_| {}, &["toolkit", "tmp", "new"], "there is no ptxas in"),
    (|_| {}, &["toolkit", ".", "bin"], "bin: this exists and was not made by `ptxasw toolkit`"),
    (|_| {}, &["toolkit", ".", "no/such/new"], "No such file or directory"),
];

#[test]
fn what_is_not_recognised_stays() {
    for (change, arguments, message) in CASES {
        let folder = Folder::new();
        change(&folder);
        let said = folder.refused(arguments);
        assert!(said.starts_with("ptxasw: error: ") && said.contains(message), "{message}: {said}");
    }
}

#[test]
fn a_folder_that_cannot_be_written_stays() {
    let folder = Folder::new();
    // Neither a system's administrator nor anybody else may write here.
    let program = folder.program("ptxasw", PTXASW);
    let before = folder.contents();
    fs::set_permissions(folder.path("bin"), fs::Permissions::from_mode(0o555)).unwrap();
    let mut call = folder.call(&program);
    call.args(["install", "."]);
    if rustix::process::geteuid().is_root() {
        call.uid(65534).gid(65534);
    }
    let output = call.output().unwrap();
    fs::set_permissions(folder.path("bin"), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let said = stderr(&output);
    assert!(said.contains("cannot write in ") && said.contains("Permission denied"), "{said}");
    assert!(folder.contents() == before);
    assert!(fs::read(folder.path("bin/ptxas")).unwrap() == REAL.as_bytes());
}
