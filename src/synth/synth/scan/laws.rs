//! The laws that make an operator right for lists of all lengths, put to the prover.
//!
//! With `h` for the state after a list: from `combine(s, unit) = s` and `combine(a, step(b, x)) =
//! step(combine(a, b), x)` on all states that lists reach, `combine(h(xs), h(ys)) = h(xs ++ ys)` follows by induction
//! over `ys`, and from that `combine` is associative on these states, and `unit` is neutral on both sides.

use std::sync::Arc;

use super::examples::Example;
use super::invariants;
use super::subject::Loop;
use super::term::{self, GIVEN, INPUT, Op, RIGHT, Shared, Term, Values};
use crate::solver::numbers::{Prover, Verdict};

/// The longest lists whose elements the prover chooses to refute a candidate.
const LONGEST: usize = 2;

/// The laws, as they are printed.
pub(super) const LAWS: [&str; 3] = [
    "combine(s, unit) = s",
    "combine(s, lift(x)) = step(s, x)",
    "combine(a, step(b, x)) = step(combine(a, b), x)",
];

/// The verdict on a candidate.
#[derive(Clone, Debug)]
pub(super) enum Proof {
    /// All laws hold on all states for which these invariants hold, and those that lists reach are among them.
    Proved(Vec<Shared>),
    /// Two lists for which the candidate is wrong.
    Refuted(Example),
    /// The laws that were not proved.
    Unknown(Vec<&'static str>),
}

/// Both sides of each law for each accumulator.
fn laws(subject: &Loop, combine: &[Shared]) -> Vec<(usize, Shared)> {
    let start = |at: usize| {
        let accumulator = &subject.accumulators[at];
        term::constant(accumulator.sort, accumulator.start)
    };
    let step = |state: &dyn Fn(usize) -> Shared| -> Vec<Shared> {
        let by = |variable: u32| match variable {
            0..INPUT => state(variable as usize),
            _ => term::variable(variable),
        };
        let steps = subject.accumulators.iter();
        steps.map(|accumulator| term::substitute(&accumulator.step, &by)).collect()
    };
    let right = |by: &dyn Fn(usize) -> Shared| -> Vec<Shared> {
        let by = |variable: u32| match variable {
            RIGHT.. => by((variable - RIGHT) as usize),
            _ => term::variable(variable),
        };
        combine.iter().map(|component| term::substitute(component, &by)).collect()
    };
    let lift = step(&start);
    let next = step(&|at| term::variable(RIGHT + at as u32));
    let sides: [(Vec<Shared>, Vec<Shared>); 3] = [
        (right(&start), (0..combine.len()).map(|at| term::variable(at as u32)).collect()),
        (right(&|at| Arc::clone(&lift[at])), step(&|at| term::variable(at as u32))),
        (right(&|at| Arc::clone(&next[at])), step(&|at| Arc::clone(&combine[at]))),
    ];
    let mut claims = Vec::new();
    for (law, (left, right)) in sides.into_iter().enumerate() {
        let pairs = left.into_iter().zip(right);
        claims.extend(pairs.map(|(a, b)| (law, term::binary(Op::Equal, a, b))));
    }
    claims
}

/// A claim that two remainders by one number are equal, without the remainders: `(a % m + b) % m` is `(a + b) % m`, and
/// the same holds for products, hence it suffices that the terms without these remainders are equal.
fn without_remainders(claim: &Shared) -> Option<Shared> {
    let Term::Binary(Op::Equal, a, b) = &**claim else { return None };
    let (Term::Binary(Op::Rem, a, by), Term::Binary(Op::Rem, b, other)) = (&**a, &**b) else {
        return None;
    };
    if by != other {
        return None;
    }
    Some(term::binary(Op::Equal, congruent(a, by), congruent(b, by)))
}

/// A term that is congruent to this one modulo a number.
fn congruent(term: &Shared, by: &Shared) -> Shared {
    match &**term {
        Term::Binary(Op::Rem, inner, other) if other == by => congruent(inner, by),
        Term::Binary(op @ (Op::Add | Op::Sub | Op::Mul), a, b) => {
            term::binary(*op, congruent(a, by), congruent(b, by))
        }
        _ => Arc::clone(term),
    }
}

/// Proves the laws, or looks for two lists that refute the candidate, at last among those `tried`; `reached` are states
/// that lists reach, with the given values.
pub(super) fn prove(
    subject: &Loop,
    combine: &[Shared],
    prover: &mut Prover,
    tried: &dyn Fn() -> Option<Example>,
    reached: &dyn Fn() -> Vec<(Vec<i64>, Vec<i64>)>,
) -> Proof {
    let sort =
        |variable: u32| subject.sort(if variable >= RIGHT { variable - RIGHT } else { variable });
    let known = subject.ranges(1);
    let mut open = laws(subject, combine);
    if planted!(Bug::LawForgotten) {
        open.retain(|(law, _)| *law + 1 < LAWS.len());
    }
    open.retain(|(_, claim)| {
        let easier = without_remainders(claim);
        let claims = easier.iter().chain([claim]);
        let mut verdicts = claims.map(|claim| prover.prove(&sort, &known, claim, &[]));
        !verdicts.any(|verdict| matches!(verdict, Verdict::Proved(_)))
    });
    if open.is_empty() {
        return Proof::Proved(Vec::new());
    }
    // A state that no list reaches refutes nothing: the prover chooses lists instead.
    for left in 0..=LONGEST {
        for right in 0..=LONGEST {
            if let Some(example) = refute(subject, combine, prover, left, right) {
                log::debug!("refuted by the prover: {example:?}");
                return Proof::Refuted(example);
            }
        }
    }
    // Longer lists are executed only.
    if let Some(example) = tried() {
        log::debug!("refuted by execution: {example:?}");
        return Proof::Refuted(example);
    }
    let invariants = invariants::find(subject, prover, &reached());
    let on = |first: u32| -> Vec<Shared> {
        let by = |variable: u32| {
            term::variable(if variable < INPUT { first + variable } else { variable })
        };
        invariants.iter().map(|invariant| term::substitute(invariant, &by)).collect()
    };
    let premises = [on(0), on(RIGHT), known].concat();
    let mut used = vec![false; invariants.len()];
    open.retain(|(_, claim)| match prover.prove(&sort, &premises, claim, &[]) {
        Verdict::Proved(of) => {
            let length = invariants.len();
            of.iter().filter(|&&at| at < 2 * length).for_each(|at| used[at % length] = true);
            false
        }
        _ => true,
    });
    if open.is_empty() {
        return Proof::Proved(invariants::closed(subject, prover, &invariants, used));
    }
    if planted!(Bug::UnknownBelieved) {
        return Proof::Proved(Vec::new());
    }
    let mut unproved: Vec<&'static str> = open.iter().map(|(law, _)| LAWS[*law]).collect();
    unproved.dedup();
    Proof::Unknown(unproved)
}

/// Two lists of these lengths for which the candidate is wrong.
fn refute(
    subject: &Loop,
    combine: &[Shared],
    prover: &mut Prover,
    left: usize,
    right: usize,
) -> Option<Example> {
    let start: Vec<Shared> = subject
        .accumulators
        .iter()
        .map(|accumulator| term::constant(accumulator.sort, accumulator.start))
        .collect();
    let width = subject.inputs.len() as u32;
    let run = |state: &[Shared], elements: std::ops::Range<usize>| -> Vec<Shared> {
        elements.fold(state.to_vec(), |state, element| {
            let by = |variable: u32| match variable {
                0..INPUT => state[variable as usize].clone(),
                INPUT..GIVEN => term::variable(variable + element as u32 * width),
                _ => term::variable(variable),
            };
            let steps = subject.accumulators.iter();
            steps.map(|accumulator| term::substitute(&accumulator.step, &by)).collect()
        })
    };
    let a = run(&start, 0..left);
    let b = run(&start, left..left + right);
    let whole = run(&a, left..left + right);
    let states = Values::new(&a, &[]).with_right(&b);
    let by = |variable: u32| match variable {
        0..INPUT | RIGHT.. => Arc::clone(states.of(variable)),
        _ => term::variable(variable),
    };
    let combined = combine.iter().map(|component| term::substitute(component, &by));
    let claim = combined
        .zip(whole)
        .map(|(combined, whole)| term::binary(Op::Equal, combined, whole))
        .fold(term::truth(true), |all, one| term::binary(Op::And, all, one));
    let elements = (left + right) as u32 * width;
    let givens = subject.givens.len() as u32;
    let wanted: Vec<u32> = (INPUT..INPUT + elements).chain(GIVEN..GIVEN + givens).collect();
    let sort = |variable: u32| subject.sort(variable);
    let verdict = prover.prove(&sort, &subject.ranges(left + right), &claim, &wanted);
    let Verdict::Refuted(values) = verdict else { return None };
    let values: Vec<i64> = values.into_iter().collect::<Option<_>>()?;
    let (elements, givens) = values.split_at(elements as usize);
    let mut elements: Vec<Vec<i64>> =
        elements.chunks(subject.inputs.len()).map(<[i64]>::to_vec).collect();
    let right = elements.split_off(left);
    Some(Example { givens: givens.to_vec(), left: elements, right })
}
