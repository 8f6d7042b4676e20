//! Sums and products of many elements at once.

use smallvec::SmallVec;

use super::element::{Degree, Element, Elements};
use super::meaning::Real;
use super::point::{Point, product, sum};

impl Point {
    /// As [`super::Algebra::apply_all`].
    pub(super) fn apply_all<const N: usize>(
        &mut self,
        op: Real,
        operands: &[&Elements<N>],
        (mask, results): (u64, &mut Elements<N>),
    ) -> u64 {
        let nothing_known = self.classes.is_empty()
            && self.conditions.recent.is_empty()
            && self.positives.is_empty();
        let places = (0..N).filter(|at| mask >> at & 1 != 0);
        let mask = match nothing_known {
            true => mask,
            false => places
                .filter(|&at| self.is_plain(op, operands, at))
                .fold(0, |mask, at| mask | 1 << at),
        };
        let places = (mask, results);
        let degree = match (op, operands) {
            (Real::Add, [a, b]) => each(places, |at| (sum(a.get(at), b.get(at)), Degree::ZERO)),
            (Real::Mul, [a, b]) => each(places, |at| {
                let product = product(a.get(at), b.get(at));
                (product, product.degree)
            }),
            (Real::Fma, [a, b, c]) => each(places, |at| {
                let product = product(a.get(at), b.get(at));
                (sum(product, c.get(at)), product.degree)
            }),
            _ => return 0,
        };
        self.degree = self.degree.max(degree);
        mask
    }

    /// A sum with a product.
    #[inline]
    pub(super) fn multiply_add(&mut self, [a, b]: [Element; 2], c: Element) -> Element {
        if self.classes.is_empty() && self.conditions.recent.is_empty() {
            let product = product(a, b);
            self.degree = self.degree.max(product.degree.value());
            return sum(c, product);
        }
        let product = self.mul(a, b);
        self.add(c, product)
    }

    /// Whether nothing else is known of the operands in a place, and of the product that a sum is made of.
    fn is_plain<const N: usize>(&self, op: Real, operands: &[&Elements<N>], at: usize) -> bool {
        let mut all: SmallVec<[Element; 4]> = operands.iter().map(|all| all.get(at)).collect();
        if self.positives.contains(&all[0].p) {
            return false;
        }
        if op == Real::Fma {
            all.push(product(all[0], all[1]));
        }
        !all.iter().any(|&it| self.class(it).is_some() || self.conditions.has_cells(it))
    }
}

/// Writes results in some places. Returns the largest degree of a product.
#[inline(always)]
fn each<const N: usize>(
    (mask, results): (u64, &mut Elements<N>),
    function: impl Fn(usize) -> (Element, Degree),
) -> u32 {
    let (mut rest, mut degree) = (mask, 0);
    while rest != 0 {
        let at = rest.trailing_zeros() as usize;
        let (result, product) = function(at);
        results.set(at, result);
        degree = degree.max(product.value());
        rest &= rest - 1;
    }
    degree
}

#[cfg(feature = "internals")]
mod tests {
    use super::super::element::Term;
    use super::super::meaning::{Format, Mode};
    use super::super::{Algebra, Domain};
    use super::*;

    crate::unit_tests!(many_results_are_those_of_one_by_one);

    fn many_results_are_those_of_one_by_one() {
        let mut algebra = Algebra::new(Domain::Reals, 7);
        let row = |algebra: &Algebra, name: u64| {
            let mut row = Elements::<8>::default();
            (0..8).for_each(|at| row.set(at, algebra.input(name, at as u64)));
            row
        };
        let [mut a, b, c] = [1, 2, 3].map(|name| row(&algebra, name));
        // Of a power it is known that it is positive, and of a logarithm its class.
        for (at, op) in [(2, Real::Ex2), (5, Real::Lg2)] {
            let operand = Term::Element(a.get(at));
            let known = algebra.apply((op, Format::F32, Mode::EVEN), &[operand]);
            let Some(Term::Element(known)) = known else { panic!("{op:?}") };
            a.set(at, known);
        }
        for (op, count) in [(Real::Add, 2), (Real::Mul, 2), (Real::Fma, 3), (Real::Sub, 2)] {
            let operands = &[&a, &b, &c][..count];
            let mut results = Elements::default();
            let done = algebra.apply_all(op, operands, (0b1111_1101, &mut results));
            let plain = if op == Real::Sub { 0 } else { 0b1111_1001 };
            assert_eq!(done | 1 << 5, plain | 1 << 5, "{op:?}");
            for at in (0..8).filter(|at| done >> at & 1 != 0) {
                let terms: Vec<Term> =
                    operands.iter().map(|row| Term::Element(row.get(at))).collect();
                let one = algebra.apply((op, Format::F32, Mode::EVEN), &terms);
                assert_eq!(one, Some(Term::Element(results.get(at))), "{op:?} {at}");
            }
        }
    }
}
