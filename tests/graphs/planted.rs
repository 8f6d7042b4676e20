//! Mistakes planted into the analysis of where lanes meet: each makes a wrong rewrite of some graph
//! within a few hundred seeds, and its execution shows it.

use ptxasw::pipeline::{Options, rewrite};
use ptxasw::planted::{Bug, Planted};
use ptxasw::source::SourceFile;
use rayon::prelude::*;

use crate::graph::emit::emit;
use crate::graph::kernel;
use crate::random::check::{Complaint, Interpreter, Panel, Schedules, Verdict, check};

/// Seeds within which each is noticed.
const SEEDS: u64 = 1000;
/// Seeds that choose where lanes meet, for each kernel that is rewritten otherwise.
const MEETINGS: u64 = 8;

/// What is seen of a mistake in the kernel of a seed.
fn noticed(bug: Bug, seed: u64) -> Option<Complaint> {
    let case = emit(&kernel(seed));
    let mut wrong = Options::default();
    wrong.shuffle.planted = Planted::bug(bug);
    let source = SourceFile::new("graph.ptx", case.ptx.as_str());
    let text = |options: &Options| rewrite(&source, options).ok().map(|result| result.text);
    if text(&wrong) == text(&Options::default()) {
        return None;
    }
    let judges = vec![Box::new(Interpreter) as _, Box::new(Schedules { seeds: MEETINGS }) as _];
    match check(&case, &wrong, &Panel { judges, repeat: false }) {
        Verdict::Broken(complaint) => Some(complaint),
        _ => None,
    }
}

#[test]
fn mistakes_about_convergence_are_noticed() {
    let found: Vec<(Bug, Option<(u64, Complaint)>)> = Bug::CONVERGENCE
        .into_par_iter()
        .map(|bug| {
            let mut seeds = 0..SEEDS;
            (bug, seeds.find_map(|seed| noticed(bug, seed).map(|complaint| (seed, complaint))))
        })
        .collect();
    let mut missed = Vec::new();
    for (bug, first) in found {
        match first {
            Some((seed, complaint)) => {
                let kind = kernel(seed).kind;
                println!(
                    "{bug:?}: seed {seed}, {kind:?}, {}: {}",
                    complaint.judge, complaint.message
                );
            }
            None => missed.push(bug),
        }
    }
    assert!(missed.is_empty(), "{missed:?} make no difference up to seed {SEEDS}");
}

/// `cargo test --test graphs how_often_mistakes_are_noticed -- --ignored --nocapture`
#[test]
#[ignore = "prints how many seeds of some show each mistake"]
fn how_often_mistakes_are_noticed() {
    let count = crate::number("PTXASW_GRAPHS_COUNT").unwrap_or(SEEDS);
    for bug in Bug::CONVERGENCE {
        let seeds: Vec<u64> =
            (0..count).into_par_iter().filter(|&seed| noticed(bug, seed).is_some()).collect();
        println!("{bug:?}: {} of {count}, first {:?}", seeds.len(), &seeds[..seeds.len().min(5)]);
    }
}
