//! A serial loop: its inputs, its accumulators, their steps; and an interpreter for it.

use super::term::{self, GIVEN, INFINITY, INPUT, Op, Shared, Sort, Term, Values, binary};
use crate::source::Span;

/// The type of something that a loop reads; numbers with their bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A boolean.
    Boolean,
    /// An integer with a sign.
    Signed(u32),
    /// An integer without one.
    Unsigned(u32),
    /// A floating-point number.
    Float(u32),
}

impl Kind {
    /// The type of this name in a sketch.
    pub fn named(name: &str) -> Option<Kind> {
        if name == "bool" {
            return Some(Kind::Boolean);
        }
        let bits = name.get(1..)?.parse().ok()?;
        Some(match (name.as_bytes()[0], bits) {
            (b'i', 8 | 16 | 32 | 64) => Kind::Signed(bits),
            (b'u', 8 | 16 | 32) => Kind::Unsigned(bits),
            (b'f', 32 | 64) => Kind::Float(bits),
            _ => return None,
        })
    }

    /// The prover's sort for it.
    pub fn sort(self) -> Sort {
        match self {
            Kind::Boolean => Sort::Boolean,
            Kind::Float(_) => Sort::Real,
            Kind::Signed(_) | Kind::Unsigned(_) => Sort::Integer,
        }
    }

    /// The least and the largest value of an integer.
    pub fn range(self) -> Option<(i64, i64)> {
        match self {
            Kind::Signed(bits) => Some((i64::MIN >> (64 - bits), i64::MAX >> (64 - bits))),
            Kind::Unsigned(bits) => Some((0, (1 << bits) - 1)),
            Kind::Boolean | Kind::Float(_) => None,
        }
    }

    /// The bits of a value in memory; a boolean is a byte.
    pub fn bits(self) -> u32 {
        match self {
            Kind::Boolean => 8,
            Kind::Signed(bits) | Kind::Unsigned(bits) | Kind::Float(bits) => bits,
        }
    }
}

/// Something that a loop reads.
#[derive(Clone, Debug)]
pub struct Read {
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: Kind,
}

impl Read {
    /// Its sort.
    pub fn sort(&self) -> Sort {
        self.kind.sort()
    }

    /// Its least and its largest value, if it is an integer.
    pub fn range(&self) -> Option<(i64, i64)> {
        self.kind.range()
    }
}

/// An accumulator.
#[derive(Clone, Debug)]
pub struct Accumulator {
    /// Its name.
    pub name: String,
    /// Its sort.
    pub sort: Sort,
    /// Its type, if the sketch names one.
    pub declared: Option<Kind>,
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
    /// The values read from each element.
    pub inputs: Vec<Read>,
    /// The loop-invariant values.
    pub givens: Vec<Read>,
    /// The results, as functions of the accumulators.
    pub result: Vec<Shared>,
    /// Whether floating-point numbers are only compared and chosen. A claim about reals is one about such numbers then:
    /// both are ordered, and nothing but the order counts. (NaN is not ordered, and zeros of both signs are equal.)
    pub only_compared: bool,
    /// The operators that may be used.
    pub operators: Vec<Op>,
    /// The most auxiliary accumulators.
    pub most: usize,
    /// The loop's place.
    pub span: Span,
}

impl Loop {
    /// The sort of a variable.
    pub fn sort(&self, variable: u32) -> Sort {
        let at = (variable & 0xff) as usize;
        match variable & !0xff {
            INPUT => self.inputs[at % self.inputs.len()].sort(),
            GIVEN => self.givens[at].sort(),
            _ => self.accumulators[at].sort,
        }
    }

    /// The sort of a term's values; `None` for a term of literals alone.
    pub fn sort_of(&self, term: &Term) -> Option<Sort> {
        match term {
            Term::Number(_) => None,
            Term::Truth(_) | Term::Not(_) => Some(Sort::Boolean),
            Term::Variable(variable) => Some(self.sort(*variable)),
            Term::If(_, a, b) => self.sort_of(a).or_else(|| self.sort_of(b)),
            Term::Binary(op, a, b) => match op {
                Op::Equal | Op::Less | Op::LessEqual | Op::And | Op::Or => Some(Sort::Boolean),
                _ => self.sort_of(a).or_else(|| self.sort_of(b)),
            },
        }
    }

    /// Whether anything that is read or accumulated is of this sort.
    pub fn has(&self, sort: Sort) -> bool {
        self.accumulators.iter().any(|own| own.sort == sort)
            || self.inputs.iter().chain(&self.givens).any(|read| read.sort() == sort)
    }

    /// The sorts of numbers that occur; integers where there are none.
    pub fn number_sorts(&self) -> Vec<Sort> {
        let real = self.has(Sort::Real);
        let integer = self.has(Sort::Integer) || !real;
        let sorts = [(integer, Sort::Integer), (real, Sort::Real)];
        sorts.into_iter().filter(|(occurs, _)| *occurs).map(|(_, sort)| sort).collect()
    }

    /// The sort of a literal beside literals alone.
    pub fn literals(&self) -> Sort {
        self.number_sorts()[0]
    }

    /// Whether an operator may take numbers of a sort.
    pub fn may(&self, op: Op, sort: Sort) -> bool {
        let orders = matches!(op, Op::Min | Op::Max);
        self.operators.contains(&op) && (orders || self.computes(sort))
    }

    /// Whether sums of numbers of a sort have a meaning.
    pub fn computes(&self, sort: Sort) -> bool {
        sort != Sort::Real || !self.only_compared
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
        let values = Values::new(state, givens).with_inputs(element);
        let of = |variable: u32| *values.of(variable);
        self.accumulators.iter().map(|accumulator| term::value(&accumulator.step, &of)).collect()
    }

    /// The known ranges of the inputs, for elements numbered from 0, and of the given values.
    pub fn ranges(&self, elements: usize) -> Vec<Shared> {
        let mut known = Vec::new();
        if planted!(Bug::RangesForgotten) {
            return known;
        }
        let mut bound = |variable: u32, range: Option<(i64, i64)>| {
            if let Some((low, high)) = range {
                let variable = term::variable(variable);
                known.push(binary(Op::LessEqual, term::number(low), variable.clone()));
                known.push(binary(Op::LessEqual, variable, term::number(high)));
            }
        };
        let range = |read: &Read| match read.sort() {
            Sort::Real if self.only_compared => Some((-INFINITY, INFINITY)),
            _ => read.range(),
        };
        for element in 0..elements {
            for (at, read) in self.inputs.iter().enumerate() {
                bound(INPUT + (element * self.inputs.len() + at) as u32, range(read));
            }
        }
        for (at, read) in self.givens.iter().enumerate() {
            bound(GIVEN + at as u32, range(read));
        }
        known
    }

    /// The state after a list.
    pub fn run(&self, givens: &[i64], list: &[Vec<i64>]) -> Option<Vec<i64>> {
        list.iter().try_fold(self.start(), |state, element| self.step(givens, &state, element))
    }
}
