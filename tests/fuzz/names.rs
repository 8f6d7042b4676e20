//! Kernels in which braces around single statements declare the kernel's names anew.
//!
//! Whatever a strategy writes, wherever it writes it, each name means there what the strategy means: the results stay
//! the same, and no rewrite is given up because a name turned out to mean something else. Each mistake that leaves out
//! one of the questions shows.

use ptxasw::pipeline::Options;
use ptxasw::planted::{self, Bug, Set};
use ptxasw::select::{self, Strategies};
use rayon::prelude::*;
use serde_json::json;

use super::number;
use crate::common::share;
use crate::random::aimed::aimed;
use crate::random::check::{Interpreter, Judge, Panel, Rewrite, Verdict, Verifier, check};
use crate::random::shadows::shadowed;
use crate::random::{Case, emit, kernel};

/// Kernels in a test run.
const COUNT: u64 = 600;
/// The least share of the kernels, in percent, that is to be changed.
const CHANGED: usize = 25;
/// The strategies.
const STRATEGIES: [&str; 3] = ["reuse,wide,window,aos", "paper", "auto"];

fn options(strategies: &str) -> Options {
    let strategies: Strategies = strategies.parse().expect("a strategy");
    Options {
        select: select::Options { strategies, ..select::Options::default() },
        ..Options::default()
    }
}

fn case(seed: u64) -> Case {
    let case = emit(&if seed.is_multiple_of(2) { aimed(seed) } else { kernel(seed) });
    shadowed(&case, seed)
}

fn panel() -> Panel {
    Panel { judges: vec![Box::new(Interpreter)], repeat: false }
}

#[test]
fn names_mean_what_the_rewriter_means() {
    let first = number("PTXASW_FUZZ_SEED").unwrap_or_default();
    let count = number("PTXASW_FUZZ_COUNT").unwrap_or_else(|| share(COUNT));
    let panel = panel();
    let judged: Vec<_> = (first..first + count)
        .into_par_iter()
        .flat_map_iter(|seed| STRATEGIES.map(|strategies| (seed, strategies)))
        .map(|(seed, strategies)| {
            (seed, strategies, check(&case(seed), &options(strategies), &panel))
        })
        .collect();
    let mut changed = 0;
    let mut failures = Vec::new();
    for (seed, strategies, verdict) in &judged {
        match verdict {
            Verdict::Fine(rewrite) => changed += usize::from(!rewrite.replaced.is_empty()),
            Verdict::Invalid(message) => {
                failures.push(format!("{seed} is not a kernel: {message}"))
            }
            Verdict::Broken(found) => {
                failures.push(format!("{seed}, {strategies}, {}: {}", found.judge, found.message));
            }
        }
    }
    println!("{changed} of {} rewrites change their kernels", judged.len());
    if count == 1 {
        println!("{}", case(first).ptx);
    }
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
    assert!(count < share(COUNT) || 100 * changed >= CHANGED * judged.len(), "too few change");
}

/// Mistakes with the seed and the strategies of a kernel on which they show.
const ON_SEEDS: [(Bug, u64, &str); 4] = [
    (Bug::InnerScope, 0, "paper"),
    (Bug::ClaimNotAsked, 109, "paper"),
    (Bug::EntryNotAsked, 324, "reuse,wide,window,aos"),
    (Bug::GuardNotAsked, 41, "reuse,wide,window,aos"),
];

/// Mistakes with the kernel of the case files on which they show.
const ON_CASES: [(Bug, &str, &str); 4] = [
    (Bug::FirstLatchAsked, "at_second_latch", "reuse"),
    (Bug::LatchNotAsked, "base_of_another_scope", "reuse"),
    (Bug::JoinNotAsked, "declared_anew", "paper"),
    (Bug::IndexNotAsked, "index_of_another_scope", "paper"),
];

/// A kernel of the case files and a launch of it by two warps.
fn kept(kernel: &str) -> Case {
    let files = ["accept/names_elsewhere", "refuse/names_elsewhere", "refuse/names_at_latches"];
    let files = files.map(|file| {
        let path = super::root().join("tests/cases").join(file).with_extension("ptx");
        std::fs::read_to_string(path).expect("a readable case")
    });
    let head = format!(".entry {kernel}(");
    let ptx = files.into_iter().find(|text| text.contains(&head)).expect("a case");
    let (_, parameters) = ptx.split_once(&head).expect("the kernel");
    let parameters = parameters.split(')').next().unwrap_or_default().split(',');
    let (mut buffers, mut args) = (serde_json::Map::new(), Vec::new());
    for parameter in parameters {
        let mut words = parameter.split_whitespace().rev();
        let (name, ty) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        if ty == ".u64" {
            let words = json!({"type": "u32", "len": 8192, "fill": "index"});
            buffers.insert(name.to_owned(), words);
            args.push(json!({"buffer": name}));
        } else {
            args.push(json!({"type": "u32", "value": 4}));
        }
    }
    let launch = json!({
        "kernel": kernel, "grid": [1, 1, 1], "block": [64, 1, 1], "buffers": buffers, "args": args,
    });
    Case { ptx, launch: launch.to_string() }
}

/// Whether a launch or a proof of a kernel's rewrite shows a mistake, and neither shows one where none is.
fn is_noticed(case: &Case, strategies: &str, bug: Bug) -> bool {
    let judges: Vec<Box<dyn Judge>> = vec![Box::new(Interpreter), Box::new(Verifier::patient())];
    let panel = Panel { judges, repeat: false };
    let judged = || check(case, &options(strategies), &panel);
    let right = judged();
    let is_right = |rewrite: &Rewrite| rewrite.unsure.is_empty() && !rewrite.replaced.is_empty();
    match planted::with(bug, judged) {
        Verdict::Broken(found) => ["run", "verify"].contains(&found.judge),
        Verdict::Fine(rewrite) => {
            !rewrite.unsure.is_empty() && matches!(right, Verdict::Fine(right) if is_right(&right))
        }
        Verdict::Invalid(_) => false,
    }
}

#[test]
fn each_question_that_is_left_out_is_noticed() {
    let on_seeds = ON_SEEDS.iter().map(|&(bug, seed, strategies)| (bug, case(seed), strategies));
    let on_cases =
        ON_CASES.iter().map(|&(bug, kernel, strategies)| (bug, kept(kernel), strategies));
    let mut known = Vec::new();
    let mut missed = Vec::new();
    for (bug, case, strategies) in on_seeds.chain(on_cases) {
        known.push(bug);
        if !is_noticed(&case, strategies, bug) {
            missed.push(bug);
        }
    }
    assert!(missed.is_empty(), "not noticed: {missed:?}");
    assert!(
        Bug::of(Set::Names).iter().all(|bug| known.contains(bug)),
        "a mistake without a kernel"
    );
}

/// Looks for kernels on which the mistakes show that have none.
#[test]
#[ignore = "looks for seeds"]
fn seeds_for_mistakes() {
    let count = number("PTXASW_FUZZ_COUNT").unwrap_or(2000);
    let known: Vec<Bug> =
        ON_SEEDS.map(|(bug, ..)| bug).into_iter().chain(ON_CASES.map(|(bug, ..)| bug)).collect();
    for bug in Bug::of(Set::Names).into_iter().filter(|bug| !known.contains(bug)) {
        let shows = |seed: &u64| {
            let case = case(*seed);
            STRATEGIES.into_iter().find(|strategies| {
                let judged = || check(&case, &options(strategies), &panel());
                let judged = planted::with(bug, judged);
                matches!(judged, Verdict::Broken(found) if found.judge == "run")
            })
        };
        let found = (0..count).into_par_iter().find_map_first(|seed| Some((seed, shows(&seed)?)));
        println!("{bug:?}: {found:?}");
    }
}
