//! Loops that no operator fits, because the degree of the computed polynomial grows with the list.
//!
//! If an accumulator's step is a polynomial of degree `d > 1` in the accumulator, and reads no other one, then the
//! value after `n` equal elements is a polynomial of degree `d^n` in the value before them. An operator of sums,
//! differences, products, extrema and choices is made of finitely many polynomials, whose degrees are the same for
//! all lists, and so is every accumulator after a single element. If that element takes more values into the
//! accumulator than an operator has roots and pieces, one of these polynomials would have to be equal to all of the
//! longer and longer ones.

use super::subject::Loop;
use super::term::{self, GIVEN, INPUT, Op, Sort, Term};

/// An accumulator whose degree grows.
#[derive(Clone, Debug)]
pub struct Growth {
    /// Its name.
    pub name: String,
    /// Its degree after one element, in its value before that.
    pub degree: u64,
}

/// The largest degree that is looked at.
const MOST: u64 = 8;

/// Values of an element that are tried.
const VALUES: [i64; 4] = [1, 2, 3, 5];

/// The first accumulator whose degree grows.
pub(super) fn growth(subject: &Loop) -> Option<Growth> {
    let own = &subject.accumulators[..subject.own];
    own.iter().zip(0u32..).find_map(|(accumulator, at)| {
        let degree = degree(&accumulator.step, at).filter(|degree| (2..=MOST).contains(degree))?;
        if accumulator.sort == Sort::Boolean || planted!(Bug::DegreeIgnored) {
            return None;
        }
        let step = |before: i64, input: i64| {
            let of = |variable: u32| match variable {
                INPUT..GIVEN => input,
                GIVEN.. => 2,
                _ => before,
            };
            term::value(&accumulator.step, &of)
        };
        // The highest coefficient may be 0 all the same; a difference of that order shows whether it is.
        let is_exact = |input: i64| {
            let mut row: Vec<i64> =
                (0..=degree as i64).map(|before| step(before, input)).collect::<Option<_>>()?;
            while row.len() > 1 {
                row = row
                    .windows(2)
                    .map(|pair| pair[1].checked_sub(pair[0]))
                    .collect::<Option<_>>()?;
            }
            Some(row[0] != 0)
        };
        let grows = VALUES.iter().any(|&input| is_exact(input) == Some(true));
        // A polynomial of the element that is not constant takes as many values as the element, or nearly.
        let reached = VALUES.map(|input| step(accumulator.start, input));
        let varies = reached.iter().any(|value| *value != reached[0]);
        (grows && varies).then(|| Growth { name: accumulator.name.clone(), degree })
    })
}

/// The degree of a polynomial in one accumulator, or more; `None` if it is none, or reads other accumulators.
fn degree(term: &Term, own: u32) -> Option<u64> {
    Some(match term {
        Term::Number(_) => 0,
        Term::Variable(variable) if *variable == own => 1,
        Term::Variable(variable) if *variable >= INPUT => 0,
        Term::Binary(Op::Add | Op::Sub, a, b) => degree(a, own)?.max(degree(b, own)?),
        Term::Binary(Op::Mul, a, b) => degree(a, own)?.checked_add(degree(b, own)?)?,
        _ => return None,
    })
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;
    use crate::source::SourceFile;
    use crate::synth::{parse, scan::read};

    crate::unit_tests!(a_degree_grows_only_if_it_is_one);

    /// The degree of a loop over `x` that begins with `v = 1`.
    fn of(body: &str) -> Option<u64> {
        let source = SourceFile::new("test", format!("loop (v = 1) over x: i32 {{\n{body}\n}}\n"));
        growth(&read(&source, &parse(&source).unwrap(), &[]).unwrap()).map(|growth| growth.degree)
    }

    fn a_degree_grows_only_if_it_is_one() {
        assert_eq!(of("v = v * v + x"), Some(2));
        assert_eq!(of("v = x * v * v * v"), Some(3));
        assert_eq!(of("v = v * x + 1"), None);
        // The squares cancel each other.
        assert_eq!(of("v = v * v - v * v + x"), None);
        // No element reaches anything.
        assert_eq!(of("v = v * v"), None);
        assert_eq!(of("v = max(v * v, x)"), None);
    }
}
