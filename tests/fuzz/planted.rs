//! Bugs planted into the rewriter: each must be noticed by every judge, on the kernel that is kept
//! for it and, most of them, on some random kernel.

use ptxasw::shuffle::Bug;
use rayon::prelude::*;

use crate::files;
use crate::number;
use crate::random::check::{Complaint, Verdict, check, judges};
use crate::random::{emit, kernel};
use crate::seeds::{smallest, with_bug};

/// The first random kernel on which a bug shows.
fn first_seed(bug: Bug, seeds: std::ops::Range<u64>) -> Option<(u64, Complaint)> {
    let (options, judges) = (with_bug(bug), judges());
    seeds.into_par_iter().find_map_first(|seed| {
        match check(&emit(&kernel(seed)), &options, &judges) {
            Verdict::Broken(complaint) => Some((seed, complaint)),
            _ => None,
        }
    })
}

/// Looks for a kernel for each planted bug that has none, and keeps it reduced.
#[test]
#[ignore = "fills tests/fuzz/planted"]
fn kernels_for_planted_bugs() {
    let folder = files::folder("planted");
    let known: Vec<String> = files::read(&folder).into_iter().map(|(name, _)| name).collect();
    let count = number("PTXASW_FUZZ_COUNT").unwrap_or(2000);
    for bug in Bug::ALL {
        let name = format!("{bug:?}");
        if known.contains(&name) {
            continue;
        }
        let Some((seed, complaint)) = first_seed(bug, 0..count) else {
            println!("{name}: nothing up to seed {count}");
            continue;
        };
        let small = smallest(&kernel(seed), &with_bug(bug), &complaint);
        println!("{name}: seed {seed}, {}", complaint.judge);
        files::write(&folder, &name, &format!("{name}: {}", complaint.message), &emit(&small));
    }
}
