//! A long search on a terminal, which is the pseudo-terminal of `script`, and without one: how far the search is, and
//! how an interrupt ends it.

use crate::common::missing::not_run;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

/// Each permutation, followed by the rest of the goal, solves it: 479,001,600 solutions, and the first ones come at
/// once. None is without cost, which would end the search for the cheapest.
const LONG: &str =
    "axis lane = 12\ninput x[lane]\nload a[lane] = x[lane]\nstep b[lane] = a[?table(lane)]
    step c[lane] = b[?table(lane)]\ngoal c[lane] = x[(lane + 1) % 12]\n";

/// What the bar says behind its numbers.
const BAR: &str = "Ctrl-C ends";

/// Calls the program on the long search in a shell; after two minutes of processor time the system ends it.
fn call(folder: &Path, options: &str) -> String {
    let sketch = folder.join("long.sketch");
    std::fs::write(&sketch, LONG).expect("the sketch can be written");
    let program = env!("CARGO_BIN_EXE_ptxasw");
    format!("ulimit -t 120; exec '{program}' synth '{}' {options}", sketch.display())
}

/// The numbers of tables and solutions in what the bar showed last.
fn shown(printed: &str) -> Option<(u64, u64)> {
    let (before, after) = printed.rsplit_once(" tables tried, ")?;
    let tried = before.rsplit(|c: char| !c.is_ascii_digit()).next()?;
    let found = after.split_once(&format!(" solutions; {BAR}"))?.0;
    Some((tried.parse().ok()?, found.parse().ok()?))
}

#[test]
fn on_a_terminal_a_bar_shows_a_long_search_and_an_interrupt_ends_it_with_what_was_found() {
    // (A container without `devpts` has none.)
    if let Err(error) = std::fs::File::options().read(true).write(true).open("/dev/ptmx") {
        not_run(&format!("synth: no pseudo-terminal can be had: /dev/ptmx: {error}"));
        return;
    }
    let folder = tempfile::tempdir().expect("a folder can be made");
    let mut script = Command::new("script")
        .args(["--quiet", "--return", "--flush", "--command"])
        .arg(call(folder.path(), "--count"))
        .arg("/dev/null")
        .env("SHELL", "/bin/sh")
        .env("TERM", "xterm")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("`script` of util-linux can be started");
    let mut keys = script.stdin.take().expect("a pipe");
    let mut output = script.stdout.take().expect("a pipe");
    let mut printed = Vec::new();
    let mut pressed = None;
    let mut some = [0; 4096];
    // A terminal that is closed may be an error instead of an end.
    while let Ok(count @ 1..) = output.read(&mut some) {
        printed.extend_from_slice(&some[..count]);
        let so_far = shown(&String::from_utf8_lossy(&printed));
        if let Some(numbers) = so_far.filter(|_| pressed.is_none()) {
            keys.write_all(&[3]).and_then(|()| keys.flush()).expect("a key can be pressed");
            pressed = Some(numbers);
        }
    }
    let status = script.wait().expect("`script` ends").code();
    let printed = String::from_utf8_lossy(&printed);
    let (tried, found) = pressed.unwrap_or_else(|| panic!("no bar: {printed:?}"));
    assert!(tried > 0 && found > 0, "{printed:?}");
    // The bar's line is cleared before the result is written.
    let (_, rest) = printed.rsplit_once(BAR).expect("the bar");
    let (cleared, result) = rest.split_once("at least ").unwrap_or_else(|| panic!("{printed:?}"));
    assert!(cleared.ends_with("\u{1b}[2K"), "{printed:?}");
    let (count, why) = result.split_once(" solutions").expect("a number of solutions");
    assert!(count.parse::<u64>().expect("a number") >= found, "{printed:?}");
    assert!(why.contains("the search has not ended: interrupted"), "{printed:?}");
    assert_eq!(status, Some(3), "{printed:?}");
}

#[test]
fn without_a_terminal_no_bar_is_shown_and_an_interrupt_ends_with_what_was_found() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let mut program = Command::new("/bin/sh")
        .args(["-c", &call(folder.path(), "--cheapest")])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a shell can be started");
    let status = format!("/proc/{}/status", program.id());
    // Until the program handles the signal (its bit among those that are caught) it would end it as any other.
    let handled = || {
        let status = std::fs::read_to_string(&status).ok()?;
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"))?;
        let ours = status.lines().next().is_some_and(|line| line.contains("ptxasw"));
        Some(ours && u64::from_str_radix(caught.trim(), 16).ok()? & 2 != 0)
    };
    while handled() == Some(false) {
        sleep(Duration::from_millis(10));
    }
    // A bar would come after a second.
    sleep(Duration::from_millis(1500));
    kill_process(Pid::from_child(&program), Signal::INT).expect("it still runs");
    let mut result = String::new();
    let mut messages = String::new();
    program.stdout.take().expect("a pipe").read_to_string(&mut result).expect("text");
    program.stderr.take().expect("a pipe").read_to_string(&mut messages).expect("text");
    let status = program.wait().expect("it ends").code();
    assert_eq!(status, Some(3), "{result}{messages}");
    assert!(result.starts_with("cheapest so far: "), "{result}");
    assert!(messages.ends_with("the search has not ended: interrupted\n"), "{messages}");
    assert!(!messages.contains(BAR), "{messages}");
}
