//! `PTXASW_KERNELS` and `rewrite --kernels`: kernels are switched off and on by their names. `PTXASW_BLOCK`: the shape of their blocks.

use crate::check::taps;
use crate::support::{Bench, PTXASW, run, stderr, stdout};
use std::path::Path;
use std::process::Output;

/// The tests of this file.
pub const TESTS: crate::Tests = &[
    ("each_kernel_is_switched_by_name", each_kernel_is_switched_by_name),
    ("log_and_report_name_the_rule", log_and_report_name_the_rule),
    ("patterns_that_match_nothing_are_logged", patterns_that_match_nothing_are_logged),
    ("a_wrong_list_costs_a_line", a_wrong_list_costs_a_line),
    ("rewrite_takes_the_same_list", rewrite_takes_the_same_list),
    ("names_of_the_source_are_found", names_of_the_source_are_found),
    ("layouts_fit_the_shape_of_blocks", layouts_fit_the_shape_of_blocks),
];

/// The names of the kernels: `march7`, and those of `jacobi5(float const*, float*)` and `jacobi9(float const*, float*)`.
const NAMES: [&str; 3] = ["march7", "_Z7jacobi5PKfPf", "_Z7jacobi9PKfPf"];

/// A module of kernels that are alike but for their names; in each the paper's strategy replaces loads.
fn module() -> String {
    let text = taps(8);
    let (head, kernel) = text.split_at(text.find(".visible").unwrap());
    let kernels = NAMES.map(|name| kernel.replace("entry taps", &format!("entry {name}")));
    head.to_owned() + &kernels.concat()
}

/// The kernels of a text that contain shuffles.
fn rewritten(text: &str) -> Vec<&str> {
    let kernels = text.split(".visible .entry ").skip(1);
    let changed = kernels.filter(|kernel| kernel.contains("shfl.sync"));
    changed.map(|kernel| kernel.split('(').next().unwrap()).collect()
}

/// What the fake ptxas received under these settings, and what was said.
fn assembled(bench: &Bench, settings: &[(&str, &str)]) -> (String, Output) {
    let link = bench.link(Path::new(PTXASW), "bin/ptxas");
    std::fs::write(bench.path("work/k.ptx"), module()).unwrap();
    let mut call = bench.call(&link, &["-arch=sm_80", "k.ptx", "-o", "out"]);
    call.env("PTXASW_PTXAS", bench.path("fake/ptxas")).env("PTXASW_CHECK", "off");
    call.env("PTXASW_STRATEGY", "paper").envs(settings.iter().copied());
    let output = run(call);
    assert!(output.status.success(), "{output:?}");
    let text = bench.noted(&format!("call.{}.input.1", bench.calls())).unwrap();
    (text, output)
}

fn each_kernel_is_switched_by_name() {
    for (list, on) in [
        ("", &NAMES[..]),
        ("-march7", &NAMES[1..]),
        ("-march7,+jacobi*", &NAMES[1..]),
        ("+jacobi*", &NAMES[1..]),
        ("+march7,+_Z7jacobi9*", &[NAMES[0], NAMES[2]]),
        ("-*,+jacobi?", &NAMES[1..]),
        ("-*,+jacobi?,-jacobi9(float const*, float*)", &NAMES[1..2]),
        ("-*", &[]),
        ("+other", &[]),
        ("-other", &NAMES),
    ] {
        let (text, output) = assembled(&Bench::new(), &[("PTXASW_KERNELS", list)]);
        assert_eq!(rewritten(&text), on, "{list}");
        assert_eq!(stderr(&output), "", "{list}");
    }
}

fn log_and_report_name_the_rule() {
    let bench = Bench::new();
    let settings = [
        ("PTXASW_KERNELS", "-march7,-jacobi5"),
        ("PTXASW_LOG", "info"),
        ("PTXASW_REPORT", "reports"),
    ];
    let (_, output) = assembled(&bench, &settings);
    let log = stderr(&output);
    let named = "jacobi5(float const*, float*)";
    for (name, rule) in [(NAMES[0], "-march7"), (named, "-jacobi5")] {
        let line = format!("k.ptx: {name} is left as it is: switched off by `{rule}`");
        assert_eq!(log.matches(&line).count(), 1, "{log}");
    }
    let names = bench.names("work/reports");
    let report = std::fs::read_to_string(bench.path("work/reports").join(&names[0])).unwrap();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let kernels = report["kernels"].as_array().unwrap();
    let skipped: Vec<_> = kernels.iter().map(|kernel| kernel["skipped"].as_str()).collect();
    let expected = [Some("switched off by `-march7`"), Some("switched off by `-jacobi5`"), None];
    assert_eq!(skipped, expected);
    // Its loads are reported all the same.
    assert_eq!(kernels[0]["loads"].as_array().map(Vec::len), Some(8));
    assert_eq!(kernels[0]["loads"][0]["rule"], "function-left-as-it-is");
}

/// The log names such patterns, and the kernels that there are; without a log nothing is said.
fn patterns_that_match_nothing_are_logged() {
    for (list, level, said) in [
        ("-marsh7,-jacobi5", "warn", true),
        ("-march7,-jacobi*", "info", false),
        ("-marsh7", "error", false),
    ] {
        let settings = [("PTXASW_KERNELS", list), ("PTXASW_LOG", level)];
        let (_, output) = assembled(&Bench::new(), &settings);
        let log = stderr(&output);
        let line = "k.ptx: PTXASW_KERNELS: no kernel matches `-marsh7`; the kernels here are `march7`, \
                    `jacobi5(float const*, float*)`, `jacobi9(float const*, float*)`";
        assert_eq!(log.matches(line).count(), usize::from(said), "{list}: {log}");
        assert_eq!(log.matches("no kernel matches").count(), usize::from(said), "{list}: {log}");
    }
}

fn a_wrong_list_costs_a_line() {
    for (list, what) in [
        ("march7", "`march7` has to begin with `+` (on) or `-` (off)"),
        ("-march7,+", "`+` has no name behind its sign"),
    ] {
        let (text, output) = assembled(&Bench::new(), &[("PTXASW_KERNELS", list)]);
        let said = stderr(&output);
        assert_eq!(rewritten(&text), [""; 0], "{list}");
        let start = format!("ptxasw: warning: PTXASW_KERNELS={list}: {what}; nothing is rewritten");
        assert_eq!(said.trim_end(), start);
    }
}

fn rewrite_takes_the_same_list() {
    let bench = Bench::new();
    std::fs::write(bench.path("work/k.ptx"), module()).unwrap();
    let call = |list: &str| {
        let arguments = ["rewrite", "--strategy", "paper", "--kernels", list, "k.ptx"];
        let output = run(bench.call(Path::new(PTXASW), &arguments));
        (stdout(&output), stderr(&output), output.status.code())
    };
    let (text, said, _) = call("-march7,+jacobi*");
    assert_eq!((rewritten(&text), said.as_str()), (NAMES[1..].to_vec(), ""));
    let (text, said, _) = call("+jacobi5,-marsh7");
    assert_eq!(rewritten(&text), [NAMES[1]]);
    assert_eq!(said, "ptxasw: warning: --kernels: `-marsh7` matches no function of k.ptx\n");
    let (_, said, code) = call("march7");
    assert!(code == Some(2) && said.contains("has to begin with `+` (on) or `-` (off)"), "{said}");
}

/// `--kernel` means the name in the source, too.
fn names_of_the_source_are_found() {
    let bench = Bench::new();
    let template = module().replace(NAMES[2], "_ZN1a7jacobi5EPKfPf");
    std::fs::write(bench.path("work/k.ptx"), module()).unwrap();
    std::fs::write(bench.path("work/two.ptx"), template).unwrap();
    let call = |arguments: &[&str]| {
        let output = run(bench.call(Path::new(PTXASW), arguments));
        (stdout(&output), stderr(&output))
    };
    for command in ["rewrite", "candidates", "trace", "cfg", "launch"] {
        let (by_source, said) = call(&[command, "--kernel", "jacobi5", "k.ptx"]);
        let (by_ptx, _) = call(&[command, "--kernel", NAMES[1], "k.ptx"]);
        assert!(!by_ptx.is_empty() && by_source == by_ptx, "{command}: {said}");
        let (_, said) = call(&[command, "--kernel", "jacobi5", "two.ptx"]);
        assert!(said.contains("`jacobi5` is the name of several "), "{command}: {said}");
        let (_, said) = call(&[command, "--kernel", "jacobi7", "k.ptx"]);
        assert!(said.contains("`jacobi7`") && said.contains("`march7`"), "{command}: {said}");
    }
    let names = ["--kernel", "jacobi5", "--against", "jacobi9"];
    let (proof, said) = call(&[&["verify", "k.ptx", "k.ptx"][..], &names].concat());
    assert!(proof.ends_with("\nequal\n"), "{proof}{said}");
    // `_ZN1a7jacobi5EPKfPf` is `a::jacobi5(float const*, float*)`.
    let (exact, said) = call(&["candidates", "--kernel", "a::jacobi5", "two.ptx"]);
    assert!(exact.starts_with("a::jacobi5(float const*, float*): "), "{exact}{said}");
}

/// The lanes of a warp access a column of the tile, with conflicts, unless blocks have one column only.
fn layouts_fit_the_shape_of_blocks() {
    let text = include_str!("../cases/accept/bank_block.ptx");
    for (shape, is_new, said) in [
        ("16x16", true, ""),
        ("1,32", false, ""),
        ("16x128", false, "PTXASW_BLOCK=16x128: a shape such as 256, 16x16 or 8x8x4"),
    ] {
        let bench = Bench::new();
        let link = bench.link(Path::new(PTXASW), "bin/ptxas");
        std::fs::write(bench.path("work/k.ptx"), text).unwrap();
        let mut call = bench.call(&link, &["-arch=sm_80", "k.ptx", "-o", "out"]);
        call.env("PTXASW_PTXAS", bench.path("fake/ptxas")).env("PTXASW_CHECK", "off");
        call.env("PTXASW_STRATEGY", "bank").env("PTXASW_BLOCK", shape);
        let output = run(call);
        assert!(output.status.success(), "{output:?}");
        let read = bench.noted(&format!("call.{}.input.1", bench.calls())).unwrap();
        assert_eq!(read != text, is_new, "{shape}: {read}");
        assert!(stderr(&output).contains(said), "{output:?}");
    }
}
