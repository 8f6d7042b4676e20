//! The lines about a rewrite in the log of a build: that it was proved, and its changes in the machine code.

use crate::check::taps;
use crate::support::{Bench, PTXASW, real_ptxas, run, stderr};
use std::path::Path;

/// The tests of this file.
pub const TESTS: crate::Tests = &[
    ("a_proved_rewrite_is_called_so", a_proved_rewrite_is_called_so),
    ("the_solver_logs_only_if_it_is_named", the_solver_logs_only_if_it_is_named),
    ("the_change_in_the_machine_code_is_logged", the_change_in_the_machine_code_is_logged),
];

/// What a stand-in around some ptxas logs under these settings, and the report that it writes.
fn logged(bench: &Bench, ptxas: &Path, settings: &[(&str, &str)]) -> (String, serde_json::Value) {
    logged_of(bench, ptxas, &taps(8), settings)
}

/// The same for a text.
fn logged_of(
    bench: &Bench,
    ptxas: &Path,
    text: &str,
    settings: &[(&str, &str)],
) -> (String, serde_json::Value) {
    let link = bench.link(Path::new(PTXASW), "bin/ptxas");
    std::fs::write(bench.path("work/k.ptx"), text).unwrap();
    let mut call = bench.call(&link, &["-arch=sm_80", "k.ptx", "-o", "out"]);
    call.env("PTXASW_PTXAS", ptxas).env("PTXASW_LOG", "info").env("PTXASW_REPORT", "reports");
    call.envs(settings.iter().copied());
    let output = run(call);
    assert!(output.status.success(), "{output:?}");
    let name = &bench.names("work/reports")[0];
    let report = std::fs::read_to_string(bench.path("work/reports").join(name)).unwrap();
    (stderr(&output), serde_json::from_str(&report).unwrap())
}

fn a_proved_rewrite_is_called_so() {
    let fake = |bench: &Bench| bench.path("fake/ptxas");
    for (verify, strategy, proved) in
        [("", "paper", true), ("1", "paper", true), ("0", "paper", false), ("", "none", false)]
    {
        let bench = Bench::new();
        let settings =
            [("PTXASW_VERIFY", verify), ("PTXASW_STRATEGY", strategy), ("PTXASW_CHECK", "off")];
        let (log, report) = logged(&bench, &fake(&bench), &settings);
        assert_eq!(log.contains(" replaced, proved, "), proved, "{verify} {strategy}: {log}");
        assert_eq!(report["kernels"][0]["proved"] == true, proved, "{report}");
    }
}

/// The proof of a swizzle asks it.
fn the_solver_logs_only_if_it_is_named() {
    let text = std::fs::read_to_string("openacc-bench/bank/kernels.sm_80.ptx").unwrap();
    for (filter, is_shown) in [("debug", false), ("debug,z3=debug", true)] {
        let bench = Bench::new();
        let settings =
            [("PTXASW_STRATEGY", "bank"), ("PTXASW_CHECK", "off"), ("PTXASW_LOG", filter)];
        let (log, _) = logged_of(&bench, &bench.path("fake/ptxas"), &text, &settings);
        assert!(log.contains(" DEBUG ptxasw::"), "{log}");
        assert_eq!(log.contains(" DEBUG z3::"), is_shown, "{filter}: {log}");
    }
}

fn the_change_in_the_machine_code_is_logged() {
    let Some(ptxas) = real_ptxas() else { return };
    let bench = Bench::new();
    let (log, report) = logged(&bench, &ptxas, &[("PTXASW_STRATEGY", "paper")]);
    let resources = &report["kernels"][0]["resources"];
    let count = |of: &str| resources[of]["instructions"].as_u64().unwrap();
    let (old, new) = (count("original"), count("rewritten"));
    assert_ne!(old, new, "a rewrite changes the machine code");
    let line = format!("k.ptx: taps: machine code: {new} instructions instead of {old}, ");
    assert_eq!(log.matches(&line).count(), 1, "{line}: {log}");
    // Nothing is said where nothing was changed.
    let bench = Bench::new();
    let (log, _) = logged(&bench, &ptxas, &[("PTXASW_STRATEGY", "none")]);
    assert!(!log.contains("machine code"), "{log}");
}
