//! Mistakes planted into the analysis make wrong rewrites of the case kernels that are about them, and
//! executing these shows it.

use std::collections::BTreeSet;

use ptxasw::pipeline::Options;
use ptxasw::planted::{self, Bug};
use serde_json::json;

use crate::random::Case;
use crate::random::check::{Interpreter, Panel, Schedules, Verdict, check};

/// The case files, and which of their kernels at least are rewritten wrongly.
const FILES: [(Bug, &str, &[&str]); 10] = [
    (Bug::EarlyExits, "refuse/early_exit", &["way_round_by_exit", "way_round_by_ret"]),
    (Bug::WaysWithinLoops, "refuse/ways_within_a_loop", &["break_in_a_branch"]),
    (Bug::MergedLoops, "refuse/ways_within_a_loop", &["one_loop_of_two"]),
    (Bug::SeveralEntries, "refuse/irreducible", &["loop_in_a_cycle_of_two_entries"]),
    (Bug::SynchronisedLanes, "refuse/synchronised_lanes", &["brought_together_by_bar_warp_sync"]),
    (Bug::MaskAcrossSync, "accept/partial_synchronisation", &["in_turns"]),
    (Bug::EnteredBackwards, "refuse/entered_backwards", &["dead_forward_edge"]),
    (
        Bug::MemoryAtJoins,
        "refuse/unequal_waits",
        &["a_barrier_on_one_way", "barriers_that_meet_others", "barriers_of_the_block"],
    ),
    (Bug::MemoryBehindBarriers, "refuse/unequal_waits", &["a_barrier_for_each_lane"]),
    (
        Bug::UnequalWaits,
        "refuse/unequal_waits",
        &[
            "barriers_that_meet_others",
            "barriers_of_a_loop",
            "a_guarded_barrier",
            "barriers_of_the_block",
        ],
    ),
];

/// Seeds that choose where lanes meet.
const MEETINGS: u64 = 32;

/// What a warp or two make of a kernel of a file.
fn judged(text: &str, kernel: &str) -> Verdict {
    let threads = if text.contains(".reqntid 64") { 64 } else { 32 };
    let buffer = || json!({"type": "u32", "len": 8192, "fill": "index"});
    let launch = json!({
        "kernel": kernel, "grid": [1, 1, 1], "block": [threads, 1, 1],
        "buffers": {"a": buffer(), "b": buffer()},
        "args": [{"buffer": "a"}, {"buffer": "b"}, {"type": "u32", "value": 4}],
    });
    let case = Case { ptx: text.to_owned(), launch: launch.to_string() };
    let judges = vec![Box::new(Interpreter) as _, Box::new(Schedules { seeds: MEETINGS }) as _];
    check(&case, &Options::paper(), &Panel { judges, repeat: false })
}

#[test]
fn mistakes_are_noticed_in_the_cases_about_them() {
    let (mut missed, mut seen) = (Vec::new(), BTreeSet::new());
    for (bug, file, expected) in FILES {
        let path = super::root().join("tests/cases").join(file).with_extension("ptx");
        let text = std::fs::read_to_string(path).expect("a readable case");
        let named = |line: &str| Some(line.split_once(".entry ")?.1.split('(').next()?.to_owned());
        let kernels: Vec<String> = text.lines().filter_map(named).collect();
        // Several mistakes show in one file.
        let is_new = seen.insert(file);
        for kernel in kernels.iter().filter(|_| is_new) {
            let right = judged(&text, kernel);
            assert!(matches!(right, Verdict::Fine(_)), "{file}, {kernel}: {right:?}");
        }
        let wrong = |kernel: &str| {
            matches!(planted::with(bug, || judged(&text, kernel)), Verdict::Broken(_))
        };
        let lost = expected.iter().filter(|name| !wrong(name));
        missed.extend(lost.map(|name| format!("{bug:?} makes no difference to {name}")));
    }
    assert!(missed.is_empty(), "\n{}", missed.join("\n"));
}
