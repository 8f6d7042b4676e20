//! A serial loop: what it reads, its accumulators, what one step does to them; and how it is run.

use super::term::{self, GIVEN, INPUT, Op, Shared, Sort, binary};
use crate::source::Span;

/// Something that a loop reads.
#[derive(Clone, Debug)]
pub struct Read {
    /// Its name.
    pub name: String,
    /// What it ranges over.
    pub sort: Sort,
    /// Its least and its largest value, if it is an integer.
    pub range: Option<(i64, i64)>,
}

/// An accumulator.
#[derive(Clone, Debug)]
pub struct Accumulator {
    /// Its name.
    pub name: String,
    /// What it ranges over.
    pub sort: Sort,
    /// Its value in front of the loop; booleans are 0 and 1.
    pub start: i64,
    /// Its value after an element.
    pub step: Shared,
}

/// A serial loop.
#[derive(Clone, Debug)]
pub struct Loop {
    /// Its accumulators, with auxiliary ones at the end.
    pub accumulators: Vec<Accumulator>,
    /// How many of these stand in the sketch.
    pub own: usize,
    /// What it reads of each element.
    pub inputs: Vec<Read>,
    /// What is the same for all elements.
    pub givens: Vec<Read>,
    /// What is made of the accumulators in the end.
    pub result: Vec<Shared>,
    /// Of numbers: integers or reals.
    pub numbers: Sort,
    /// What the operator may be made of.
    pub operators: Vec<Op>,
    /// The most auxiliary accumulators.
    pub most: usize,
    /// The loop's place.
    pub span: Span,
}

impl Loop {
    /// What a variable ranges over.
    pub fn sort(&self, variable: u32) -> Sort {
        let at = (variable & 0xff) as usize;
        match variable & !0xff {
            INPUT => self.inputs[at % self.inputs.len()].sort,
            GIVEN => self.givens[at].sort,
            _ => self.accumulators[at].sort,
        }
    }

    /// A variable's name; `left` and `right` say which operand an accumulator belongs to.
    pub fn name(&self, variable: u32, left: &str, right: &str) -> String {
        let at = (variable & 0xff) as usize;
        match variable & !0xff {
            INPUT => self.inputs[at].name.clone(),
            GIVEN => self.givens[at].name.clone(),
            0 => format!("{left}{}", self.accumulators[at].name),
            _ => format!("{right}{}", self.accumulators[at].name),
        }
    }

    /// The state in front of the loop.
    pub fn start(&self) -> Vec<i64> {
        self.accumulators.iter().map(|accumulator| accumulator.start).collect()
    }

    /// The state after one more element; `None` where a number becomes too large.
    pub fn step(&self, givens: &[i64], state: &[i64], element: &[i64]) -> Option<Vec<i64>> {
        let of = |variable: u32| {
            let at = (variable & 0xff) as usize;
            match variable & !0xff {
                INPUT => element[at],
                GIVEN => givens[at],
                _ => state[at],
            }
        };
        self.accumulators.iter().map(|accumulator| term::value(&accumulator.step, &of)).collect()
    }

    /// What is known of what is read, of elements with the numbers from 0.
    pub fn ranges(&self, elements: usize) -> Vec<Shared> {
        let mut known = Vec::new();
        let mut bound = |variable: u32, range: Option<(i64, i64)>| {
            if let Some((low, high)) = range {
                let variable = term::variable(variable);
                known.push(binary(Op::LessEqual, term::number(low), variable.clone()));
                known.push(binary(Op::LessEqual, variable, term::number(high)));
            }
        };
        for element in 0..elements {
            for (at, read) in self.inputs.iter().enumerate() {
                bound(INPUT + (element * self.inputs.len() + at) as u32, read.range);
            }
        }
        for (at, read) in self.givens.iter().enumerate() {
            bound(GIVEN + at as u32, read.range);
        }
        known
    }

    /// The state after a list.
    pub fn run(&self, givens: &[i64], list: &[Vec<i64>]) -> Option<Vec<i64>> {
        list.iter().try_fold(self.start(), |state, element| self.step(givens, &state, element))
    }
}
