//! Random kernels that are made as text: each is rewritten and judged, some are proved, some assembled.

use ptxasw::pipeline::Options;
use ptxasw::select;
use rayon::prelude::*;

use super::seeds::assemble;
use super::{keep, number};
use crate::common::share;
use crate::random::Case;
use crate::random::check::{Interpreter, Judge, Panel, Schedules, Verdict, Verifier, check};

/// Kernels in a test run.
const COUNT: u64 = 400;
/// One kernel in this number is proved.
const PROVED: u64 = 4;
/// One kernel in this number is assembled.
const ASSEMBLED: u64 = 8;

/// Kernels aimed at some strategies, and the least that is to become of them.
pub struct Aim {
    /// The kernel of a seed.
    pub kernel: fn(u64) -> Case,
    /// As `--strategy`.
    pub strategies: &'static str,
    /// Whether a rewritten text, which differs from the original, has the aim of its kernel.
    pub is_hit: fn(&str) -> bool,
    /// The number of choices where lanes meet again.
    pub meetings: u64,
    /// The name of an array outside functions; kernels of one module need several.
    pub array: &'static str,
    /// The largest share of the kernels, in percent, that may not run.
    pub invalid: usize,
    /// The least share of the kernels, in percent, that is hit.
    pub hit: usize,
    /// The largest share of the proofs, in percent, that may not come.
    pub unproved: usize,
}

impl Aim {
    /// Tries as many kernels as the environment says.
    ///
    /// # Panics
    /// A kernel computes something else, or too few are hit or proved.
    pub fn check(&self) {
        let first = number("PTXASW_FUZZ_SEED").unwrap_or_default();
        let count = number("PTXASW_FUZZ_COUNT").unwrap_or_else(|| share(COUNT));
        let every = number("PTXASW_FUZZ_PROVED").unwrap_or(PROVED);
        if count == 1 {
            let case = (self.kernel)(first);
            println!("{}\n{}", case.ptx, case.launch);
        }
        let judged: Vec<(u64, Case, Verdict)> = (first..first + count)
            .into_par_iter()
            .map(|seed| {
                let case = (self.kernel)(seed);
                let verdict = self.judged(&case, seed.is_multiple_of(every));
                (seed, case, verdict)
            })
            .collect();
        let (mut hit, mut proved, mut invalid) = (0, 0, 0);
        let (mut unproved, mut failures, mut texts) = (Vec::new(), Vec::new(), Vec::new());
        for (seed, case, verdict) in judged {
            match verdict {
                Verdict::Invalid(_) => invalid += 1,
                Verdict::Broken(found) => {
                    failures.push(format!("seed {seed}, {}: {}", found.judge, found.message));
                }
                Verdict::Fine(rewrite) if rewrite.text != case.ptx => {
                    hit += usize::from((self.is_hit)(&rewrite.text));
                    keep(&format!("{}_{seed}", self.array), &case, self.strategies, &rewrite.text);
                    match rewrite.unsure.first() {
                        Some((judge, why)) => unproved.push(format!("seed {seed}, {judge}: {why}")),
                        None => proved += usize::from(seed.is_multiple_of(every)),
                    }
                    if seed.is_multiple_of(ASSEMBLED) {
                        let own = format!("{}_{seed}", self.array);
                        texts.push(rewrite.text.replace(self.array, &own));
                    }
                }
                Verdict::Fine(_) => {}
            }
        }
        println!(
            "{count} kernels, {invalid} of them invalid, {hit} hit, {proved} proved, not:\n{}",
            unproved.join("\n")
        );
        assert!(failures.is_empty(), "{} failures:\n{}", failures.len(), failures.join("\n"));
        assemble(&texts);
        if count >= share(COUNT) {
            let percent = |share: usize, of: usize| of * share / 100;
            let count = count as usize;
            assert!(
                invalid <= percent(self.invalid, count),
                "{invalid} of {count} seeds make no kernel"
            );
            assert!(hit >= percent(self.hit, count), "{hit} of {count} kernels are hit");
            let most = percent(self.unproved, proved + unproved.len());
            assert!(unproved.len() <= most, "not proved:\n{}", unproved.join("\n"));
        }
    }

    fn judged(&self, case: &Case, proved: bool) -> Verdict {
        let strategies = self.strategies.parse().expect("strategies");
        let select = select::Options { strategies, ..select::Options::default() };
        let schedules = Schedules { seeds: self.meetings };
        let mut judges: Vec<Box<dyn Judge>> = vec![Box::new(Interpreter), Box::new(schedules)];
        if proved {
            judges.push(Box::new(Verifier::patient()));
        }
        let options = Options { select, ..Options::default() };
        check(case, &options, &Panel { judges, repeat: proved })
    }
}
