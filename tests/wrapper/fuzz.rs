//! Random calls by `scripts/fuzz calls`, which knows nothing of this program: a fixed number of the calls of
//! one seed. For longer runs, call the script.

use crate::support::{PTXASW, command, real_ptxas, run, stderr, stdout};
use std::path::Path;

/// The tests of this file.
pub const TESTS: crate::Tests = &[
    ("random_calls_do_what_ptxas_does", random_calls_do_what_ptxas_does),
    ("the_fuzzer_sees_differences", the_fuzzer_sees_differences),
];

/// Calls of seed 1: some twenty seconds.
const CALLS: u32 = 150;

fn fuzz(ptxas: &Path, tested: &Path, calls: u32) -> (bool, String) {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/fuzz");
    let mut call = command(Path::new(script));
    call.args(["calls", "--seed", "1", "--count", &calls.to_string(), "--tested"]).arg(tested);
    call.arg("--plain").arg(ptxas);
    let done = run(call);
    (done.status.success(), format!("{}{}", stdout(&done), stderr(&done)))
}

fn random_calls_do_what_ptxas_does() {
    let Some(ptxas) = real_ptxas() else { return };
    let (same, said) = fuzz(&ptxas, Path::new(PTXASW), CALLS);
    assert!(same && said.contains(&format!("{CALLS} calls, ")), "{said}");
}

/// A stand-in that gets everything right but one thing.
fn the_fuzzer_sees_differences() {
    use std::os::unix::fs::PermissionsExt;
    let Some(ptxas) = real_ptxas() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("ptxas");
    for (fault, noticed) in [
        ("touch extra", "file 'extra': is made"),
        ("echo more >&2", "stderr: "),
        ("touch \"$TMPDIR/x\"", "left over: x"),
        ("[ $status = 0 ] && exit 3", "status: 3 instead of 0"),
        ("sleep 7 < /dev/null > /dev/null 2>&1 &", "still running: 1 processes"),
    ] {
        let text = format!(
            "#!/bin/sh\n\"{}\" \"$@\"\nstatus=$?\n{fault}\nexit $status\n",
            ptxas.display()
        );
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        let (same, said) = fuzz(&ptxas, &path, 12);
        assert!(!same && said.contains(&format!("! {noticed}")), "{fault}: {said}");
    }
}
