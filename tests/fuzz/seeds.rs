//! Kernels by seed.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use ptxasw::pipeline::Options;
use ptxasw::planted::{self, Bug};
use rayon::prelude::*;

use super::assembler::Assembler;
use super::files;
use super::header::options_of;
use super::number;
use crate::common::share;
use crate::random::check::{Complaint, Panel, Rewrite, Verdict, check};
use crate::random::reduce::reduce;
use crate::random::{Kernel, emit, kernel};

/// Kernels in a whole test run.
const COUNT: u64 = 2000;
/// Every so-manieth rewrite is assembled.
const ASSEMBLED: u64 = 20;
/// Every so-manieth rewrite is proved.
const PROVED: u64 = 5;

/// The smallest kernel that the same judge complains about.
pub fn smallest(kernel: &Kernel, options: &Options, complaint: &Complaint) -> Kernel {
    let panel =
        if ["run", "meet"].contains(&complaint.judge) { Panel::quick() } else { Panel::full() };
    reduce(kernel, &mut |smaller| match check(&emit(smaller), options, &panel) {
        Verdict::Broken(other) => other.judge == complaint.judge,
        _ => false,
    })
}

/// What became of many seeds.
#[derive(Default)]
struct Tally {
    kernels: usize,
    rewritten: usize,
    /// Kernels with a load that some rule kept.
    trapped: usize,
    loads: usize,
    shuffles: usize,
    /// Judges that could not tell, and why.
    unsure: BTreeMap<String, usize>,
    failures: Vec<String>,
    /// Rewrites to assemble.
    texts: Vec<String>,
}

impl Tally {
    fn fine(&mut self, seed: u64, rewrite: Rewrite) {
        self.kernels += 1;
        self.rewritten += usize::from(rewrite.shuffles > 0);
        self.trapped += usize::from(rewrite.refused > 0);
        self.loads += rewrite.loads;
        self.shuffles += rewrite.shuffles;
        for (judge, reason) in rewrite.unsure {
            let reason: String = reason.chars().filter(|c| !c.is_ascii_digit()).take(60).collect();
            *self.unsure.entry(format!("{judge} could not tell: {reason}")).or_default() += 1;
        }
        if seed.is_multiple_of(ASSEMBLED) {
            self.texts.push(rewrite.text);
        }
    }

    fn print(&self) {
        let share = |part: usize| 100 * part / self.kernels.max(1);
        println!(
            "{} kernels; {} % with shuffles, {} % with a load that a rule kept; {} of {} loads replaced",
            self.kernels,
            share(self.rewritten),
            share(self.trapped),
            self.shuffles,
            self.loads
        );
        for (what, count) in &self.unsure {
            println!("{count:6} {what}");
        }
    }
}

/// Checks some seeds, reduces what fails, and keeps it in `tests/fuzz/found`.
fn try_seeds(seeds: std::ops::Range<u64>, tally: &mut Tally) {
    let (options, quick, full) = (Options::paper(), Panel::quick(), Panel::full());
    let verdicts: Vec<(u64, Verdict)> = seeds
        .into_par_iter()
        .map(|seed| {
            let panel = if seed.is_multiple_of(PROVED) { &full } else { &quick };
            (seed, check(&emit(&kernel(seed)), &options, panel))
        })
        .collect();
    for (seed, verdict) in verdicts {
        match verdict {
            Verdict::Fine(rewrite) => tally.fine(seed, rewrite),
            Verdict::Invalid(message) => {
                tally.failures.push(format!("seed {seed} makes an invalid kernel: {message}"));
            }
            Verdict::Broken(complaint) => {
                let smallest = smallest(&kernel(seed), &options, &complaint);
                let comment = format!("seed {seed}, {}: {}", complaint.judge, complaint.message);
                let name = format!("{}_{seed}", complaint.judge);
                files::write(&files::folder("found"), &name, &comment, &emit(&smallest));
                tally.failures.push(format!("{comment}\n(kept as tests/fuzz/found/{name}.ptx)"));
            }
        }
    }
}

/// All rewrites in one module through the real ptxas.
pub fn assemble(texts: &[String]) {
    let Some(assembler) = Assembler::find() else { return };
    // One module for each architecture.
    let mut modules: BTreeMap<&str, String> = BTreeMap::new();
    for text in texts {
        let (header, rest) = text.split_once("64\n").unwrap_or(("", text));
        *modules.entry(header).or_default() += rest;
    }
    let folder = tempfile::tempdir().expect("a folder");
    for (header, rest) in modules {
        let module = format!("{header}64\n{rest}");
        let complaint = assembler.assemble(&module, &folder.path().join("random.cubin"));
        assert_eq!(complaint, Ok(()), "ptxas does not like a rewritten kernel");
    }
}

#[test]
fn random_kernels_compute_the_same() {
    let first = number("PTXASW_FUZZ_SEED").unwrap_or_default();
    let count = number("PTXASW_FUZZ_COUNT").unwrap_or_else(|| share(COUNT));
    let mut tally = Tally::default();
    try_seeds(first..first + count, &mut tally);
    tally.print();
    assert!(tally.failures.is_empty(), "\n{}", tally.failures.join("\n"));
    if count >= share(COUNT) {
        assert!(2 * tally.rewritten > tally.kernels, "too few kernels are rewritten");
        assert!(3 * tally.trapped > tally.kernels, "too few kernels hold traps");
    }
    assemble(&tally.texts);
}

#[test]
fn what_was_found_stays_fixed() {
    let panel = Panel::full();
    for (name, case) in files::read(&files::folder("found")) {
        match check(&case, &options_of(&case.ptx), &panel) {
            Verdict::Fine(_) => {}
            other => panic!("tests/fuzz/found/{name}.ptx: {other:?}"),
        }
    }
}

#[test]
fn a_failing_kernel_is_reduced() {
    let (options, panel) = (Options::paper(), Panel::quick());
    let wrong = |kernel: &Kernel| {
        planted::with(Bug::CornerTooFarUp, || check(&emit(kernel), &options, &panel))
    };
    let (seed, complaint) = (0..200)
        .find_map(|seed| match wrong(&kernel(seed)) {
            Verdict::Broken(complaint) => Some((seed, complaint)),
            _ => None,
        })
        .expect("a kernel on which the bug shows");
    let large = kernel(seed);
    let small = planted::with(Bug::CornerTooFarUp, || smallest(&large, &options, &complaint));
    assert!(matches!(wrong(&small), Verdict::Broken(_)));
    assert!(matches!(check(&emit(&small), &options, &panel), Verdict::Fine(_)));
    let instructions = |kernel| emit(kernel).ptx.lines().filter(|l| l.ends_with(';')).count();
    println!("seed {seed}: from {} to {} lines", instructions(&large), instructions(&small));
    assert_eq!(small.body.len(), 2, "a source and a covered load: {:?}", small.body);
    assert!(instructions(&small) < 60, "{}", emit(&small).ptx);
}

/// What `scripts/fuzz kernels` runs: seeds from `PTXASW_FUZZ_SEED` on, for `PTXASW_FUZZ_MINUTES`.
#[test]
#[ignore = "runs as long as it is told to"]
fn for_a_time() {
    const CHUNK: u64 = 500;
    let mut seed = number("PTXASW_FUZZ_SEED").unwrap_or_default();
    let limit = Duration::from_secs(60 * number("PTXASW_FUZZ_MINUTES").unwrap_or(1));
    let start = Instant::now();
    let mut tally = Tally::default();
    while start.elapsed() < limit {
        try_seeds(seed..seed + CHUNK, &mut tally);
        seed += CHUNK;
        for failure in tally.failures.iter() {
            println!("{failure}");
        }
        println!("up to seed {seed}");
        tally.print();
        assemble(&std::mem::take(&mut tally.texts));
        if tally.failures.len() > 20 {
            break;
        }
    }
    assert!(tally.failures.is_empty(), "{} failures", tally.failures.len());
}
