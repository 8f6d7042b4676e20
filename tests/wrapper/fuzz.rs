//! Random calls by `scripts/fuzz calls`, which knows nothing of this program: a fixed number of the calls of
//! one seed. For longer runs, call the script.

use crate::support::{PTXASW, command, real_ptxas, run, stderr, stdout};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread;

/// The tests of this file.
pub const TESTS: crate::Tests = &[
    ("random_calls_do_what_ptxas_does", random_calls_do_what_ptxas_does),
    ("the_fuzzer_sees_differences", the_fuzzer_sees_differences),
];

/// Calls of seed 1, in parts that are made at the same time: some twenty seconds in all.
const CALLS: u32 = 150;
const PARTS: u32 = 3;

/// Makes calls from one number on; returns whether both programs do the same, and the output.
fn fuzz(ptxas: &Path, tested: &Path, first: u32, calls: u32) -> (bool, String) {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/fuzz");
    let mut call = command(Path::new(script));
    call.args(["calls", "--seed", "1", "--first", &first.to_string()]);
    call.args(["--count", &calls.to_string(), "--tested"]).arg(tested);
    call.arg("--plain").arg(ptxas);
    let done = run(call);
    (done.status.success(), format!("{}{}", stdout(&done), stderr(&done)))
}

fn random_calls_do_what_ptxas_does() {
    let Some(ptxas) = &real_ptxas() else { return };
    let calls = CALLS / PARTS;
    thread::scope(|scope| {
        for part in 0..PARTS {
            scope.spawn(move || {
                let (same, said) = fuzz(ptxas, Path::new(PTXASW), part * calls, calls);
                assert!(same && said.contains(&format!("{calls} calls, ")), "{said}");
            });
        }
    });
}

/// Stand-ins that get everything right but one thing.
fn the_fuzzer_sees_differences() {
    let Some(ptxas) = &real_ptxas() else { return };
    let folder = tempfile::tempdir().unwrap();
    // Where a process stays, the script waits a second for its end, and that for each smaller call which it tries.
    let faults = [
        ("touch extra", "file 'extra': is made", 12),
        ("echo more >&2", "stderr: ", 12),
        ("touch \"$TMPDIR/x\"", "left over: x", 12),
        ("[ $status = 0 ] && exit 3", "status: 3 instead of 0", 12),
        ("sleep 7 < /dev/null > /dev/null 2>&1 &", "still running: 1 processes", 1),
    ];
    thread::scope(|scope| {
        for (number, (fault, noticed, calls)) in faults.into_iter().enumerate() {
            let path = folder.path().join(format!("ptxas{number}"));
            scope.spawn(move || {
                let real = ptxas.display();
                let text =
                    format!("#!/bin/sh\n\"{real}\" \"$@\"\nstatus=$?\n{fault}\nexit $status\n");
                std::fs::write(&path, text).unwrap();
                std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
                let (same, said) = fuzz(ptxas, &path, 0, calls);
                assert!(!same && said.contains(&format!("! {noticed}")), "{fault}: {said}");
            });
        }
    });
}
