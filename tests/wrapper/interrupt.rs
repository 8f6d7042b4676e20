//! Signals to the stand-in while ptxas runs.

use crate::check::scripted;
use crate::support::{Bench, ptx};
use rustix::process::{Pid, Signal, kill_process};
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

/// The tests of this file.
pub const TESTS: crate::Tests = &[
    ("ptxas_and_temporary_files_go", ptxas_and_temporary_files_go),
    ("both_ptxas_and_temporary_files_go", both_ptxas_and_temporary_files_go),
    ("ptxas_goes_with_a_call_that_reads_a_pipe", ptxas_goes_with_a_call_that_reads_a_pipe),
    ("ignored_signals_stay_ignored", ignored_signals_stay_ignored),
    ("an_ignored_sigpipe_stays_ignored", an_ignored_sigpipe_stays_ignored),
    ("ptxas_goes_with_a_call_that_is_killed", ptxas_goes_with_a_call_that_is_killed),
];

/// Waits for the fake ptxas to wait.
pub fn wait_for_ptxas(bench: &Bench, child: &mut Child) {
    wait_for_calls(bench, child, 1);
}

/// Waits until `calls` fake ptxas wait.
fn wait_for_calls(bench: &Bench, child: &mut Child, calls: u32) {
    let waits = |number| bench.path(&format!("fake/call.{number}.waiting")).exists();
    for _ in 0..2000 {
        if (1..=calls).all(waits) {
            return;
        }
        if let Some(status) = child.try_wait().unwrap() {
            panic!("ended early: {status}");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("the fake ptxas does not start");
}

fn signal(signal: Signal, child: &Child) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

/// Whether a process with these words in its command line is alive.
fn is_running(words: &str) -> bool {
    let alive = |entry: std::fs::DirEntry| {
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).contains(words)
    };
    std::fs::read_dir("/proc").unwrap().any(|entry| entry.is_ok_and(alive))
}

fn ptxas_and_temporary_files_go() {
    for sent in [Signal::TERM, Signal::INT, Signal::HUP, Signal::XCPU, Signal::USR1, Signal::ALARM]
    {
        let bench = Bench::new();
        bench.input("a.ptx", &["// rewrite: wait"]);
        // The tests themselves may have been started with signals ignored (`nohup`, a background job).
        let executable = std::env::current_exe().unwrap();
        let words = [
            "--default-signal=HUP,INT,TERM,XCPU,USR1,ALRM",
            executable.to_str().unwrap(),
            "stand-in",
            "a.ptx",
        ];
        let mut call = bench.call(Path::new("env"), &words);
        call.env("PTXASW_PTXAS", bench.path("fake/ptxas")).env("PTXASW_CHECK", "off");
        let mut child = call.stderr(Stdio::piped()).spawn().unwrap();
        wait_for_ptxas(&bench, &mut child);
        assert_eq!(bench.names("tmp").len(), 1);
        signal(sent, &child);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.signal(), Some(sent.as_raw()), "{output:?}");
        assert!(output.stderr.is_empty(), "{output:?}");
        assert_eq!(bench.names("tmp"), [""; 0], "{sent:?}");
        assert_eq!(bench.calls(), 1, "an interrupted call is not tried again");
        assert!(!is_running(bench.path("tmp").to_str().unwrap()));
    }
}

fn both_ptxas_and_temporary_files_go() {
    for sent in [Signal::TERM, Signal::INT] {
        let bench = Bench::new();
        bench.input("a.ptx", &["// rewrite: insert", "// ptxas: wait"]);
        let executable = std::env::current_exe().unwrap();
        let words =
            ["--default-signal=INT,TERM", executable.to_str().unwrap(), "stand-in", "a.ptx"];
        let mut call = bench.call(Path::new("env"), &words);
        call.env("PTXASW_PTXAS", bench.path("fake/ptxas"));
        let mut child = call.stderr(Stdio::piped()).spawn().unwrap();
        wait_for_calls(&bench, &mut child, 2);
        signal(sent, &child);
        // The one that had not got the signal would wait for a minute.
        let has_ended = |child: &mut Child| child.try_wait().unwrap().is_some();
        let tries = (0..4000).map(|_| std::thread::sleep(Duration::from_millis(5)));
        assert!(tries.into_iter().any(|()| has_ended(&mut child)), "one ptxas lives on");
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.signal(), Some(sent.as_raw()), "{output:?}");
        assert!(output.stderr.is_empty(), "{output:?}");
        assert_eq!(bench.names("tmp"), [""; 0], "{sent:?}");
        assert_eq!(bench.names("work"), ["a.ptx"], "{sent:?}");
        assert_eq!(bench.calls(), 2, "an interrupted call is not tried again");
        assert!(!is_running(bench.path("tmp").to_str().unwrap()));
    }
}

fn ptxas_goes_with_a_call_that_reads_a_pipe() {
    let bench = Bench::new();
    let mut child = bench.stand_in(&["-"]).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(ptx(&["// ptxas: wait"]).as_bytes()).unwrap();
    wait_for_ptxas(&bench, &mut child);
    signal(Signal::TERM, &child);
    assert_eq!(child.wait().unwrap().signal(), Some(15));
}

fn ignored_signals_stay_ignored() {
    let bench = Bench::new();
    bench.input("a.ptx", &["// rewrite: wait"]);
    let script = "trap '' HUP; exec \"$0\" stand-in a.ptx";
    let mut call = bench.call(Path::new("/bin/sh"), &["-c", script]);
    call.arg(std::env::current_exe().unwrap());
    call.env("PTXASW_PTXAS", bench.path("fake/ptxas")).env("PTXASW_CHECK", "off");
    let mut child = call.spawn().unwrap();
    wait_for_ptxas(&bench, &mut child);
    signal(Signal::HUP, &child);
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(child.try_wait().unwrap(), None, "nohup keeps it running");
    signal(Signal::TERM, &child);
    assert_eq!(child.wait().unwrap().signal(), Some(15));
}

fn an_ignored_sigpipe_stays_ignored() {
    let bench = Bench::new();
    let note = "grep SigIgn: /proc/$$/status > ${out:-out}";
    for (trap, ignored) in [("trap '' PIPE;", true), ("", false)] {
        // As it came, for one text, for both.
        for switch in ["PTXASW=off", "PTXASW_CHECK=off", "PTXASW=on"] {
            let call = scripted(&bench, note);
            let words: Vec<_> =
                std::iter::once(call.get_program()).chain(call.get_args()).collect();
            let script = format!("{trap} exec \"$0\" \"$@\"");
            let (name, value) = switch.split_once('=').unwrap();
            // (The tests themselves may have been started with it ignored.)
            let mut call =
                bench.call(Path::new("env"), &["--default-signal=PIPE", "/bin/sh", "-c", &script]);
            call.args(words).env("PTXASW_PTXAS", bench.path("fake/scripted")).env(name, value);
            assert!(call.status().unwrap().success());
            let said = std::fs::read_to_string(bench.path("work/out")).unwrap();
            let mask = u64::from_str_radix(said["SigIgn:".len()..].trim(), 16).unwrap();
            assert_eq!(mask & (1 << (Signal::PIPE.as_raw() - 1)) != 0, ignored, "{switch} {trap}");
        }
    }
}

fn ptxas_goes_with_a_call_that_is_killed() {
    let bench = Bench::new();
    bench.input("a.ptx", &["// rewrite: insert", "// ptxas: wait"]);
    let mut child = bench.checked(&["a.ptx", "-o", "out"]).spawn().unwrap();
    wait_for_calls(&bench, &mut child, 2);
    let pid = |number: u32| bench.noted(&format!("call.{number}.pid")).unwrap();
    let runs = |number: u32| Path::new("/proc").join(pid(number).trim()).join("exe").exists();
    assert!(runs(1) && runs(2));
    signal(Signal::KILL, &child);
    assert_eq!(child.wait().unwrap().signal(), Some(9));
    let tries = (0..1000).map(|_| std::thread::sleep(Duration::from_millis(5)));
    assert!(tries.into_iter().any(|()| !runs(1) && !runs(2)), "ptxas lives on");
}
