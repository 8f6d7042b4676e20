//! Invariants of the states that lists reach: guessed from such states, and kept as far as they are proved inductive.
//!
//! The laws of an operator often fail on states that no list reaches, such as a maximum below a later value.

use super::subject::Loop;
use super::term::{self, GIVEN, INPUT, Op, Shared, Sort, Term, Values};
use crate::solver::numbers::{Prover, Verdict};

/// The most guesses.
const MOST: usize = 400;

/// A reached state, with the given values.
pub(super) type Reached = (Vec<i64>, Vec<i64>);

fn holds(term: &Term, state: &[i64], givens: &[i64], element: &[i64]) -> Option<bool> {
    let values = Values::new(state, givens).with_inputs(element);
    term::value(term, &|variable| *values.of(variable)).map(|value| value != 0)
}

/// Predicates about the accumulators: those that may hold always, and those under which others may hold.
fn candidates(subject: &Loop) -> (Vec<Shared>, Vec<Shared>) {
    let places = |wanted: bool| {
        let accumulators = subject.accumulators.iter().zip(0u32..);
        accumulators
            .filter(move |(a, _)| (a.sort == Sort::Boolean) == wanted)
            .map(|(a, at)| (a, term::variable(at)))
    };
    let mut constants = vec![0, 1];
    for modulus in super::bank::moduli(subject) {
        if let Term::Number(modulus) = *modulus {
            constants.push(modulus - 1);
        }
    }
    let constants_of = |sort: Sort| {
        let mut constants = constants.clone();
        for (accumulator, _) in places(false).filter(|(own, _)| own.sort == sort) {
            if !constants.contains(&accumulator.start) {
                constants.push(accumulator.start);
            }
        }
        constants
    };
    let mut conditions: Vec<Shared> = Vec::new();
    let mut facts: Vec<Shared> = Vec::new();
    for (_, b) in places(true) {
        conditions.extend([b.clone(), term::not(b)]);
    }
    facts.extend(conditions.iter().cloned());
    let numbers: Vec<(Sort, Shared)> = places(false).map(|(own, v)| (own.sort, v)).collect();
    for (at, (sort, v)) in numbers.iter().enumerate() {
        for constant in constants_of(*sort) {
            let constant = term::number(constant);
            facts.push(term::binary(Op::LessEqual, constant.clone(), v.clone()));
            facts.push(term::binary(Op::LessEqual, v.clone(), constant));
        }
        for (other, (_, w)) in numbers.iter().enumerate().filter(|(_, (s, _))| s == sort) {
            if at != other {
                facts.push(term::binary(Op::LessEqual, v.clone(), w.clone()));
            }
            if at < other {
                conditions.push(term::binary(Op::Equal, v.clone(), w.clone()));
            }
        }
    }
    for (accumulator, v) in places(false) {
        conditions.push(term::binary(Op::Equal, v, term::number(accumulator.start)));
    }
    let added = numbers.iter().enumerate().filter(|(_, (sort, _))| subject.computes(*sort));
    let sums = added.flat_map(|(at, (sort, a))| {
        let others = numbers[at..].iter().filter(move |(other, _)| other == sort);
        others.map(move |(_, b)| (*sort, term::binary(Op::Add, a.clone(), b.clone())))
    });
    let sums: Vec<(Sort, Shared)> = sums.collect();
    for (sort, sum) in &sums {
        for (_, v) in numbers.iter().filter(|(other, _)| other == sort) {
            facts.push(term::binary(Op::LessEqual, sum.clone(), v.clone()));
            facts.push(term::binary(Op::LessEqual, v.clone(), sum.clone()));
        }
    }
    (facts, conditions)
}

/// Predicates that hold on all states.
fn guesses(subject: &Loop, reached: &[Reached]) -> Vec<Shared> {
    let always = |term: &Shared| {
        reached.iter().all(|(state, givens)| holds(term, state, givens, &[]) == Some(true))
    };
    let (facts, conditions) = candidates(subject);
    let (mut found, rest): (Vec<Shared>, Vec<Shared>) = facts.into_iter().partition(always);
    for condition in &conditions {
        let meets = |(state, givens): &&Reached| holds(condition, state, givens, &[]) == Some(true);
        let under: Vec<&Reached> = reached.iter().filter(meets).collect();
        if under.is_empty() || under.len() == reached.len() {
            continue;
        }
        let equalities = conditions.iter().filter(|other| *other != condition);
        for fact in rest.iter().chain(equalities) {
            let held =
                under.iter().all(|(state, givens)| holds(fact, state, givens, &[]) == Some(true));
            if held && found.len() < MOST {
                found.push(term::binary(Op::Or, term::not(condition.clone()), fact.clone()));
            }
        }
    }
    found.dedup();
    found
}

/// Predicates that hold in front of the loop and after each element if they held before it, all together.
pub(super) fn find(subject: &Loop, prover: &mut Prover, reached: &[Reached]) -> Vec<Shared> {
    let mut found = guesses(subject, reached);
    if planted!(Bug::GuessesBelieved) {
        return found;
    }
    let sort = |variable: u32| subject.sort(variable);
    let states = 0..subject.accumulators.len() as u32;
    let inputs = INPUT..INPUT + subject.inputs.len() as u32;
    let givens = GIVEN..GIVEN + subject.givens.len() as u32;
    let wanted: Vec<u32> = states.chain(inputs).chain(givens).collect();
    loop {
        let premises = [found.clone(), subject.ranges(1)].concat();
        let next: Vec<Shared> = found.iter().map(|invariant| after(subject, invariant)).collect();
        let claim = next
            .iter()
            .cloned()
            .fold(term::truth(true), |all, one| term::binary(Op::And, all, one));
        let before = found.len();
        match prover.prove(&sort, &premises, &claim, &wanted) {
            Verdict::Proved(_) => return found,
            Verdict::Refuted(values) => {
                let values: Option<Vec<i64>> = values.into_iter().collect();
                if let Some(values) = values {
                    let (state, rest) = values.split_at(subject.accumulators.len());
                    let (element, givens) = rest.split_at(subject.inputs.len());
                    let mut next = next.iter();
                    found.retain(|_| {
                        next.next()
                            .is_none_or(|next| holds(next, state, givens, element) == Some(true))
                    });
                }
            }
            Verdict::Unknown => {}
        }
        if found.len() == before {
            // Nothing was learned of all together: each by itself.
            let mut next = next.iter();
            found.retain(|_| {
                let claim = next.next().cloned().unwrap_or_else(|| term::truth(false));
                matches!(prover.prove(&sort, &premises, &claim, &[]), Verdict::Proved(_))
            });
            if found.len() == before {
                return found;
            }
        }
        if found.is_empty() {
            return found;
        }
    }
}

/// The invariant after one more element.
fn after(subject: &Loop, invariant: &Shared) -> Shared {
    let by = |variable: u32| match variable {
        0..INPUT => subject.accumulators[variable as usize].step.clone(),
        _ => term::variable(variable),
    };
    term::substitute(invariant, &by)
}

/// Those that are used, and those that keep these.
pub(super) fn closed(
    subject: &Loop,
    prover: &mut Prover,
    invariants: &[Shared],
    mut used: Vec<bool>,
) -> Vec<Shared> {
    let sort = |variable: u32| subject.sort(variable);
    let premises = [invariants.to_vec(), subject.ranges(1)].concat();
    let mut done = vec![false; used.len()];
    while let Some(at) = (0..used.len()).find(|&at| used[at] && !done[at]) {
        done[at] = true;
        match prover.prove(&sort, &premises, &after(subject, &invariants[at]), &[]) {
            Verdict::Proved(of) => {
                of.into_iter().filter(|&at| at < invariants.len()).for_each(|at| used[at] = true);
            }
            // They are inductive together: nothing is left out then.
            _ => return invariants.to_vec(),
        }
    }
    invariants
        .iter()
        .zip(used)
        .filter(|(_, used)| *used)
        .map(|(invariant, _)| invariant.clone())
        .collect()
}
