//! The search: sets of auxiliary accumulators, the fewest first; for each an operator that is right on examples; for
//! that a proof, or two lists that refute it and become an example.

use super::auxiliary::{Tester, Witness};
use super::bank::{Bank, MOST_EXAMPLES};
use super::examples::{Example, Source};
use super::growth::{Growth, growth};
use super::laws::Proof;
use super::subject::Loop;
use super::term::{self, Shared, Sort, Values};

use rustc_hash::FxHashSet;

use crate::solver::numbers::{self, Prover};

/// How many pairs of random lists a search begins with.
const FIRST_EXAMPLES: usize = 56;

/// The most examples that refuted candidates add for one set of auxiliary accumulators.
const MOST_REFUTED: usize = 24;

/// How many pairs of longer lists each proved operator is tried on, and each refutation may come from.
const TRIED: usize = 400;

/// z3's limit for a claim, and for all claims of a sketch.
const CLAIM: u32 = 200_000;
const CLAIMS: u64 = 4_000_000;

/// The most sets of auxiliary accumulators for which an operator is looked for.
const MOST_FITTED: u32 = 400;

/// An operator that was found.
#[derive(Clone, Debug)]
pub struct Found {
    /// The loop with its auxiliary accumulators.
    pub subject: Loop,
    /// For each accumulator, its value after both lists.
    pub combine: Vec<Shared>,
    /// Invariants of all states that lists reach, as far as the proof needs them.
    pub invariants: Vec<Shared>,
    /// The laws that were not proved; none if all were.
    pub unproved: Vec<&'static str>,
}

/// The outcome of a search.
#[derive(Debug)]
pub struct Outcome {
    /// The operator, if there is one.
    pub found: Option<Found>,
    /// How many sets of auxiliary accumulators were tried.
    pub sets: u64,
    /// How many candidates were refuted, each by two lists.
    pub refuted: u32,
    /// How many claims were put to the prover.
    pub claims: u32,
    /// Whether a bound ended the search.
    pub exhausted: bool,
    /// An accumulator for which no operator can be right; nothing was searched for then.
    pub growth: Option<Growth>,
    /// Why the loop's own accumulators are not enough.
    pub witness: Option<Witness>,
}

struct Search {
    tester: Tester,
    examples: Vec<Example>,
    prover: Prover,
    outcome: Outcome,
    fitted: u32,
}

/// Looks for an operator with few auxiliary accumulators.
pub fn solve(subject: &Loop) -> Outcome {
    numbers::session(|| find(subject))
}

fn find(subject: &Loop) -> Outcome {
    let mut source = Source::new(subject, 0);
    let examples = (0..FIRST_EXAMPLES).map(|_| source.example(5, 12)).collect();
    let outcome = Outcome {
        found: None,
        sets: 0,
        refuted: 0,
        claims: 0,
        exhausted: false,
        growth: growth(subject),
        witness: None,
    };
    if outcome.growth.is_some() {
        return outcome;
    }
    let tester = Tester::new(subject);
    let prover = Prover::new(subject.literals(), CLAIM, CLAIMS);
    let mut search = Search { tester, examples, prover, outcome, fitted: 0 };
    for size in 0..=subject.most {
        if search.extend(subject, size, &FxHashSet::default()) {
            break;
        }
    }
    search.outcome.claims = search.prover.queries();
    search.outcome
}

impl Search {
    /// Tries all sets of `more` further accumulators whose steps are not in `before` (sets with these have been tried).
    /// Returns whether the search is over.
    fn extend(&mut self, subject: &Loop, more: usize, before: &FxHashSet<Shared>) -> bool {
        if more == 0 {
            return self.attempt(subject);
        }
        let mut before = before.clone();
        for candidate in self.tester.candidates(subject) {
            if !before.insert(candidate.step.clone()) {
                continue;
            }
            let mut extended = subject.clone();
            extended.accumulators.push(candidate);
            if self.extend(&extended, more - 1, &before) {
                return true;
            }
        }
        false
    }

    /// Looks for an operator on the accumulators there are; whether the search is over.
    fn attempt(&mut self, subject: &Loop) -> bool {
        self.outcome.sets += 1;
        if let Err(witness) = self.tester.can_be_enough(subject) {
            if subject.accumulators.len() == subject.own {
                self.outcome.witness = Some(witness);
            }
            return false;
        }
        if self.fitted == MOST_FITTED {
            self.outcome.exhausted = true;
            return true;
        }
        self.fitted += 1;
        for _ in 0..=MOST_REFUTED {
            let mut bank = Bank::new(subject, &self.examples);
            let components = 0..subject.accumulators.len();
            let combine: Option<Vec<Shared>> =
                components.map(|component| super::fit::fit(&mut bank, component)).collect();
            let Some(combine) = combine else { return false };
            let tried = || tried(subject, &combine, 12, 1000);
            let reached = || reached(subject);
            let (invariants, unproved) =
                match super::laws::prove(subject, &combine, &mut self.prover, &tried, &reached) {
                    Proof::Proved(invariants) => (invariants, Vec::new()),
                    Proof::Refuted(example) => {
                        self.outcome.refuted += 1;
                        if !planted!(Bug::NothingLearned) {
                            self.learn(example);
                        }
                        continue;
                    }
                    Proof::Unknown(unproved) => (Vec::new(), unproved),
                };
            let subject = subject.clone();
            let proved = unproved.is_empty();
            if proved || self.outcome.found.is_none() {
                self.outcome.found = Some(Found { subject, combine, invariants, unproved });
            }
            // Other accumulators may do with a proof.
            return proved;
        }
        false
    }

    /// A new example, in the place of an old one if there are too many.
    fn learn(&mut self, example: Example) {
        if self.examples.len() == MOST_EXAMPLES {
            self.examples.remove(0);
        }
        self.examples.push(example);
    }
}

/// The state of two lists by an operator, from the states of each; none for a number that becomes too large.
fn combined(
    combine: &[Shared],
    givens: &[i64],
    left: &[i64],
    right: &[i64],
) -> impl Iterator<Item = Option<i64>> {
    combine.iter().map(|component| {
        let values = Values::new(left, givens).with_right(right);
        term::value(component, &|variable| *values.of(variable))
    })
}

impl Found {
    /// The state of two lists, from the states of each; `None` where a number becomes too large.
    pub fn combine(&self, givens: &[i64], left: &[i64], right: &[i64]) -> Option<Vec<i64>> {
        combined(&self.combine, givens, left, right).collect()
    }

    /// Whether only sums, differences and products are made of numbers, so that the laws, which are then identities of
    /// polynomials, hold in every ring.
    pub fn is_polynomial(&self) -> bool {
        let steps = self.subject.accumulators.iter().map(|accumulator| &accumulator.step);
        self.invariants.is_empty()
            && !self.subject.has(Sort::Real)
            && steps.chain(&self.combine).all(term::is_polynomial)
    }
}

/// Two random lists for which an operator is wrong.
fn tried(subject: &Loop, combine: &[Shared], longest: usize, most: i64) -> Option<Example> {
    let mut source = Source::new(subject, 2);
    (0..TRIED).map(|_| source.example(longest, most)).find(|example| {
        let run = |list| subject.run(&example.givens, list);
        let (left, right) = (run(&example.left), run(&example.right));
        let (Some(left), Some(right), Some(whole)) = (left, right, run(&example.whole())) else {
            return false;
        };
        let combined = combined(combine, &example.givens, &left, &right);
        combined.zip(whole).any(|(combined, whole)| combined.is_some_and(|value| value != whole))
    })
}

/// States that random lists reach, with the given values.
fn reached(subject: &Loop) -> Vec<super::invariants::Reached> {
    let mut source = Source::new(subject, 3);
    let states = (0..TRIED).map(|at| {
        let givens = source.givens(6);
        let list = source.list(1 + at / 40, if at % 2 == 0 { 3 } else { 1000 });
        subject.run(&givens, &list).map(|state| (state, givens))
    });
    let mut states: Vec<_> = states.flatten().collect();
    states.push((subject.start(), source.givens(6)));
    states
}
