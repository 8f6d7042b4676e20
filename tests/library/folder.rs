//! The folder that the library is written into.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use super::LIBRARY;

fn write(folder: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ptxasw"));
    // (The bytes are the same with any number of threads.)
    command.env("RAYON_NUM_THREADS", "3").args(["synth", "--library"]).arg(folder).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A file of the library's own is replaced, also in a folder that is there; the bytes are those of another process.
#[test]
fn a_library_is_written_anew_with_the_same_bytes() {
    let there = tempfile::tempdir().unwrap();
    let folder = there.path().join("include/ptxasw");
    fs::create_dir_all(&folder).unwrap();
    let old =
        "// structs.cuh, written by `ptxasw synth --library`: it writes this file anew.\nold\n";
    fs::write(folder.join("structs.cuh"), old).unwrap();
    let output = write(&folder);
    assert!(output.status.success(), "{}", said(&output));
    let mut files: Vec<String> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    files.sort();
    let mut expected: Vec<&str> = LIBRARY.headers.iter().map(|header| header.file).collect();
    expected.sort_unstable();
    assert_eq!(files, expected);
    for header in &LIBRARY.headers {
        let written = fs::read_to_string(folder.join(header.file)).unwrap();
        assert!(written == header.text, "{} is another text", header.file);
    }
    let listed = String::from_utf8_lossy(&output.stdout).into_owned();
    let functions: usize = LIBRARY.headers.iter().map(|header| header.functions).sum();
    assert!(listed.contains(&format!(": {functions} functions")), "{listed}");
}

/// Nothing is written where something else lies, and the message says what to do.
#[test]
fn what_lies_in_the_folder_stays_untouched() {
    let there = tempfile::tempdir().unwrap();
    let refused = |folder: &Path, why: &str| {
        let output = write(folder);
        assert_eq!(output.status.code(), Some(2));
        assert!(output.stdout.is_empty() && said(&output).contains(why), "{}", said(&output));
    };
    for (name, text) in [("notes.txt", "mine"), ("structs.cuh", "#pragma once\n"), (".hidden", "")]
    {
        let folder = there.path().join(name).join("include");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(name), text).unwrap();
        refused(&folder, &format!("`{name}` is not of the library, and nothing was written"));
        refused(&folder, "name a folder that is empty or not there yet, for example");
        assert_eq!(fs::read_to_string(folder.join(name)).unwrap(), text);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "{name}");
    }
    // A folder of a file's name, and a file in the place of the folder.
    let folder = there.path().join("folders");
    fs::create_dir_all(folder.join("structs.cuh")).unwrap();
    refused(&folder, "`structs.cuh` is not of the library");
    let file = there.path().join("file");
    fs::write(&file, "mine").unwrap();
    refused(&file, "the library needs a folder");
    assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
}

/// What has no meaning beside the library is an error.
#[test]
fn other_options_are_refused() {
    let there = tempfile::tempdir().unwrap();
    for options in [
        &["a.sketch"][..],
        &["--header"],
        &["--first"],
        &["--count"],
        &["--emit", "cuda"],
        &["-D", "S=3"],
        &["--check"],
        &["-o", "file"],
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ptxasw"));
        command.args(["synth", "--library"]).arg(there.path().join("new")).args(options);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{options:?}");
        assert!(said(&output).contains("cannot be used with"), "{options:?}: {}", said(&output));
    }
    assert!(!there.path().join("new").exists());
}
