//! Limits on resources: a limit that ends the run on the rewritten text need not end that on the original.

use crate::check::scripted;
use crate::support::{Bench, PTXASW, real_ptxas, run, stderr, stdout};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;

/// The tests of this file.
pub const TESTS: crate::Tests = &[
    ("temporary_files_are_named_as_without_us", temporary_files_are_named_as_without_us),
    ("signals_about_resources_take_the_original", signals_about_resources_take_the_original),
    ("what_is_cut_off_is_not_used", what_is_cut_off_is_not_used),
    ("small_limits_change_nothing", small_limits_change_nothing),
    ("huge_pages_are_asked_for", huge_pages_are_asked_for),
];

fn temporary_files_are_named_as_without_us() {
    let bench = Bench::new();
    let said = "echo \"$TMPDIR/tmpxft_1, line 3\" >&2; echo yes > $out";
    let done = run(scripted(&bench, said));
    let usual = bench.path("tmp/tmpxft_1");
    assert_eq!(stderr(&done), format!("{}, line 3\n", usual.display()));
}

fn signals_about_resources_take_the_original() {
    for name in ["KILL", "XFSZ", "XCPU"] {
        for check in ["on", "off"] {
            for inputs in [1, 2] {
                let bench = Bench::new();
                let lines = format!(
                    "if [ -n \"$rewritten\" ]; then kill -s {name} $$; fi; echo yes > $out"
                );
                let mut call = scripted(&bench, &lines);
                call.env("PTXASW_CHECK", check);
                if inputs == 2 {
                    bench.input("b.ptx", &[]);
                    call.arg("b.ptx");
                }
                let done = run(call);
                assert!(done.status.success(), "{name} {check} {inputs}: {done:?}");
                assert_eq!((stdout(&done), stderr(&done)), (String::new(), String::new()));
                assert_eq!(std::fs::read(bench.path("work/out")).unwrap(), b"yes\n");
                assert_eq!(bench.names("tmp"), [""; 0]);
            }
        }
    }
    let bench = Bench::new();
    assert_eq!(run(scripted(&bench, "kill -s XCPU $$")).status.signal(), Some(24));
    // A limit that ends the original's run into our temporary folder need not end its run into the user's; and we
    // remove the files that it leaves in ours.
    let bench = Bench::new();
    let lines = "if [ -n \"$original\" ]; then echo x > $TMPDIR/tmpxft_1; kill -s XFSZ $$; fi; echo yes > $out";
    assert!(run(scripted(&bench, lines)).status.success());
    assert_eq!(bench.names("tmp"), [""; 0]);
    assert_eq!(std::fs::read(bench.path("work/out")).unwrap(), b"yes\n");
}

/// As ptxas does on a full disk where it ignores the signal: half a file, and status 0.
fn what_is_cut_off_is_not_used() {
    let Some(ptxas) = real_ptxas() else { return };
    let real = Bench::new();
    real.input("a.ptx", &[]);
    assert!(run(real.call(&ptxas, &["-arch=sm_80", "a.ptx", "-o", "whole"])).status.success());
    let whole = real.path("work/whole");
    let length = std::fs::metadata(&whole).unwrap().len();
    for cut in [0, 10, length / 2, length - 1] {
        let bench = Bench::new();
        let file = whole.display();
        let lines = format!(
            "if [ -n \"$rewritten\" ]; then head -c {cut} {file} > $out; else cp {file} $out; fi"
        );
        let done = run(scripted(&bench, &lines));
        assert!(done.status.success() && stderr(&done).is_empty(), "{done:?}");
        assert!(std::fs::read(bench.path("work/out")).unwrap() == std::fs::read(&whole).unwrap());
    }
}

/// Few descriptors (with 3 no program starts), small files, both with the signal and without: what the plain ptxas does with them.
fn small_limits_change_nothing() {
    let Some(ptxas) = real_ptxas() else { return };
    let mut good = 0;
    for limit in
        (4..64).step_by(4).map(|n| format!("ulimit -n {n}")).chain((0..12).flat_map(|blocks| {
            [format!("ulimit -f {blocks}"), format!("trap '' XFSZ; ulimit -f {blocks}")]
        }))
    {
        // (Standard input is a file here, and named so that ptxas makes no copy of it.)
        let input = if good % 2 == 0 { "k.ptx" } else { "/dev/stdin < k.ptx" };
        let deeds = [true, false].map(|plain| {
            let bench = Bench::new();
            let link = bench.link(Path::new(PTXASW), "bin/ptxas");
            std::fs::write(bench.path("work/k.ptx"), crate::check::taps(8)).unwrap();
            let program = if plain { &ptxas } else { &link };
            let line = format!("{limit}; exec \"$0\" -arch=sm_80 {input} -o out");
            let mut call = bench.call(Path::new("/bin/sh"), &["-c", &line]);
            call.arg(program).env("PTXASW_PTXAS", &ptxas).env("PTXASW_STRATEGY", "paper");
            let done = run(call);
            assert_eq!(bench.names("tmp"), [""; 0], "{limit}");
            let length = std::fs::metadata(bench.path("work/out")).ok().map(|there| there.len());
            // Our own line about what could not be done is allowed.
            let said: Vec<String> = stderr(&done).lines().map(str::to_owned).collect();
            let said: Vec<String> =
                said.into_iter().filter(|line| !line.starts_with("ptxasw: warning: ")).collect();
            (done.status, said, length)
        });
        let [plain, done] = deeds;
        assert_eq!((plain.0, &plain.1), (done.0, &done.1), "{limit}");
        // Ours may be larger, but not smaller: that would be cut off.
        assert!(done.2 >= plain.2, "{limit}: {:?} bytes instead of {:?}", done.2, plain.2);
        good += u32::from(done.0.success() && done.2 > plain.2);
    }
    assert!(good > 5, "a rewritten text is used {good} times");
}

/// The variable that sets up glibc's allocator, as ptxas gets it.
fn huge_pages_are_asked_for() {
    let chosen = "glibc.malloc.arena_max=1";
    let cases = [
        ("", None, "hugetlb=1"),
        ("", Some(chosen), chosen),
        ("", Some(""), "[]"),
        ("ulimit -v 64000000; ", None, "[]"),
        ("ulimit -d 64000000; ", None, "[]"),
    ];
    for (limit, set, expected) in cases {
        let bench = Bench::new();
        let call = scripted(&bench, "echo \"[$GLIBC_TUNABLES]\" > $out");
        let mut limited =
            bench.call(Path::new("/bin/sh"), &["-c", &format!("{limit}exec \"$0\" \"$@\"")]);
        limited.arg(call.get_program()).args(call.get_args());
        for (variable, value) in call.get_envs() {
            if let Some(value) = value {
                limited.env(variable, value);
            }
        }
        if let Some(set) = set {
            limited.env("GLIBC_TUNABLES", set);
        }
        let done = run(limited);
        assert!(done.status.success(), "{done:?}");
        let got = std::fs::read_to_string(bench.path("work/out")).unwrap();
        assert!(got.contains(expected), "{limit}{set:?}: {got}");
    }
}
