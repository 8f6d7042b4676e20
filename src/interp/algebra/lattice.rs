//! Elements that are affine functions of each other with small rational coefficients, found by a short vector of a lattice.

use super::element::Element;
use super::field::{P, Q, add, enter, leave_p, mul_p, mul_q};

/// An affine function of a number, times a positive integer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    factor: i128,
    constant: i128,
}

/// The bound of denominator, factor and constant.
const MOST: i128 = 1 << 16;

impl Line {
    /// Whether it depends on the number at all.
    pub(super) fn is_not_constant(&self) -> bool {
        self.factor != 0
    }

    /// Whether it falls as the number grows.
    pub(super) fn falls(&self) -> bool {
        self.factor < 0
    }

    /// The number for which it is 0, in lowest terms.
    pub(super) fn zero(&self) -> (i128, i128) {
        let (mut a, mut b) = (self.constant.abs(), self.factor.abs());
        while b != 0 {
            (a, b) = (b, a % b);
        }
        let sign = if self.factor < 0 { a } else { -a };
        (self.constant / sign, self.factor.abs() / a)
    }
}

/// The affine function that `a` is of `b` in both rings, if it has small coefficients.
pub(super) fn affine(a: Element, b: Element) -> Option<Line> {
    let modulus = i128::from(P);
    let (of_a, of_b) = (i128::from(leave_p(a.p)), i128::from(leave_p(b.p)));
    // All (denominator, factor, constant) for which the equation holds modulo `P`.
    let mut basis = [[1, 0, of_a], [0, 1, modulus - of_b], [0, 0, modulus]];
    reduce(&mut basis);
    let sums = (0..27).filter_map(|code: i128| {
        let times = [code % 3 - 1, code / 3 % 3 - 1, code / 9 - 1];
        let entry = |at: usize| (0..3).map(|row| times[row] * basis[row][at]).sum::<i128>();
        let vector = [entry(0), entry(1), entry(2)];
        let is_short = vector[0] > 0 && vector.iter().all(|entry| entry.abs() < MOST);
        is_short.then_some(vector)
    });
    let [denominator, factor, constant] =
        sums.min_by_key(|vector| vector.iter().map(|entry| entry * entry).sum::<i128>())?;
    let residue =
        |value: i128, modulus: u64| enter(value.rem_euclid(i128::from(modulus)) as u128, modulus);
    let holds = |a: u64, b: u64, modulus: u64, mul: fn(u64, u64) -> u64| {
        let product = mul(residue(factor, modulus), b);
        let sum = add(product, residue(constant, modulus), modulus);
        mul(residue(denominator, modulus), a) == sum
    };
    (holds(a.p, b.p, P, mul_p) && holds(a.q, b.q, Q, mul_q)).then_some(Line { factor, constant })
}

/// Makes vectors shorter by multiples of each other, as long as that does.
fn reduce(basis: &mut [[i128; 3]; 3]) {
    let product = |a: &[i128; 3], b: &[i128; 3]| -> f64 {
        a.iter().zip(b).map(|(&a, &b)| a as f64 * b as f64).sum()
    };
    for _ in 0..1000 {
        let mut changed = false;
        for (one, other) in [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)] {
            let (long, short) = (basis[one], basis[other]);
            let times = (product(&long, &short) / product(&short, &short)).round();
            if times == 0.0 || !times.is_finite() {
                continue;
            }
            let mut reduced = long;
            for (entry, by) in reduced.iter_mut().zip(short) {
                *entry -= times as i128 * by;
            }
            if product(&reduced, &reduced) < product(&long, &long) {
                basis[one] = reduced;
                changed = true;
            }
        }
        if !changed {
            return;
        }
    }
}

#[cfg(feature = "internals")]
mod tests {
    use super::super::point::Point;
    use super::*;

    crate::unit_tests!(affine_functions_are_found, products_are_none);

    fn affine_functions_are_found() {
        let mut point = Point::new(7);
        let x = point.input(0, 0);
        for (n, d, c, e) in [(1, 6, 1, 2), (-13, 10, 3, 1), (2, 1, 0, 1), (5, 3, -7, 4)] {
            let (factor, constant) = (point.fraction(n, d), point.fraction(c, e));
            let product = point.mul(factor, x);
            let y = point.add(product, constant);
            let line = affine(y, x).expect("an affine function");
            assert_eq!(line.falls(), n < 0);
            let (numerator, denominator) = line.zero();
            // n/d z + c/e = 0
            assert_eq!(n * numerator * e, -c * d * denominator);
            assert!(denominator > 0);
        }
    }

    fn products_are_none() {
        let mut point = Point::new(7);
        let (x, y) = (point.input(0, 0), point.input(0, 1));
        let square = point.mul(x, x);
        assert!(affine(square, x).is_none());
        assert!(affine(y, x).is_none());
    }
}
