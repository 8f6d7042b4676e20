//! Bugs planted into the rewriter: each must be noticed by every judge, on the kernel that is kept
//! for it and, most of them, on some random kernel.

use std::collections::BTreeMap;
use std::fmt::Write;

use ptxasw::pipeline::Options;
use ptxasw::planted::{self, Bug, Set};
use ptxasw::select::{self, Strategies, StrategyName};
use rayon::prelude::*;

use super::files;
use super::number;
use super::seeds::smallest;
use crate::random::check::{
    Complaint, Interpreter, Judge, Opinion, Panel, Verdict, Verifier, check,
};
use crate::random::{Case, emit, kernel};

/// The first random kernel on which a bug shows.
fn first_seed(bug: Bug, seeds: std::ops::Range<u64>) -> Option<(u64, Complaint)> {
    let (options, panel) = (Options::paper(), Panel::quick());
    seeds.into_par_iter().find_map_first(|seed| {
        match planted::with(bug, || check(&emit(&kernel(seed)), &options, &panel)) {
            Verdict::Broken(complaint) => Some((seed, complaint)),
            _ => None,
        }
    })
}

/// What each judge says about a kernel that is rewritten with a bug.
fn opinions(options: &Options, case: &Case) -> Vec<(&'static str, Opinion)> {
    let attempt = |judge: Box<dyn Judge>| {
        let name = judge.name();
        let opinion = match check(case, options, &Panel { judges: vec![judge], repeat: false }) {
            Verdict::Fine(rewrite) => match rewrite.unsure.into_iter().next() {
                None => Opinion::Equal,
                Some((_, reason)) => Opinion::Unknown(reason),
            },
            Verdict::Broken(complaint) => Opinion::Different(complaint.message),
            Verdict::Invalid(message) => Opinion::Invalid(message),
        };
        (name, opinion)
    };
    let judges: [Box<dyn Judge>; 2] = [Box::new(Interpreter), Box::new(Verifier::patient())];
    judges.into_iter().map(attempt).collect()
}

fn word(opinion: &Opinion) -> &'static str {
    match opinion {
        Opinion::Equal => "equal",
        Opinion::Different(_) => "different",
        Opinion::Unknown(_) => "unknown",
        Opinion::Invalid(_) => "invalid",
    }
}

/// Runs must show a difference and proofs must fail; without the bug both must agree that the
/// rewrite is right.
#[test]
fn planted_bugs_are_noticed() {
    noticed("planted", &Bug::of(Set::All), (&Options::paper(), &Options::default()));
}

/// The same for rows of taps.
#[test]
fn bugs_planted_into_rows_are_noticed() {
    of_strategy(StrategyName::Window, "planted_rows", &Bug::of(Set::Rows));
}

/// The same for loads of structs.
#[test]
fn bugs_planted_into_structs_are_noticed() {
    of_strategy(StrategyName::Aos, "planted_structs", &Bug::of(Set::Structs));
}

/// The same for stores of structs.
#[test]
fn bugs_planted_into_stores_of_structs_are_noticed() {
    of_strategy(StrategyName::Aos, "planted_stores", &Bug::of(Set::Stores));
}

fn of_strategy(name: StrategyName, folder: &str, bugs: &[Bug]) {
    let strategies = Strategies::only(name);
    let right = Options {
        select: select::Options { strategies, ..select::Options::default() },
        ..Options::default()
    };
    noticed(folder, bugs, (&right, &right));
}

/// Holds the kernels of a folder, one for each bug, against the judges; the options are those with a bug and those
/// without.
fn noticed(folder: &str, bugs: &[Bug], (wrong, right): (&Options, &Options)) {
    let kernels: BTreeMap<String, Case> = files::read(&files::folder(folder)).into_iter().collect();
    let rows: Vec<_> = bugs
        .par_iter()
        .map(|&bug| {
            let name = format!("{bug:?}");
            let case = kernels.get(&name).unwrap_or_else(|| panic!("no kernel shows {name}"));
            (name, planted::with(bug, || opinions(wrong, case)), opinions(right, case))
        })
        .collect();
    assert_eq!(kernels.len(), rows.len(), "a kernel for no bug in tests/fuzz/{folder}");
    let mut table = String::new();
    let mut complaints = Vec::new();
    for (name, wrong, right) in &rows {
        let _ = write!(table, "{name:20}");
        for (judge, opinion) in wrong {
            let _ = write!(table, " {judge}: {:10}", word(opinion));
            let noticed = match opinion {
                Opinion::Different(_) => true,
                Opinion::Unknown(_) => *judge == "verify",
                Opinion::Equal | Opinion::Invalid(_) => false,
            };
            if !noticed {
                complaints.push(format!("{judge} does not notice {name}: {opinion:?}"));
            }
        }
        table += "  without the bug:";
        for (judge, opinion) in right {
            let _ = write!(table, " {judge}: {:10}", word(opinion));
            // Who does not see that the right rewrite is right has not noticed the wrong one either.
            if *opinion != Opinion::Equal {
                complaints.push(format!("{judge}, of {name} without the bug: {opinion:?}"));
            }
        }
        table += "\n";
    }
    println!("{table}");
    assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
}

/// Looks for a kernel for each planted bug that has none, and keeps it reduced.
#[test]
#[ignore = "fills tests/fuzz/planted"]
fn kernels_for_planted_bugs() {
    let folder = files::folder("planted");
    let known: Vec<String> = files::read(&folder).into_iter().map(|(name, _)| name).collect();
    let count = number("PTXASW_FUZZ_COUNT").unwrap_or(2000);
    for bug in Bug::of(Set::All) {
        let name = format!("{bug:?}");
        if known.contains(&name) {
            continue;
        }
        let Some((seed, complaint)) = first_seed(bug, 0..count) else {
            println!("{name}: nothing up to seed {count}");
            continue;
        };
        let small = planted::with(bug, || smallest(&kernel(seed), &Options::paper(), &complaint));
        println!("{name}: seed {seed}, {}", complaint.judge);
        files::write(&folder, &name, &format!("{name}: {}", complaint.message), &emit(&small));
    }
}
