//! Expressions over the states of two lists, bottom up, with one representative for each behaviour on the examples.

use rustc_hash::{FxHashMap, FxHashSet};

use super::examples::Example;
use super::subject::Loop;
use super::term::{self, GIVEN, Op, RIGHT, Shared, Sort};

/// The most examples: a set of them is a mask of bits.
pub(super) const MOST_EXAMPLES: usize = 128;

/// The most numbers of a bank.
const MOST_NUMBERS: usize = 60_000;

/// The most expressions that sums with every other one are looked for.
const MOST_ADDED: usize = 1_000;

/// The most predicates of a bank.
const MOST_TRUTHS: usize = 40_000;

/// A number for each example.
#[derive(Clone, Debug)]
pub(super) struct Number {
    /// The expression.
    pub term: Shared,
    /// Its sort.
    pub sort: Sort,
    /// Its values.
    pub values: Vec<i64>,
}

/// A predicate of examples.
#[derive(Clone, Debug)]
pub(super) struct Truth {
    /// The expression.
    pub term: Shared,
    /// The examples for which it holds.
    pub mask: u128,
}

/// The required values of a component of the state.
#[derive(Clone, Debug)]
pub(super) enum Target {
    /// A number of a sort for each example.
    Number(Sort, Vec<i64>),
    /// The examples for which it holds.
    Truth(u128),
}

/// Expressions by size, and the targets.
#[derive(Debug)]
pub(super) struct Bank {
    /// All examples.
    pub all: u128,
    /// Numbers, the smaller expressions first.
    pub numbers: Vec<Number>,
    /// Predicates, the smaller expressions first.
    pub truths: Vec<Truth>,
    /// How many of `truths` compare no sums.
    pub simple: usize,
    /// For each accumulator, its value after both lists.
    pub targets: Vec<Target>,
    /// Which operators there are.
    pub operators: Vec<Op>,
    /// Whether sums of reals have no meaning.
    only_compared: bool,
    leaves: usize,
    moduli: Vec<Shared>,
    known: FxHashMap<(Sort, Vec<i64>), usize>,
    seen: FxHashSet<u128>,
}

impl Bank {
    /// The bank of a loop with expressions of at most one operator, and comparisons of these.
    pub(super) fn new(subject: &Loop, examples: &[Example]) -> Bank {
        let mut rows = Vec::new();
        for example in examples.iter().take(MOST_EXAMPLES) {
            let run = |list| subject.run(&example.givens, list);
            let both = (run(&example.left), run(&example.right), run(&example.whole()));
            // Where a number becomes too large nothing is learned.
            if let (Some(left), Some(right), Some(whole)) = both {
                rows.push((left, right, whole, &example.givens));
            }
        }
        let all = if rows.len() == 128 { u128::MAX } else { (1 << rows.len()) - 1 };
        let mut bank = Bank {
            all,
            numbers: Vec::new(),
            truths: Vec::new(),
            simple: 0,
            targets: Vec::new(),
            operators: subject.operators.clone(),
            only_compared: subject.only_compared,
            leaves: 0,
            moduli: moduli(subject),
            known: FxHashMap::default(),
            seen: FxHashSet::default(),
        };
        let mask = |values: &[i64]| {
            values.iter().enumerate().fold(0, |mask, (at, v)| mask | u128::from(*v != 0) << at)
        };
        for (at, accumulator) in subject.accumulators.iter().enumerate() {
            let columns: [Vec<i64>; 3] = [
                rows.iter().map(|row| row.0[at]).collect(),
                rows.iter().map(|row| row.1[at]).collect(),
                rows.iter().map(|row| row.2[at]).collect(),
            ];
            let [left, right, whole] = columns;
            let place = at as u32;
            if accumulator.sort == Sort::Boolean {
                bank.truth(term::variable(place), mask(&left));
                bank.truth(term::variable(RIGHT + place), mask(&right));
                bank.targets.push(Target::Truth(mask(&whole)));
            } else {
                let sort = accumulator.sort;
                bank.number(sort, term::variable(place), left);
                bank.number(sort, term::variable(RIGHT + place), right);
                bank.targets.push(Target::Number(sort, whole));
            }
        }
        for (at, given) in subject.givens.iter().enumerate() {
            let column: Vec<i64> = rows.iter().map(|row| row.3[at]).collect();
            let term = term::variable(GIVEN + at as u32);
            match given.sort() {
                Sort::Boolean => bank.truth(term, mask(&column)),
                sort => bank.number(sort, term, column),
            }
        }
        for sort in subject.number_sorts() {
            for constant in constants(subject, sort) {
                bank.number(sort, term::number(constant), vec![constant; rows.len()]);
            }
        }
        bank.leaves = bank.numbers.len();
        let negations: Vec<Truth> = bank.truths.clone();
        for truth in negations {
            bank.truth(term::not(truth.term), !truth.mask & all);
        }
        let literals: Vec<Truth> = bank.truths.clone();
        for (at, a) in literals.iter().enumerate() {
            for b in &literals[at + 1..] {
                let both = |op| term::binary(op, a.term.clone(), b.term.clone());
                bank.truth(both(Op::And), a.mask & b.mask);
                bank.truth(both(Op::Or), a.mask | b.mask);
            }
        }
        bank.grow(0);
        bank.compare(bank.leaves);
        bank.simple = bank.truths.len();
        bank.compare(bank.numbers.len());
        bank
    }

    /// Adds expressions of one operator more.
    pub(super) fn deepen(&mut self) {
        self.grow(self.leaves);
    }

    /// Leaves out all but the first numbers.
    pub(super) fn forget(&mut self, first: usize) {
        for number in self.numbers.drain(first..) {
            self.known.remove(&(number.sort, number.values));
        }
    }

    /// The remainder of an expression that has these values.
    pub(super) fn remainder(&self, values: &[i64], care: u128) -> Option<Shared> {
        self.moduli.iter().find_map(|modulus| {
            let term::Term::Number(by) = **modulus else { return None };
            let is = |entry: &&Number| {
                let mut pairs = entry.values.iter().zip(values).enumerate();
                entry.sort == Sort::Integer
                    && pairs.all(|(at, (own, wanted))| {
                        care >> at & 1 == 0 || own.checked_rem_euclid(by) == Some(*wanted)
                    })
            };
            let found = self.numbers.iter().find(is)?;
            Some(term::binary(Op::Rem, found.term.clone(), modulus.clone()))
        })
    }

    /// A sum of two expressions with these values; the second one is among the smallest.
    pub(super) fn sum(&self, sort: Sort, values: &[i64]) -> Option<Shared> {
        if !self.may(Op::Add, sort) {
            return None;
        }
        let small = self.numbers.iter().take(MOST_ADDED).filter(|small| small.sort == sort);
        small.into_iter().find_map(|small| {
            let pairs = values.iter().zip(&small.values);
            let rest: Option<Vec<i64>> = pairs.map(|(&a, &b)| a.checked_sub(b)).collect();
            let other = &self.numbers[*self.known.get(&(sort, rest?))?];
            Some(term::binary(Op::Add, other.term.clone(), small.term.clone()))
        })
    }

    /// Whether an operator may take numbers of a sort.
    fn may(&self, op: Op, sort: Sort) -> bool {
        let orders = matches!(op, Op::Min | Op::Max);
        self.operators.contains(&op) && (orders || sort != Sort::Real || !self.only_compared)
    }

    fn number(&mut self, sort: Sort, term: Shared, values: Vec<i64>) {
        let key = (sort, values);
        if self.numbers.len() < MOST_NUMBERS && !self.known.contains_key(&key) {
            self.known.insert(key.clone(), self.numbers.len());
            self.numbers.push(Number { term, sort, values: key.1 });
        }
    }

    fn truth(&mut self, term: Shared, mask: u128) {
        if self.truths.len() < MOST_TRUTHS && self.seen.insert(mask) {
            self.truths.push(Truth { term, mask });
        }
    }

    /// Combines the numbers from `first` with the leaves.
    fn grow(&mut self, first: usize) {
        let last = self.numbers.len();
        // Remainders stand outside of everything else.
        let operators = self.operators.iter().copied().filter(|op| *op != Op::Rem);
        let operators: Vec<Op> = operators.collect();
        for at in first..last {
            for leaf in 0..self.leaves.min(if first == 0 { at + 1 } else { self.leaves }) {
                let sort = self.numbers[at].sort;
                if self.numbers[leaf].sort != sort {
                    continue;
                }
                for &op in &operators {
                    if !self.may(op, sort) {
                        continue;
                    }
                    self.combine(op, at, leaf);
                    if op == Op::Sub {
                        self.combine(op, leaf, at);
                    }
                }
            }
        }
    }

    fn combine(&mut self, op: Op, a: usize, b: usize) {
        let (left, right) = (&self.numbers[a], &self.numbers[b]);
        let pairs = left.values.iter().zip(&right.values);
        let values: Option<Vec<i64>> = pairs.map(|(&a, &b)| term::apply(op, a, b)).collect();
        let sort = left.sort;
        let is_new = |values: &Vec<i64>| !self.known.contains_key(&(sort, values.clone()));
        if let Some(values) = values.filter(is_new) {
            // Behind each other as in the lists: a.x + b.y.
            let (left, right) = (left.term.clone(), right.term.clone());
            let swapped = op != Op::Sub && b < a;
            let (left, right) = if swapped { (right, left) } else { (left, right) };
            self.number(sort, term::binary(op, left, right), values);
        }
    }

    /// Compares the leaves with the first `most` numbers.
    fn compare(&mut self, most: usize) {
        for other in 0..most {
            for leaf in 0..self.leaves {
                let (a, b) = (&self.numbers[leaf], &self.numbers[other]);
                if leaf == other || a.sort != b.sort {
                    continue;
                }
                let (mut less, mut equal) = (0u128, 0u128);
                for (at, (a, b)) in a.values.iter().zip(&b.values).enumerate() {
                    less |= u128::from(a < b) << at;
                    equal |= u128::from(a == b) << at;
                }
                let (a, b, all) = (a.term.clone(), b.term.clone(), self.all);
                let made = |op| term::binary(op, a.clone(), b.clone());
                self.truth(made(Op::LessEqual), less | equal);
                self.truth(made(Op::Less), less);
                self.truth(made(Op::Equal), equal);
                self.truth(term::not(made(Op::LessEqual)), !(less | equal) & all);
                self.truth(term::not(made(Op::Less)), !less & all);
                self.truth(term::not(made(Op::Equal)), !equal & all);
            }
        }
    }
}

/// The constants of a loop that may be of a sort, with 0 and 1 in front.
fn constants(subject: &Loop, sort: Sort) -> Vec<i64> {
    let mut found = vec![0, 1];
    let mut add = |value: i64| {
        if !found.contains(&value) {
            found.push(value);
        }
    };
    for accumulator in &subject.accumulators {
        if accumulator.sort == sort {
            add(accumulator.start);
        }
        term::parts(&accumulator.step, &mut |part| {
            if let term::Term::Number(value) = &**part {
                add(*value);
            }
        });
    }
    found
}

/// The numbers by which a loop's body divides for a remainder, if its operator may have remainders.
pub(super) fn moduli(subject: &Loop) -> Vec<Shared> {
    let mut found = Vec::new();
    for accumulator in &subject.accumulators[..subject.own] {
        term::parts(&accumulator.step, &mut |part| {
            if let term::Term::Binary(Op::Rem, _, by) = &**part
                && matches!(**by, term::Term::Number(1..))
                && !found.contains(by)
            {
                found.push(by.clone());
            }
        });
    }
    found
}
