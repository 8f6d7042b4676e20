//! Messages that cannot be written: the exit status is that of a call whose messages somebody reads.

use crate::support::{Bench, PTXASW};
use std::fs::{File, OpenOptions};
use std::path::Path;
use std::process::{Command, Stdio};

/// The tests of this file.
pub const TESTS: crate::Tests = &[
    (
        "a_message_that_cannot_be_written_changes_nothing",
        a_message_that_cannot_be_written_changes_nothing,
    ),
    ("output_that_cannot_be_written_is_an_error", output_that_cannot_be_written_is_an_error),
];

/// Where standard error goes.
const KINDS: [&str; 4] = ["read", "full", "closed", "broken pipe"];

/// Makes a call whose standard error is of a kind, and returns its exit status.
fn status(mut call: Command, kind: &str) -> Option<i32> {
    call.stdout(Stdio::null());
    match kind {
        "read" => return call.output().unwrap().status.code(),
        "full" => call.stderr(full()),
        "closed" => {
            let program = call.get_program().to_owned();
            let words: Vec<_> = call.get_args().map(ToOwned::to_owned).collect();
            let mut shell = crate::support::command(Path::new("/bin/sh"));
            shell.args(["-c", r#"exec "$0" "$@" 2>&-"#]).arg(program).args(words);
            shell.current_dir(call.get_current_dir().unwrap()).stdout(Stdio::null());
            for (name, value) in call.get_envs() {
                shell.env(name, value.unwrap_or_default());
            }
            return shell.status().unwrap().code();
        }
        _ => {
            let (reader, writer) = std::io::pipe().unwrap();
            drop(reader);
            call.stderr(writer)
        }
    };
    call.status().unwrap().code()
}

/// A file to which nothing can be written.
fn full() -> File {
    OpenOptions::new().write(true).open("/dev/full").unwrap()
}

fn a_message_that_cannot_be_written_changes_nothing() {
    let bench = Bench::new();
    bench.input("k.ptx", &[]);
    let write =
        |name: &str, text: &str| std::fs::write(bench.path("work").join(name), text).unwrap();
    write("bad.ptx", ".version 7.0\nnonsense\n");
    write("bad.json", "{");
    write("bad.sketch", "nonsense");
    write("loop.sketch", "loop (s = 0) over x: f32 { s = s * x + s * s }\nresult s\n");
    for (expected, words) in [
        (2, &["parse", "nofile"][..]),
        (2, &["parse", "bad.ptx"]),
        (2, &["rewrite", "nofile"]),
        (0, &["rewrite", "--mode", "no-load", "k.ptx"]),
        (0, &["rewrite", "--timings", "k.ptx"]),
        (2, &["candidates", "--kernel", "x", "k.ptx"]),
        (2, &["explain", "nothing"]),
        (2, &["trace", "nofile"]),
        (2, &["cfg", "nofile"]),
        (2, &["launch", "--kernel", "x", "k.ptx"]),
        (2, &["run", "k.ptx", "--launch", "bad.json"]),
        (2, &["verify", "k.ptx", "nofile"]),
        (2, &["ab", "k.ptx", "--launch", "bad.json"]),
        (2, &["tune", "k.ptx", "--launch", "bad.json"]),
        (2, &["synth", "bad.sketch"]),
        (2, &["lint", "nofile"]),
        (2, &["asm", "nofile"]),
        (2, &["compare", "nofile", "nofile"]),
        (2, &["report", "nofile"]),
        (2, &["install", "nofile"]),
        (2, &["uninstall", "nofile"]),
        (2, &["toolkit", "nofile", "other"]),
        (2, &["nothing"]),
        (2, &["rewrite", "--mode", "x", "k.ptx"]),
        (2, &["ptxas", "--", "k.ptx"]),
    ] {
        let found = KINDS.map(|kind| {
            let mut call = bench.call(Path::new(PTXASW), words);
            // A pipe that nobody reads ends ptxas by a signal, and so its stand-in.
            let is_stand_in = words[0] == "ptxas";
            let kind = if is_stand_in && kind == "broken pipe" { "full" } else { kind };
            call.env("PTXASW_PTXAS", "/nowhere/ptxas").env("PTXASW_LOG", "info");
            status(call, kind)
        });
        assert_eq!(found, [Some(expected); 4], "{words:?}, {KINDS:?}");
    }
}

/// Standard output is what was asked for: without it, the call has failed.
fn output_that_cannot_be_written_is_an_error() {
    let bench = Bench::new();
    bench.input("k.ptx", &[]);
    for words in
        [&["parse", "k.ptx"][..], &["rewrite", "k.ptx"], &["candidates", "k.ptx"], &["explain"]]
    {
        let mut call = bench.call(Path::new(PTXASW), words);
        assert_eq!(
            call.stdout(full()).stderr(full()).status().unwrap().code(),
            Some(2),
            "{words:?}"
        );
    }
}
