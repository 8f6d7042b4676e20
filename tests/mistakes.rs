//! Wrong rewrites of random kernels that the judge calls equal compute the same: each planted mistake about collectives,
//! made in kernels whose lanes part in many ways.

use ptxasw::interp;
use ptxasw::launch::{Launch, Meet};
use ptxasw::pipeline::{Options, rewrite};
use ptxasw::planted::{self, Bug, Set};
use ptxasw::ptx::{self, Depth};
use ptxasw::source::SourceFile;
use ptxasw::verify::{Options as Effort, Verdict, verify};
use rayon::prelude::*;

use crate::common::share;
use crate::networks;

/// Kernels of a full run.
const KERNELS: u64 = 300;

/// How a kernel is rewritten wrongly, and what the judge says.
#[derive(Default)]
struct Found {
    wrong: usize,
    called_equal: usize,
    executed: usize,
    complaints: Vec<String>,
}

fn parsed(source: &SourceFile) -> ptx::Module<'_> {
    ptx::parse(source, Depth::All).unwrap_or_else(|error| panic!("{error}"))
}

fn judge(seed: u64, text: &str, launches: &[Launch]) -> Found {
    let mut found = Found::default();
    let mut options = Options::default();
    options.select.strategies = "collective".parse().unwrap_or_else(|error| panic!("{error}"));
    let source = SourceFile::new("random.ptx", text);
    let rewritten = || {
        let result = rewrite(&source, &options);
        result.unwrap_or_else(|error| panic!("{error}\n{text}")).text
    };
    let (right, before) = (rewritten(), parsed(&source));
    let about_lanes = |bug: &Bug| format!("{bug:?}").starts_with("Collective");
    let mut expected: Option<Vec<_>> = None;
    for bug in Bug::of(Set::Strategies).into_iter().filter(about_lanes) {
        let wrong = planted::with(bug, rewritten);
        if wrong == right {
            continue;
        }
        found.wrong += 1;
        let output = SourceFile::new("wrong.ptx", wrong.as_str());
        let Ok(said) = verify(&source, &output, &Effort::default()) else { continue };
        if said.verdict != Verdict::Equal {
            continue;
        }
        found.called_equal += 1;
        let after = parsed(&output);
        let expected = expected.get_or_insert_with(|| {
            launches.iter().map(|launch| interp::run(&before, launch).ok()).collect()
        });
        for (number, (launch, expected)) in launches.iter().zip(&*expected).enumerate() {
            let Some(expected) = expected else { continue };
            found.executed += 1;
            for meet in [Meet::Assembler, Meet::Random(seed + number as u64)] {
                let launch = Launch { meet, ..launch.clone() };
                match interp::run(&after, &launch) {
                    Ok(actual) if actual.buffers == expected.buffers => {}
                    Ok(_) => found.complaints.push(format!("{seed}, {bug:?}: differs")),
                    Err(fault) => found.complaints.push(format!("{seed}, {bug:?}: {fault}")),
                }
            }
        }
    }
    found
}

#[test]
fn wrong_rewrites_that_are_called_equal_compute_the_same() {
    let of = |seed: u64| {
        let network = networks::kernel(seed, "sm_80");
        let of_networks = networks::BLOCKS.map(|block| networks::launch(seed, block));
        judge(seed, &network, &of_networks)
    };
    let found: Vec<Found> = (0..share(KERNELS)).into_par_iter().map(of).collect();
    let count = |of: fn(&Found) -> usize| found.iter().map(of).sum::<usize>();
    let (wrong, equal) = (count(|one| one.wrong), count(|one| one.called_equal));
    println!("{wrong} wrong texts, {equal} called equal; {} launches", count(|one| one.executed));
    let complaints: Vec<&String> = found.iter().flat_map(|one| &one.complaints).collect();
    assert!(complaints.is_empty(), "{complaints:#?}");
    assert!(wrong as u64 > share(KERNELS), "only {wrong} texts were wrong");
}
