//! Mistakes planted into the analysis of where lanes meet: they make wrong rewrites of some graphs
//! within a few hundred seeds, and executing these shows it.

use fastrand::Rng;
use ptxasw::pipeline::{Options, rewrite};
use ptxasw::planted::{self, Bug, Set};
use ptxasw::source::SourceFile;
use rayon::prelude::*;

use crate::common::noticed::assert_noticed;
use crate::graph::emit::emit;
use crate::graph::kernel::Kind;
use crate::graph::{kernel, kind};
use crate::random::check::{Complaint, Interpreter, Panel, Schedules, Verdict, check};

/// Seeds within which each is noticed; only those of the kind made for it are tried.
const SEEDS: u64 = 400;
/// Seeds that choose where lanes meet, for each kernel that is rewritten otherwise.
const MEETINGS: u64 = 8;

/// The complaints about some mistakes in the kernel of a seed.
fn noticed(bugs: &[Bug], seed: u64) -> Vec<(Bug, u64, Complaint)> {
    if kind(&mut Rng::with_seed(seed)) != Kind::Shaped {
        return Vec::new();
    }
    let case = emit(&kernel(seed));
    let source = SourceFile::new("graph.ptx", case.ptx.as_str());
    let options = Options::paper();
    let text = || rewrite(&source, &options).ok().map(|result| result.text);
    let right = text();
    let judge = |&bug: &Bug| {
        if planted::with(bug, text) == right {
            return None;
        }
        let judges = vec![Box::new(Interpreter) as _, Box::new(Schedules { seeds: MEETINGS }) as _];
        let panel = Panel { judges, repeat: false };
        match planted::with(bug, || check(&case, &options, &panel)) {
            Verdict::Broken(complaint) => Some((bug, seed, complaint)),
            _ => None,
        }
    };
    bugs.iter().filter_map(judge).collect()
}

#[test]
fn mistakes_about_convergence_are_noticed() {
    let seeds: Vec<String> = (0..SEEDS).map(|seed| format!("seed {seed}")).collect();
    assert_noticed("graphs", &Bug::of(Set::Convergence), &seeds, |bug, seed| {
        !noticed(&[bug], seed as u64).is_empty()
    });
}

/// `cargo test --test execute graphs::how_often_mistakes_are_noticed -- --ignored --nocapture`
#[test]
#[ignore = "prints how many seeds of some show each mistake"]
fn how_often_mistakes_are_noticed() {
    let count = super::number("PTXASW_GRAPHS_COUNT").unwrap_or(SEEDS);
    let seeds = (0..count).into_par_iter();
    let bugs = Bug::of(Set::Convergence);
    let found: Vec<_> = seeds.flat_map_iter(|seed| noticed(&bugs, seed)).collect();
    for bug in bugs {
        let of = found.iter().filter(|(other, ..)| *other == bug);
        let seeds: Vec<u64> = of.map(|(_, seed, _)| *seed).collect();
        println!("{bug:?}: {} of {count}, first {:?}", seeds.len(), &seeds[..seeds.len().min(5)]);
    }
}
