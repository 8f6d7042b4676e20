//! Two rings of residues, and elements of both side by side.
//!
//! `P` is prime, `P = 8 Q + 1`, `Q = Q1 Q2` with primes of 30 bits, and 2 has the order `Q` modulo `P`: a residue modulo `Q` is
//! an exponent of 2. Residues are in Montgomery form with the radix 2^64.

/// The modulus of values.
pub(super) const P: u64 = 8_100_087_671_667_692_873;
/// The first factor of the modulus of exponents.
pub(super) const Q1: u64 = 1_048_175_789;
/// The second factor.
pub(super) const Q2: u64 = 965_974_381;
/// The modulus of exponents.
pub(super) const Q: u64 = Q1 * Q2;
/// A square root of -1 modulo `P`, not in Montgomery form.
const ROOT_OF_MINUS_ONE: u64 = 5_411_861_150_212_694_333;

const P_INVERSE: u64 = negative_inverse(P);
const Q_INVERSE: u64 = negative_inverse(Q);

const fn negative_inverse(modulus: u64) -> u64 {
    let (mut inverse, mut round) = (1_u64, 0);
    while round < 6 {
        inverse = inverse.wrapping_mul(2_u64.wrapping_sub(modulus.wrapping_mul(inverse)));
        round += 1;
    }
    inverse.wrapping_neg()
}

#[inline(always)]
fn reduce_product(a: u64, b: u64, modulus: u64, inverse: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    let factor = (product as u64).wrapping_mul(inverse);
    let reduced = ((product + u128::from(factor) * u128::from(modulus)) >> 64) as u64;
    if reduced >= modulus { reduced - modulus } else { reduced }
}

/// The product modulo `P`.
#[inline(always)]
pub(super) fn mul_p(a: u64, b: u64) -> u64 {
    reduce_product(a, b, P, P_INVERSE)
}

/// The product modulo `Q`.
#[inline(always)]
pub(super) fn mul_q(a: u64, b: u64) -> u64 {
    reduce_product(a, b, Q, Q_INVERSE)
}

/// The sum modulo `modulus`.
#[inline(always)]
pub(super) fn add(a: u64, b: u64, modulus: u64) -> u64 {
    let sum = a + b;
    if sum >= modulus { sum - modulus } else { sum }
}

/// The difference modulo `modulus`.
#[inline(always)]
pub(super) fn sub(a: u64, b: u64, modulus: u64) -> u64 {
    if a >= b { a - b } else { a + modulus - b }
}

/// A residue in Montgomery form.
pub(super) fn enter(value: u128, modulus: u64) -> u64 {
    let modulus = u128::from(modulus);
    (((value % modulus) << 64) % modulus) as u64
}

/// A residue modulo `P` out of Montgomery form.
pub(super) fn leave_p(a: u64) -> u64 {
    mul_p(a, 1)
}

/// A residue modulo `Q` out of Montgomery form.
pub(super) fn leave_q(a: u64) -> u64 {
    mul_q(a, 1)
}

/// A power modulo `P`.
pub(super) fn power(base: u64, exponent: u64) -> u64 {
    let (mut base, mut rest, mut result) = (base, exponent, enter(1, P));
    while rest > 0 {
        if rest & 1 != 0 {
            result = mul_p(result, base);
        }
        base = mul_p(base, base);
        rest >>= 1;
    }
    result
}

/// The inverse of a residue that is not in Montgomery form; none if it shares a factor with the modulus.
fn inverse(value: u64, modulus: u64) -> Option<u64> {
    let (mut r0, mut r1) = (i128::from(modulus), i128::from(value));
    let (mut s0, mut s1) = (0_i128, 1_i128);
    while r1 != 0 {
        let quotient = r0 / r1;
        (r0, r1) = (r1, r0 - quotient * r1);
        (s0, s1) = (s1, s0 - quotient * s1);
    }
    (r0 == 1).then(|| s0.rem_euclid(i128::from(modulus)) as u64)
}

/// The inverse modulo `P`; none of 0.
pub(super) fn inverse_p(a: u64) -> Option<u64> {
    (a != 0).then(|| power(a, P - 2))
}

/// The inverse modulo `Q`, if there is one.
pub(super) fn inverse_q(a: u64) -> Option<u64> {
    inverse(leave_q(a), Q).map(|inverse| enter(inverse.into(), Q))
}

/// The residues of a fraction; none if a modulus divides the denominator.
pub(super) fn fraction(numerator: i128, denominator: i128) -> Option<(u64, u64)> {
    let residue = |value: i128, modulus: u64| value.rem_euclid(i128::from(modulus)) as u128;
    let p = inverse_p(enter(residue(denominator, P), P))?;
    let q = inverse_q(enter(residue(denominator, Q), Q))?;
    let numerator = (enter(residue(numerator, P), P), enter(residue(numerator, Q), Q));
    Some((mul_p(numerator.0, p), mul_q(numerator.1, q)))
}

/// The fraction of small numbers that a residue modulo `P` is, if it is one: numerator and denominator, which is positive.
pub(super) fn small_fraction(residue: u64, limit: i128) -> Option<(i128, i128)> {
    let (mut r0, mut r1) = (i128::from(P), i128::from(leave_p(residue)));
    let (mut t0, mut t1) = (0_i128, 1_i128);
    while r1 >= limit {
        let quotient = r0 / r1;
        (r0, r1) = (r1, r0 - quotient * r1);
        (t0, t1) = (t1, t0 - quotient * t1);
    }
    (t1 != 0 && t1.abs() < limit).then(|| if t1 > 0 { (r1, t1) } else { (-r1, -t1) })
}

/// A square root of -1 modulo `P`.
pub(super) fn imaginary_unit() -> u64 {
    enter(ROOT_OF_MINUS_ONE.into(), P)
}

/// Powers of 2 modulo `P`, and logarithms to the base 2.
#[derive(Debug)]
pub(super) struct Powers {
    /// 2^(256^i j) for i below 8 and j below 256.
    table: Vec<[u64; 256]>,
    /// A primitive eighth root of unity.
    pub eighth: u64,
    /// For each factor of `Q` the small powers of a generator of the subgroup of that order.
    small: Option<[rustc_hash::FxHashMap<u64, u32>; 2]>,
}

/// How many small powers are tabulated for a logarithm.
const SMALL: u64 = 1 << 15;

impl Powers {
    /// The tables of powers.
    pub(super) fn new() -> Powers {
        let mut table = Vec::new();
        let mut base = enter(2, P);
        for _ in 0..8 {
            let mut row = [enter(1, P); 256];
            for at in 1..256 {
                row[at] = mul_p(row[at - 1], base);
            }
            base = mul_p(row[255], base);
            table.push(row);
        }
        // The Q-th power of any non-residue is a primitive eighth root of unity.
        let minus_one = sub(0, enter(1, P), P);
        let candidates = (3..).map(|base| power(enter(base, P), Q));
        let eighth = candidates.into_iter().find(|&root| power(root, 4) == minus_one);
        Powers { table, eighth: eighth.unwrap_or(0), small: None }
    }

    /// 2 to the power of an exponent that is not in Montgomery form.
    #[inline]
    pub(super) fn of(&self, exponent: u64) -> u64 {
        let mut result = self.table[0][(exponent & 255) as usize];
        for (at, row) in self.table.iter().enumerate().skip(1) {
            result = mul_p(result, row[(exponent >> (8 * at) & 255) as usize]);
        }
        result
    }

    /// The exponent `e`, not in Montgomery form, and the number `c` below 8 such that `value = 2^e eighth^c`.
    pub(super) fn logarithm(&mut self, value: u64) -> (u64, u8) {
        let eighth_power = power(value, 8);
        let two = enter(2, P);
        let generators = [power(two, Q2), power(two, Q1)];
        let small = self.small.get_or_insert_with(|| {
            generators.map(|generator| {
                let mut power = enter(1, P);
                let mut table = rustc_hash::FxHashMap::default();
                for exponent in 0..SMALL as u32 {
                    table.insert(power, exponent);
                    power = mul_p(power, generator);
                }
                table
            })
        });
        let mut parts = [0; 2];
        for (at, (order, other)) in [(Q1, Q2), (Q2, Q1)].into_iter().enumerate() {
            let step = power(power(generators[at], SMALL), P - 2);
            let mut rest = power(eighth_power, other);
            for giant in 0..=order / SMALL + 1 {
                if let Some(&baby) = small[at].get(&rest) {
                    parts[at] = (giant * SMALL + u64::from(baby)) % order;
                    break;
                }
                rest = mul_p(rest, step);
            }
        }
        let exponent = combine(parts);
        let rest = mul_p(value, power(self.of(exponent), P - 2));
        let mut root = enter(1, P);
        for class in 0..8 {
            if root == rest {
                return (exponent, class);
            }
            root = mul_p(root, self.eighth);
        }
        (exponent, 0)
    }
}

/// The exponent modulo `Q` whose eightfold is `parts[0]` modulo `Q1` and `parts[1]` modulo `Q2`.
fn combine(parts: [u64; 2]) -> u64 {
    let q1 = u128::from(Q1);
    let inverse_of_q2 = u128::from(inverse(Q2 % Q1, Q1).unwrap_or(0));
    let difference = (u128::from(parts[0]) + q1 - u128::from(parts[1] % Q1)) % q1;
    let all = u128::from(parts[1]) + u128::from(Q2) * (difference * inverse_of_q2 % q1);
    let eighth = u128::from(inverse(8, Q).unwrap_or(0));
    (all % u128::from(Q) * eighth % u128::from(Q)) as u64
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;

    crate::unit_tests!(logarithms_undo_powers, fractions_are_found_again);

    fn logarithms_undo_powers() {
        let mut powers = Powers::new();
        for exponent in [0, 1, 2, 8, 1 << 40, Q - 1, 123_456_789_012_345] {
            let value = powers.of(exponent);
            assert_eq!(powers.logarithm(value), (exponent, 0));
            let turned = mul_p(value, power(powers.eighth, 3));
            assert_eq!(powers.logarithm(turned), (exponent, 3));
        }
        assert_eq!(powers.of(Q), enter(1, P));
        assert_eq!(power(powers.eighth, 8), enter(1, P));
        let i = imaginary_unit();
        assert_eq!(mul_p(i, i), sub(0, enter(1, P), P));
    }

    fn fractions_are_found_again() {
        for (n, d) in [(1, 768), (-3, 7), (5, 1), (0, 1)] {
            let (p, q) = fraction(n, d).expect("the denominator is small");
            assert_eq!(small_fraction(p, 1 << 10), Some((n, d)));
            assert_eq!(mul_q(q, enter(d as u128, Q)), enter(n.rem_euclid(Q.into()) as u128, Q));
        }
        assert_eq!(small_fraction(enter(12_345_678_901_234_567, P), 1 << 10), None);
    }
}
