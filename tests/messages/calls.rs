//! Files with calls. A line `== TITLE` begins a fresh folder, `> NAME` a file in it whose lines stand below behind `|
//! `, and `$ CALL` a call by the shell. The output follows, two columns to the right: standard output and standard
//! error together, then the exit status in brackets if it is not 0. Other lines are comments.
//!
//! `ptxasw` is the program, `ptxas` a copy of it in front of an assembler that assembles nothing (`tests/wrapper/fake-ptxas`), and
//! `$ROOT` the repository.

#![expect(clippy::disallowed_methods, reason = "the program under test is a process")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use rayon::prelude::*;
use tempfile::TempDir;

use super::{folder, hold};
use crate::common::root;

/// A fresh folder with the programs.
fn fresh() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let program = Path::new(env!("CARGO_BIN_EXE_ptxasw"));
    for part in ["bin", "files", "tmp"] {
        fs::create_dir(folder.path().join(part)).expect("a folder");
    }
    for (target, name) in [
        (program, "bin/ptxasw"),
        (program, "bin/ptxas"),
        (&root().join("tests/wrapper/fake-ptxas"), "bin/ptxas.real"),
    ] {
        symlink(target, folder.path().join(name)).expect("a link");
    }
    folder
}

/// What a call prints, with its exit status.
fn called(call: &str, folder: &Path) -> String {
    let output = Command::new("/bin/sh")
        .args(["-c", &format!("{{ {call}\n}} 2>&1")])
        .current_dir(folder.join("files"))
        .env_clear()
        .env("PATH", format!("{}:/usr/bin:/bin", folder.join("bin").display()))
        .env("ROOT", root())
        .env("HOME", folder)
        .env("TMPDIR", folder.join("tmp"))
        .env("COLUMNS", "120")
        .stdin(Stdio::null())
        .output()
        .expect("a shell");
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    for (path, name) in [(folder, "FOLDER"), (root(), "ROOT")] {
        text = text.replace(&path.display().to_string(), name);
    }
    // An empty line would not be recognised as output.
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let mut shown: String = lines.map(|line| format!("  {}\n", line.trim_end())).collect();
    match output.status.code() {
        Some(0) => {}
        code => {
            shown += &format!("  [{}]\n", code.map_or("signal".to_owned(), |code| code.to_string()))
        }
    }
    shown
}

/// One title of a file with what its calls print now.
fn replayed(part: &str) -> String {
    let folder = fresh();
    let mut found = String::new();
    let mut lines = part.lines().peekable();
    while let Some(line) = lines.next() {
        if line.starts_with("  ") {
            continue;
        }
        found += &format!("{line}\n");
        if let Some(name) = line.strip_prefix("> ") {
            let mut text = String::new();
            while let Some(line) = lines.next_if(|line| line.starts_with('|')) {
                found += &format!("{line}\n");
                text += &format!("{}\n", line[1..].strip_prefix(' ').unwrap_or(&line[1..]));
            }
            fs::write(folder.path().join("files").join(name), text).expect("a file");
        } else if let Some(call) = line.strip_prefix("$ ") {
            found += &called(call, folder.path());
        }
    }
    found
}

#[test]
fn calls_print_what_is_written() {
    let names = fs::read_dir(folder()).expect("the folder is there");
    let names =
        names.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
    let mut files = 0;
    for name in names.filter(|name| name.ends_with(".txt")) {
        let text = fs::read_to_string(folder().join(&name)).expect("a text");
        let Some(first) = text.find("\n== ") else { continue };
        let (head, rest) = text.split_at(first + 1);
        let parts: Vec<&str> =
            rest.split_inclusive("\n\n").fold(Vec::new(), |mut parts: Vec<&str>, part| {
                // A title reaches up to the next one; empty lines do not end it.
                match parts.last_mut() {
                    Some(last) if !part.starts_with("== ") => {
                        let start = last.as_ptr() as usize - rest.as_ptr() as usize;
                        *last = &rest[start..start + last.len() + part.len()];
                    }
                    _ => parts.push(part),
                }
                parts
            });
        let replayed: Vec<String> = parts.par_iter().map(|part| replayed(part)).collect();
        hold(&name, &(head.to_owned() + &replayed.concat()));
        files += 1;
    }
    assert!(files >= 5, "{files} files with calls");
}
