//! Kernels aimed at the strategies, rewritten under each of them and under `auto`.
//!
//! What a strategy rewrites is executed wherever lanes may meet, and some of it is proved: nearly all of
//! that, so that a proof which does not come any more is noticed.

use std::collections::BTreeMap;

use ptxasw::pipeline::Options;
use ptxasw::select::{self, Strategies};
use rayon::prelude::*;

use super::seeds::assemble;
use super::{files, keep, number};
use crate::common::share;
use crate::random::aimed::aimed;
use crate::random::check::{
    Complaint, Interpreter, Judge, Panel, Schedules, Verdict, Verifier, check,
};
use crate::random::reduce::reduce;
use crate::random::{Kernel, emit};

/// Kernels in a test run.
const COUNT: u64 = 600;
/// Every so-manieth kernel is proved.
const PROVED: u64 = 5;
/// Every so-manieth kernel is assembled.
const ASSEMBLED: u64 = 10;
/// Seeds that choose where lanes meet.
const MEETINGS: u64 = 3;
/// Of the rewrites that are put to a proof, in percent, those for which it may not come. (Kernels that
/// overwrite their stores have one more than the others: a load between two of them, told apart by a test, is not followed
/// into what depends on it.)
const UNPROVED: usize = 4;
/// Failures that are reduced; of the others only the seeds are told.
const REDUCED: usize = 4;

/// The strategies, and the least share of the kernels, in percent, that each is to change.
const STRATEGIES: [(&str, usize); 8] = [
    ("reuse", 33),
    ("wide", 20),
    ("window", 33),
    ("paper", 33),
    ("aos", 5),
    ("promote", 5),
    ("batch", 5),
    ("auto", 33),
];

fn options(strategies: &str) -> Options {
    let strategies: Strategies = strategies.parse().expect("a strategy");
    Options {
        select: select::Options { strategies, ..select::Options::default() },
        ..Options::default()
    }
}

/// Who is asked about a kernel.
fn panel(proved: bool) -> Panel {
    let mut judges: Vec<Box<dyn Judge>> =
        vec![Box::new(Interpreter), Box::new(Schedules { seeds: MEETINGS })];
    if proved {
        judges.push(Box::new(Verifier::patient()));
    }
    Panel { judges, repeat: proved }
}

/// The complaint about a rewrite.
fn complaint(verdict: &Verdict) -> Option<Complaint> {
    match verdict {
        Verdict::Broken(complaint) => Some(complaint.clone()),
        Verdict::Fine(_) | Verdict::Invalid(_) => None,
    }
}

/// What one strategy did with the kernels.
#[derive(Default)]
struct Tally {
    changed: usize,
    proved: usize,
    replaced: BTreeMap<&'static str, usize>,
    /// Seeds that no judge could decide, with the reason.
    unproved: Vec<String>,
    failures: Vec<String>,
}

impl Tally {
    fn add(&mut self, kernel: &Kernel, strategy: &str, verdict: &Verdict, proved: bool) {
        let seed = kernel.seed;
        if let Some(found) = complaint(verdict) {
            let comment =
                format!("strategy: {strategy}\nseed {seed}, {}: {}", found.judge, found.message);
            if self.failures.len() >= REDUCED {
                self.failures.push(comment);
                return;
            }
            let (options, panel) = (options(strategy), panel(found.judge == "verify"));
            let smallest = reduce(kernel, &mut |smaller| {
                complaint(&check(&emit(smaller), &options, &panel))
                    .is_some_and(|other| other.judge == found.judge)
            });
            let name = format!("{strategy}_{}_{seed}", found.judge);
            files::write(&files::folder("found"), &name, &comment, &emit(&smallest));
            self.failures.push(format!("{comment}\n(kept as tests/fuzz/found/{name}.ptx)"));
        } else if let Verdict::Fine(rewrite) = verdict
            && !rewrite.replaced.is_empty()
        {
            self.changed += 1;
            match rewrite.unsure.first() {
                Some((judge, message)) => {
                    self.unproved.push(format!("{strategy} {seed}, {judge}: {message}"));
                }
                None => self.proved += usize::from(proved),
            }
            for (&what, count) in &rewrite.replaced {
                *self.replaced.entry(what).or_default() += count;
            }
        }
    }
}

/// Tries seeds under all strategies; gives how many make no kernel, and the rewrites to assemble.
fn try_seeds(
    seeds: std::ops::Range<u64>,
    tallies: &mut [Tally],
    every: u64,
) -> (usize, Vec<String>) {
    let judged: Vec<(u64, Vec<Verdict>)> = seeds
        .into_par_iter()
        .map(|seed| {
            let (case, panel) = (emit(&aimed(seed)), panel(seed.is_multiple_of(every)));
            let under = |&(strategy, _): &(&str, usize)| check(&case, &options(strategy), &panel);
            (seed, STRATEGIES.iter().map(under).collect())
        })
        .collect();
    let (mut invalid, mut texts) = (0, Vec::new());
    for (seed, verdicts) in judged {
        let kernel = aimed(seed);
        let mut is_kernel = true;
        for (((strategy, _), verdict), tally) in STRATEGIES.iter().zip(&verdicts).zip(&mut *tallies)
        {
            tally.add(&kernel, strategy, verdict, seed.is_multiple_of(every));
            if let Verdict::Fine(rewrite) = verdict
                && !rewrite.replaced.is_empty()
            {
                keep(&format!("aimed_{seed}"), &emit(&kernel), strategy, &rewrite.text);
            }
            match verdict {
                Verdict::Invalid(message) => {
                    if is_kernel {
                        println!("seed {seed} makes an invalid kernel: {message}");
                    }
                    is_kernel = false;
                }
                Verdict::Fine(rewrite)
                    if seed.is_multiple_of(ASSEMBLED) && !rewrite.replaced.is_empty() =>
                {
                    // Several rewrites of one kernel in a module need several names.
                    let (old, new) = (format!("_{seed}"), format!("_{seed}_{strategy}"));
                    texts.push(rewrite.text.replace(&old, &new));
                }
                _ => {}
            }
        }
        invalid += usize::from(!is_kernel);
    }
    (invalid, texts)
}

#[test]
fn aimed_kernels_compute_the_same() {
    let first = number("PTXASW_FUZZ_SEED").unwrap_or_default();
    let count = number("PTXASW_FUZZ_COUNT").unwrap_or_else(|| share(COUNT));
    let every = number("PTXASW_FUZZ_PROVED").unwrap_or(PROVED);
    let mut tallies: Vec<Tally> = STRATEGIES.iter().map(|_| Tally::default()).collect();
    if count == 1 {
        println!("{}", emit(&aimed(first)).ptx);
    }
    let (invalid, texts) = try_seeds(first..first + count, &mut tallies, every);
    println!("{count} kernels, {invalid} of them invalid");
    for ((strategy, _), tally) in STRATEGIES.iter().zip(&tallies) {
        let share = 100 * tally.changed / count.max(1) as usize;
        println!(
            "{strategy:7} changes {} ({share} %), {} of them proved, loads {:?}, {} failures",
            tally.changed,
            tally.proved,
            tally.replaced,
            tally.failures.len()
        );
    }
    let failures: Vec<&str> =
        tallies.iter().flat_map(|tally| &tally.failures).map(String::as_str).collect();
    let unproved: Vec<&str> =
        tallies.iter().flat_map(|tally| &tally.unproved).map(String::as_str).collect();
    let proved: usize = tallies.iter().map(|tally| tally.proved).sum();
    println!("{proved} proved, {} not:\n{}", unproved.len(), unproved.join("\n"));
    assert!(failures.is_empty(), "\n{}", failures.join("\n"));
    assert_eq!(invalid, 0, "seeds that make no kernel");
    assemble(&texts);
    if count >= share(COUNT) {
        let share = 100 * unproved.len() / (proved + unproved.len()).max(1);
        assert!(share <= UNPROVED, "{share} % are not proved:\n{}", unproved.join("\n"));
        for ((strategy, least), tally) in STRATEGIES.iter().zip(&tallies) {
            let share = 100 * tally.changed / count as usize;
            assert!(share >= *least, "{strategy} changes {share} % of the kernels only");
        }
    }
}
