//! Lists of elements on which loops are run: the same ones in every run.

use super::subject::Loop;
use super::term::Sort;

/// A list of elements.
pub(super) type List = Vec<Vec<i64>>;

/// Two lists, and the given values, which are the same for all elements of both.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Example {
    /// The given values.
    pub givens: Vec<i64>,
    /// The list in front.
    pub left: List,
    /// The list behind it.
    pub right: List,
}

impl Example {
    /// Both lists as one.
    pub(super) fn whole(&self) -> List {
        self.left.iter().chain(&self.right).cloned().collect()
    }
}

/// Random elements of a loop.
#[derive(Debug)]
pub(super) struct Source<'l> {
    subject: &'l Loop,
    random: fastrand::Rng,
}

impl<'l> Source<'l> {
    /// The same elements for the same seed.
    pub(super) fn new(subject: &'l Loop, seed: u64) -> Source<'l> {
        Source { subject, random: fastrand::Rng::with_seed(seed) }
    }

    fn one(&mut self, sort: Sort, range: Option<(i64, i64)>, most: i64) -> i64 {
        if sort == Sort::Boolean {
            return i64::from(self.random.bool());
        }
        let (low, high) = range.unwrap_or((i64::MIN, i64::MAX));
        // Whole ranges are seen by the prover; here, small numbers and ties matter.
        self.random.i64(-most..=most).clamp(low, high)
    }

    /// Random given values, numbers up to `most`.
    pub(super) fn givens(&mut self, most: i64) -> Vec<i64> {
        let subject = self.subject;
        subject.givens.iter().map(|read| self.one(read.sort(), read.range(), most)).collect()
    }

    /// A list of up to `longest` elements of numbers up to `most`.
    pub(super) fn list(&mut self, longest: usize, most: i64) -> List {
        let length = self.random.usize(0..=longest);
        self.exactly(length, most)
    }

    /// A list of `length` elements of numbers up to `most`.
    pub(super) fn exactly(&mut self, length: usize, most: i64) -> List {
        let inputs = self.subject.inputs.len();
        let mut list = vec![Vec::with_capacity(inputs); length];
        self.each(length, most, |at, value| list[at / inputs].push(value));
        list
    }

    /// The numbers of such a list, one element after the other, each with its place among all.
    pub(super) fn each(&mut self, length: usize, most: i64, mut take: impl FnMut(usize, i64)) {
        let subject = self.subject;
        // A boolean that is nearly always the same makes long blocks.
        let lean = self.random.u32(0..4);
        let reads: Vec<_> = subject.inputs.iter().map(|r| (r.sort(), r.range())).collect();
        for at in 0..length * reads.len() {
            let (sort, range) = reads[at % reads.len()];
            let value = match (sort, lean, self.random.u32(0..4)) {
                (Sort::Boolean, 0, 1..) => 0,
                (Sort::Boolean, 1, 1..) => 1,
                _ => self.one(sort, range, most),
            };
            take(at, value);
        }
    }

    /// A pair of lists.
    pub(super) fn example(&mut self, longest: usize, most: i64) -> Example {
        let most = if self.random.bool() { 2.min(most) } else { most };
        Example {
            givens: self.givens(most),
            left: self.list(longest, most),
            right: self.list(longest, most),
        }
    }
}
