//! The stand-in as a process: around a fake ptxas, which notes how it is called, and around the real
//! one, whose behaviour is compared call by call.
//!
//! Called with `stand-in` as its first argument this executable *is* a stand-in, around a rewriter
//! that does what the input says (see `rewriter.rs`); the tests start it so. That keeps them
//! independent of what the real rewriter replaces.

#![allow(unreachable_pub, reason = "nobody uses a test binary")]

mod cache;
mod check;
mod cycles;
mod fallback;
mod fuzz;
mod handover;
mod interrupt;
mod kernels;
mod letter;
mod limits;
mod locate;
mod log;
mod profile;
mod proportion;
mod real;
mod rewriter;
mod streams;
mod support;
mod temporary;

use libtest_mimic::{Arguments, Trial};
use ptxasw::cli::wrapper;
use std::ffi::{OsStr, OsString};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Tests at once.
const THREADS: usize = 6;

/// The tests of one file, by name.
type Tests = &'static [(&'static str, fn())];

#[expect(clippy::disallowed_methods, reason = "says how long tests take")]
fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    if let [first, rest @ ..] = words.as_slice()
        && first == "stand-in"
    {
        // (What that rewriter makes is not the same in general.)
        let proves = std::env::var_os("PTXASW_VERIFY").is_some_and(|value| value == "1");
        return wrapper::main_with(OsStr::new("ptxas"), rest, &rewriter::rewrite, proves);
    }
    let files: [(&str, Tests); 17] = [
        // The longest first.
        ("fuzz", fuzz::TESTS),
        ("check", check::TESTS),
        ("cache", cache::TESTS),
        ("cycles", cycles::TESTS),
        ("handover", handover::TESTS),
        ("fallback", fallback::TESTS),
        ("interrupt", interrupt::TESTS),
        ("kernels", kernels::TESTS),
        ("letter", letter::TESTS),
        ("limits", limits::TESTS),
        ("locate", locate::TESTS),
        ("log", log::TESTS),
        ("profile", profile::TESTS),
        ("proportion", proportion::TESTS),
        ("real", real::TESTS),
        ("streams", streams::TESTS),
        ("temporary", temporary::TESTS),
    ];
    let trials = files.iter().flat_map(|(file, tests)| {
        tests.iter().map(move |&(name, test)| {
            let shown = format!("{file}::{name}");
            Trial::test(shown.clone(), move || {
                let start = Instant::now();
                test();
                if start.elapsed() >= Duration::from_secs(1) {
                    println!("{shown} ... <{:.3}s>", start.elapsed().as_secs_f64());
                }
                Ok(())
            })
        })
    });
    let mut arguments = Arguments::from_args();
    // Most of the time the tests wait for processes.
    arguments.test_threads.get_or_insert(THREADS);
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}
