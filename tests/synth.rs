//! `ptxasw synth`: every sketch of `tests/synth` against the output in it, every message of
//! `tests/synth/errors.txt`, small random sketches against an exhaustive search that knows no pruning, the same
//! bytes with any number of threads, networks against closed formulas, places against the interpreter, every operator
//! of a loop and its code against the loop, and the code of every solution against the goals; a long search on
//! a terminal.
//!
//! At the end of a sketch `#$` begins the options of a call, `#=` its exit status unless it is 0, and `#>` each line
//! that it prints. `BLESS=1` writes the output.

#![expect(clippy::disallowed_methods, reason = "the program under test is a process")]

mod brute;
mod catalogue;
mod cheapest;
mod emitted;
mod loops;
mod networks;
mod operators;
mod places;
mod planted;
mod planted_cuda;
mod planted_scans;
mod terminal;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::turns::has_turn;
use ptxasw::source::SourceFile;
use ptxasw::synth::{ast::Statement, lower::lower, network, parse, place, scan};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/synth")
}

fn sketches() -> Vec<PathBuf> {
    let entries = fs::read_dir(folder()).expect("the folder can be read");
    let paths = entries.map(|entry| entry.expect("the entry can be read").path());
    let mut found: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|kind| kind == "sketch")).collect();
    found.sort();
    assert!(found.len() > 7, "{found:?}");
    found
}

/// Calls the program on a sketch of the folder: status and output.
fn call(sketch: &Path, options: &str, threads: usize) -> (i32, String) {
    let done = Command::new(env!("CARGO_BIN_EXE_ptxasw"))
        .current_dir(folder())
        .env("RAYON_NUM_THREADS", threads.to_string())
        .arg("synth")
        .arg(sketch.file_name().expect("a file"))
        .args(options.split_whitespace())
        .output()
        .expect("the program can be started");
    let mut text = String::from_utf8_lossy(&done.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&done.stderr));
    (done.status.code().unwrap_or(-1), text)
}

fn bless() -> bool {
    std::env::var_os("BLESS").is_some()
}

/// What a file holds in front of its calls, and the options of these.
fn calls(text: &str) -> (&str, Vec<&str>) {
    let start = text.find("#$").unwrap_or(text.len());
    let calls = text[start..].lines().filter_map(|line| line.strip_prefix("#$"));
    (&text[..start], calls.map(str::trim).collect())
}

#[test]
fn sketches_have_the_solutions_that_stand_in_them() {
    let mut failures = Vec::new();
    for (_, path) in
        sketches().into_iter().enumerate().filter(|(at, _)| bless() || has_turn(*at, 3))
    {
        let text = fs::read_to_string(&path).expect("the sketch can be read");
        let (sketch, calls) = calls(&text);
        assert!(!calls.is_empty(), "{} expects nothing", path.display());
        let mut actual = sketch.to_owned();
        for options in calls {
            let _ = writeln!(actual, "{}", format!("#$ {options}").trim_end());
            let (status, printed) = call(&path, options, 2);
            if status != 0 {
                let _ = writeln!(actual, "#= {status}");
            }
            for line in printed.lines() {
                let _ = writeln!(actual, "{}", format!("#> {line}").trim_end());
            }
        }
        if bless() {
            fs::write(&path, actual).expect("the sketch can be written");
        } else if actual != text {
            failures.push(format!("{}: what was found is\n{actual}", path.display()));
        }
    }
    assert!(failures.is_empty(), "{}\nBLESS=1 writes what was found.", failures.join("\n"));
}

/// `--struct N` is the sketch of the library with that many words.
#[test]
fn the_structs_of_the_library_need_no_file() {
    let solve = |arguments: &[&str]| {
        let done = Command::new(env!("CARGO_BIN_EXE_ptxasw")).arg("synth").args(arguments).output();
        let done = done.expect("the program can be started");
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).expect("a text")
    };
    let sketch = folder().join("../../src/synth/synth/library/structs.sketch");
    let sketch = sketch.to_string_lossy();
    for words in 2..=16 {
        let (number, define) = (words.to_string(), format!("S={words}"));
        let built_in = solve(&["--struct", &number, "--check"]);
        assert_eq!(built_in, solve(&[&sketch, "-D", &define]), "{words} words");
    }
    assert!(solve(&["--struct", "6", "--emit", "cuda"]).contains("struct6"));
}

#[test]
fn the_output_is_the_same_with_any_number_of_threads() {
    for name in ["crc", "linear", "stencil2d"] {
        let path = folder().join(name).with_extension("sketch");
        for options in ["--all", "--cheapest --emit json", "--first", "--all --tables 500"] {
            let one = call(&path, options, 1);
            assert!(one.0 == 0 || one.0 == 3, "{name} {options}: {}", one.1);
            assert_eq!(one, call(&path, options, 16), "{name} {options}");
        }
    }
}

/// The cases of `errors.txt`: what stands between a line `=== title` and the lines `#>` of the message.
#[test]
fn each_mistake_has_its_message() {
    let path = folder().join("errors.txt");
    let text = fs::read_to_string(&path).expect("the cases can be read");
    let mut actual = String::new();
    let mut count = 0;
    for case in text.split("=== ").skip(1) {
        let sketch: String = case.lines().skip(1).filter(|line| !line.starts_with("#>")).fold(
            String::new(),
            |mut all, line| {
                all.push_str(line);
                all.push('\n');
                all
            },
        );
        let source = SourceFile::new("sketch", sketch.as_str());
        let read = |tree: Vec<Statement>| {
            if network::is_network(&tree) {
                network::problem(&source, &tree, &[]).map(|_| ())
            } else if place::is_placement(&tree) {
                place::problem(&source, &tree, &[]).map(|_| ())
            } else if scan::is_loop(&tree) {
                scan::read(&source, &tree, &[]).map(drop)
            } else {
                lower(&source, &tree, &[], 3).map(|_| ())
            }
        };
        let message = match parse(&source).and_then(read) {
            Ok(()) => panic!("this sketch is fine:\n{case}"),
            Err(message) => message.to_string(),
        };
        let _ = write!(actual, "=== {}\n{sketch}", case.lines().next().unwrap_or_default());
        for line in message.lines() {
            let _ = writeln!(actual, "{}", format!("#> {line}").trim_end());
        }
        count += 1;
    }
    assert!(count > 20, "{count} cases");
    if bless() {
        fs::write(&path, actual).expect("the cases can be written");
    } else {
        assert!(actual == text, "BLESS=1 writes the messages:\n{actual}");
    }
}
