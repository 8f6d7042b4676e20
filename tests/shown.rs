//! The output that the pages show is the program's: each `$ ptxasw ...` in an indented block whose files are in the
//! repository is run, and the lines below it must occur in its output, in their order.

#![expect(clippy::disallowed_methods, reason = "the program under test is a process")]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

const MARGIN: &str = "    ";

/// The calls in a page's indented blocks, each with the lines that are shown below it.
fn shown(page: &str) -> Vec<(&str, Vec<&str>)> {
    let mut calls: Vec<(&str, Vec<&str>)> = Vec::new();
    let mut open = false;
    for line in page.lines() {
        let Some(text) = line.strip_prefix(MARGIN) else {
            open = false;
            continue;
        };
        if let Some(call) = text.strip_prefix("$ ") {
            open = call.starts_with("ptxasw ");
            if open {
                calls.push((call, Vec::new()));
            }
        } else if let Some((_, lines)) = calls.last_mut().filter(|_| open) {
            lines.push(text);
        }
    }
    calls
}

/// The words of a line; how they are set apart does not count.
fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// Why the shown lines are not in an output: they must follow each other, except where `...` stands for any lines.
fn difference(lines: &[&str], output: &str) -> Option<String> {
    let mut rest = output.lines();
    let mut skipping = false;
    for line in lines {
        if line.trim() == "..." {
            skipping = true;
            continue;
        }
        let wanted = words(line);
        let found = if skipping {
            rest.any(|l| words(l) == wanted)
        } else {
            rest.next().map(words) == Some(wanted)
        };
        if !found {
            return Some(format!("`{line}` is not there in:\n{output}"));
        }
        skipping = false;
    }
    (!skipping && rest.next().is_some()).then(|| format!("more is printed than shown:\n{output}"))
}

#[test]
fn readme_shows_what_the_program_prints() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("README.md")).expect("it is there");
    assert!(page.lines().count() <= 110, "README.md is what a user needs, in 110 lines");
    let calls = shown(&page);
    assert!(calls.len() >= 3, "{calls:?}");
    for (call, lines) in calls {
        let mut program = Command::new(env!("CARGO_BIN_EXE_ptxasw"));
        program.current_dir(root).args(call.split_whitespace().skip(1));
        let output = program.output().expect("it runs");
        assert!(output.status.success(), "{call}: {output:?}");
        let text = String::from_utf8(output.stdout).expect("a text");
        assert!(!lines.is_empty(), "nothing is shown of {call}");
        if let Some(why) = difference(&lines, &text) {
            panic!("{call}: {why}");
        }
    }
}

/// The pages: calls that name a file of the repository, or one that an earlier call of the page has written.
#[test]
fn pages_show_what_the_program_prints() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut checked = 0;
    for entry in fs::read_dir(root.join("docs")).expect("it is there") {
        let path = entry.expect("an entry").path();
        let page = fs::read_to_string(&path).unwrap_or_default();
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["ptx-samples", "openacc-bench", "tests"] {
            symlink(root.join(name), folder.path().join(name)).expect("a link");
        }
        for (call, lines) in shown(&page) {
            let arguments: Vec<&str> = call.split_whitespace().skip(1).collect();
            if !arguments.iter().any(|word| folder.path().join(word).is_file()) {
                continue;
            }
            let mut program = Command::new(env!("CARGO_BIN_EXE_ptxasw"));
            let output = program.current_dir(&folder).args(&arguments).output().expect("it runs");
            assert!(output.status.success(), "{}: {call}: {output:?}", path.display());
            let text = String::from_utf8(output.stdout).expect("a text");
            if let Some(why) = difference(&lines, &text).filter(|_| !lines.is_empty()) {
                panic!("{}: {call}: {why}", path.display());
            }
            checked += 1;
        }
    }
    assert!(checked >= 6, "{checked} calls");
}

#[test]
fn what_is_shown_has_to_be_there() {
    let output = "a  b\nc\nd\n";
    assert_eq!(difference(&["a b", "c", "d"], output), None);
    assert_eq!(difference(&["a b", "..."], output), None);
    assert_eq!(difference(&["...", "d"], output), None);
    for wrong in
        [&["a b", "d"][..], &["c", "d"], &["a b", "c"], &["...", "d", "c"], &["...", "e", "..."]]
    {
        assert!(difference(wrong, output).is_some(), "{wrong:?}");
    }
}
