//! Auxiliary accumulators: which ones are tried, and which sets of them can be enough.
//!
//! An auxiliary accumulator is `a' = op(a, e)` or `a' = if c then e else a`, where `e` and `c` are made of the
//! element and of the other accumulators after it. A set can be enough only if the state after `xs ++ ys` is a
//! function of those after `xs` and `ys`; that is tried on short lists before anything is fitted.

use rustc_hash::{FxHashMap, FxHashSet};

use super::examples::{List, Source};
use super::subject::{Accumulator, Loop};
use super::term::{self, INFINITY, INPUT, Op, Shared, Sort, Term};

/// How many lists are told apart.
const LISTS: usize = 160;

/// How many lists stand in front of them.
const FRONTS: usize = 8;

/// Two lists that give the same state alone, but different states behind a third list.
#[derive(Clone, Debug)]
pub struct Witness {
    /// The list in front.
    pub front: List,
    /// The two lists.
    pub lists: [List; 2],
}

/// Short lists, and the states after them behind others.
#[derive(Debug)]
pub(super) struct Tester {
    givens: Vec<i64>,
    fronts: Vec<List>,
    lists: Vec<List>,
    /// For each list, the state of the sketch's own accumulators behind each front; none where one is too large.
    behind: Vec<Option<Vec<Vec<i64>>>>,
}

impl Tester {
    /// The lists for a loop.
    pub(super) fn new(subject: &Loop) -> Tester {
        let mut source = Source::new(subject, 1);
        // Neither 0 nor 1, and pairwise distinct, so that the given values make a difference.
        let given = |(read, value): (&super::subject::Read, i64)| match read.range() {
            Some((low, high)) => value.clamp(low, high),
            None if read.sort() == Sort::Boolean => 1,
            None => value,
        };
        let givens = subject.givens.iter().zip(2..).map(given).collect::<Vec<i64>>();
        let mut lists: Vec<List> = vec![Vec::new()];
        let mut seen: FxHashSet<List> = lists.iter().cloned().collect();
        for attempt in 0..4 * LISTS {
            let list = source.list(if attempt < LISTS { 2 } else { 4 }, 2);
            if lists.len() < LISTS && seen.insert(list.clone()) {
                lists.push(list);
            }
        }
        let fronts: Vec<List> = (0..FRONTS).map(|at| source.list(1 + at / 2, 5)).collect();
        let behind = lists
            .iter()
            .map(|list| {
                let whole = fronts.iter().map(|front| {
                    let whole: List = front.iter().chain(list).cloned().collect();
                    subject.run(&givens, &whole)
                });
                whole.collect()
            })
            .collect();
        Tester { givens, fronts, lists, behind }
    }

    /// The state of each list.
    fn states(&self, subject: &Loop) -> Vec<Option<Vec<i64>>> {
        self.lists.iter().map(|list| subject.run(&self.givens, list)).collect()
    }

    /// Whether the state after two lists can be a function of the states after each; if not, why.
    pub(super) fn can_be_enough(&self, subject: &Loop) -> Result<(), Witness> {
        let states = self.states(subject);
        let mut first: FxHashMap<&[i64], usize> = FxHashMap::default();
        for (at, state) in states.iter().enumerate() {
            let (Some(state), Some(behind)) = (state, &self.behind[at]) else { continue };
            let other = *first.entry(state).or_insert(at);
            let Some(known) = &self.behind[other] else { continue };
            if let Some(front) = (0..self.fronts.len()).find(|&front| known[front] != behind[front])
            {
                return Err(Witness {
                    front: self.fronts[front].clone(),
                    lists: [self.lists[other].clone(), self.lists[at].clone()],
                });
            }
        }
        Ok(())
    }

    /// Candidates for one more auxiliary accumulator of a loop, without those that tell no lists apart which the
    /// accumulators there are do not, and without repetitions.
    pub(super) fn candidates(&self, subject: &Loop) -> Vec<Accumulator> {
        let own = subject.accumulators.len() as u32;
        let mut loops = subject.clone();
        let mut seen: FxHashSet<Vec<Option<i64>>> = FxHashSet::default();
        let column = |subject: &Loop, at: usize| -> Vec<Option<i64>> {
            self.states(subject).into_iter().map(|state| state.map(|state| state[at])).collect()
        };
        for at in 0..subject.accumulators.len() {
            seen.insert(column(subject, at));
        }
        let mut found = Vec::new();
        for (sort, start, step) in shapes(subject, own) {
            let name = format!("aux{}", subject.accumulators.len() - subject.own + 1);
            loops.accumulators.push(Accumulator { name, sort, declared: None, start, step });
            let values = column(&loops, own as usize);
            let made = loops.accumulators.pop();
            let changes = values.windows(2).any(|pair| pair[0] != pair[1]);
            if changes && seen.insert(values) {
                found.extend(made);
            }
        }
        found
    }
}

/// Parts of the body that no accumulator takes part in, and constants: numbers with their sorts, and booleans.
fn pure(subject: &Loop) -> (Vec<(Sort, Shared)>, Vec<Shared>) {
    let (mut numbers, mut truths): (Vec<(Sort, Shared)>, Vec<Shared>) = (Vec::new(), Vec::new());
    for (at, read) in (0u32..).zip(&subject.inputs) {
        let input = term::variable(INPUT + at);
        match read.sort() {
            Sort::Boolean => truths.push(input),
            sort => numbers.push((sort, input)),
        }
    }
    let sorts = subject.number_sorts();
    numbers.extend(sorts.iter().map(|&sort| (sort, term::number(1))));
    for accumulator in &subject.accumulators[..subject.own] {
        term::parts(&accumulator.step, &mut |part| {
            let mut pure = true;
            term::parts(part, &mut |inner| {
                pure &= !matches!(&**inner, Term::Variable(variable) if *variable < INPUT);
            });
            let sort = subject.sort_of(part);
            match sort {
                _ if !pure => {}
                Some(Sort::Boolean) if !truths.contains(part) => truths.push(part.clone()),
                Some(Sort::Boolean) => {}
                _ => {
                    for &own in sorts.iter().filter(|&&own| sort.is_none_or(|sort| sort == own)) {
                        let number = (own, part.clone());
                        if !numbers.contains(&number) {
                            numbers.push(number);
                        }
                    }
                }
            }
        });
    }
    (numbers, truths)
}

/// All forms of an accumulator of this number, the simpler ones first: sort, first value, step.
fn shapes(subject: &Loop, own: u32) -> Vec<(Sort, i64, Shared)> {
    let (numbers, truths) = pure(subject);
    let itself = term::variable(own);
    let after = |wanted: bool| -> Vec<(Sort, Shared, i64)> {
        let accumulators = subject.accumulators.iter();
        let accumulators = accumulators.filter(|a| (a.sort == Sort::Boolean) == wanted);
        accumulators.map(|a| (a.sort, a.step.clone(), a.start)).collect()
    };
    let mut shapes = Vec::new();
    let mut push = |sort: Sort, start: i64, step: Shared| shapes.push((sort, start, step));
    for (sort, e) in &numbers {
        if subject.may(Op::Add, *sort) {
            push(*sort, 0, term::binary(Op::Add, itself.clone(), e.clone()));
        }
        if subject.may(Op::Mul, *sort) {
            let product = term::binary(Op::Mul, itself.clone(), e.clone());
            let moduli = super::bank::moduli(subject);
            for modulus in moduli.into_iter().filter(|_| *sort == Sort::Integer) {
                push(*sort, 1, term::binary(Op::Rem, product.clone(), modulus));
            }
            push(*sort, 1, product);
        }
    }
    let extrema = [Op::Max, Op::Min].into_iter().filter(|op| subject.operators.contains(op));
    for op in extrema {
        for (sort, e, start) in after(false) {
            push(sort, start, term::binary(op, itself.clone(), e));
        }
        for (read, at) in subject.inputs.iter().zip(0u32..) {
            let range = match read.sort() {
                Sort::Real if subject.only_compared => Some((-INFINITY, INFINITY)),
                _ => read.range(),
            };
            if let Some((low, high)) = range {
                let step = term::binary(op, itself.clone(), term::variable(INPUT + at));
                push(read.sort(), if op == Op::Max { low } else { high }, step);
            }
        }
    }
    push(Sort::Boolean, 1, term::truth(false));
    for (op, start) in [(Op::Or, 0), (Op::And, 1)] {
        let both = truths.iter().flat_map(|e| [e.clone(), term::not(e.clone())]);
        let after = after(true).into_iter().map(|(_, e, _)| e);
        for e in both.chain(after) {
            push(Sort::Boolean, start, term::binary(op, itself.clone(), e));
        }
    }
    // Kept from where a condition last held.
    let numbers_after = after(false);
    let mut conditions: Vec<Shared> = Vec::new();
    for (at, (sort, a, _)) in numbers_after.iter().enumerate() {
        conditions.push(term::binary(Op::Equal, a.clone(), term::number(1)));
        for (_, b, _) in numbers_after[at + 1..].iter().filter(|(other, ..)| other == sort) {
            conditions.push(term::binary(Op::Equal, a.clone(), b.clone()));
        }
    }
    conditions.extend(after(true).into_iter().map(|(_, e, _)| e));
    conditions.extend(truths.iter().flat_map(|e| [e.clone(), term::not(e.clone())]));
    for c in &conditions {
        for (sort, e, start) in &numbers_after {
            push(*sort, *start, term::choose(c.clone(), e.clone(), itself.clone()));
        }
        for (at, read) in (0u32..).zip(&subject.inputs) {
            let step = term::choose(c.clone(), term::variable(INPUT + at), itself.clone());
            push(read.sort(), 0, step);
        }
    }
    shapes
}
