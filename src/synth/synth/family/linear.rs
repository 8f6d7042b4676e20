//! Families that are a formula with a few small parameters:
//!
//! - `rot`: `(i + a * k + s * (k / d) + c) % n`
//! - `unit`: `(u * i + a * k + c) % n` with `u` prime to `n`
//! - `xor`: `i ^ (a * k + c)` and `i ^ (1 << k) ^ c`, where that is below `n`
//! - `linear`: `rot`; `(F % m + s * (F / m / d) + c) % n` of the flat index `F`, which is `i * K + k` or `k * I + i`
//!   (`I`, `K` are the extents); and `(a * i + (k + s * (i / d) + c) % m) % n`.
//!
//! A table is computed point by point and given up at the first value that the masks exclude.

use rustc_hash::FxHashSet;
use std::ops::Range;

use super::formula::{Names, add, div, mul, rem, scaled};
use super::request::{Recipe, Request, Visit, Wanted};
use super::xform;
use crate::synth::expr::{Expr, Op};

const ROT: u8 = 0;
const UNIT: u8 = 1;
const XOR: u8 = 2;
const XOR_BIT: u8 = 3;
const FLAT: u8 = 4;
const MIXED: u8 = 5;

/// One of the families.
#[derive(Clone, Debug)]
pub(super) struct Linear {
    kinds: Vec<u8>,
    first: usize,
    second: usize,
    n: i64,
    /// Divisors of the quotients.
    quotients: Vec<i64>,
}

fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

impl Linear {
    /// The family of this name for a hole.
    pub(super) fn new(name: &str, request: &Request<'_>) -> Linear {
        let Request { extents: [first, second], values, .. } = *request;
        let kinds = match name {
            "rot" => vec![ROT],
            "unit" => vec![UNIT],
            "xor" => vec![XOR, XOR_BIT],
            _ => vec![FLAT, MIXED, ROT],
        };
        let largest = first.max(second).max(values);
        let divides = |d: &usize| [first, second, values].iter().any(|n| n % d == 0);
        let quotients = (1..=largest).filter(divides).map(|d| d as i64).collect();
        Linear { kinds, first, second, n: values as i64, quotients }
    }

    /// Calls `visit` for each member within the masks.
    pub(super) fn each(&self, wanted: &Wanted<'_>, visit: &mut Visit<'_>) {
        let mut seen = FxHashSet::default();
        let mut table = vec![0u8; self.first * self.second];
        // Members without a constant are cheaper, and there are far fewer of them.
        for constant in [0..1, 1..i32::MAX] {
            for &kind in &self.kinds {
                let go_on = self.parameters(kind, constant.clone(), &mut |parameters| {
                    if !self.fill(kind, parameters, wanted.masks, &mut table)
                        || !seen.insert(xform::fingerprint(&table))
                    {
                        return true;
                    }
                    visit(&table, Recipe::Formula(kind, *parameters))
                });
                if !go_on {
                    return;
                }
            }
        }
    }

    /// Calls `visit` for each choice of parameters with a constant of this range, the cheapest first.
    fn parameters(
        &self,
        kind: u8,
        constant: Range<i32>,
        visit: &mut dyn FnMut(&[i32; 5]) -> bool,
    ) -> bool {
        let n = self.n as i32;
        let below = |end: i32| constant.start..constant.end.min(end);
        // A sign and a divisor; sign 0 only once.
        let quotients: Vec<(i32, i32)> = std::iter::once((0, 1))
            .chain(self.quotients.iter().flat_map(|&d| [(1, d as i32), (-1, d as i32)]))
            .filter(|(sign, _)| *sign >= 0 || !planted!(Bug::NoMinus))
            .collect();
        let (first, second) = (self.first as i32, self.second as i32);
        match kind {
            ROT => quotients.iter().all(|&(s, d)| {
                d == 1 && s != 0 || (0..n).all(|a| below(n).all(|c| visit(&[a, s, d, c, 0])))
            }),
            UNIT => (1..n.max(2))
                .filter(|&u| gcd(i64::from(u), self.n) == 1)
                .all(|u| (0..n).all(|a| below(n).all(|c| visit(&[u, a, c, 0, 0])))),
            XOR => (0..n).all(|a| below(n).all(|c| visit(&[a, c, 0, 0, 0]))),
            XOR_BIT => below(n).all(|c| visit(&[c, 0, 0, 0, 0])),
            FLAT => {
                let mut moduli = vec![n, first, second];
                moduli.sort_unstable();
                moduli.dedup();
                [0, 1].iter().all(|&order| {
                    moduli.iter().all(|&m| {
                        quotients
                            .iter()
                            .all(|&(s, d)| below(n).all(|c| visit(&[order, m, s, d, c])))
                    })
                })
            }
            _ => quotients
                .iter()
                .all(|&(s, d)| below(second).all(|c| (0..n).all(|a| visit(&[a, s, d, c, second])))),
        }
    }

    /// Computes a table; false where the masks exclude it.
    fn fill(&self, kind: u8, p: &[i32; 5], masks: &[u64], table: &mut [u8]) -> bool {
        let mut point = 0;
        for k in 0..self.second as i64 {
            for i in 0..self.first as i64 {
                let value = self.value(kind, p, i, k);
                if !(0..self.n).contains(&value) || masks[point] >> value & 1 == 0 {
                    return false;
                }
                table[point] = value as u8;
                point += 1;
            }
        }
        true
    }

    fn value(&self, kind: u8, p: &[i32; 5], i: i64, k: i64) -> i64 {
        let [p0, p1, p2, p3, p4] = p.map(i64::from);
        let n = self.n;
        match kind {
            ROT => (i + p0 * k + p1 * (k / p2) + p3).rem_euclid(n),
            UNIT => (p0 * i + p1 * k + p2) % n,
            XOR => i ^ (p0 * k + p1),
            XOR_BIT => i ^ (1 << k.min(32)) ^ p0,
            FLAT => {
                let (first, second) = (self.first as i64, self.second as i64);
                let flat = if p0 == 0 { i * second + k } else { k * first + i };
                (flat % p1 + p2 * (flat / p1 / p3) + p4).rem_euclid(n)
            }
            _ => (p0 * i + (k + p1 * (i / p2) + p3).rem_euclid(p4)) % n,
        }
    }

    /// The formula of a member.
    pub(super) fn formula(&self, kind: u8, p: &[i32; 5], names: &Names) -> Expr {
        let [p0, p1, p2, p3, p4] = p.map(i64::from);
        let (i, k, n) = (names.first(), names.second(), self.n);
        let near = |c: i64| if c * 2 > n { c - n } else { c };
        match kind {
            ROT => {
                let sum = scaled(scaled(i, k.clone(), near(p0)), div(k, p2), p1);
                rem(add(sum, Expr::Number(near(p3))), n)
            }
            UNIT => rem(add(scaled(mul(i, p0), k, near(p1)), Expr::Number(near(p2))), n),
            XOR => Expr::binary(Op::Xor, i, add(mul(k, p0), Expr::Number(p1))),
            XOR_BIT => {
                let bit = Expr::binary(Op::Shl, Expr::Number(1), k);
                Expr::binary(Op::Xor, Expr::binary(Op::Xor, i, bit), Expr::Number(p0))
            }
            FLAT => {
                let (first, second) = (self.first as i64, self.second as i64);
                let flat = if p0 == 0 { add(mul(i, second), k) } else { add(mul(k, first), i) };
                let p3 = if planted!(Bug::FlatFormula) { 1 } else { p3 };
                let sum = scaled(rem(flat.clone(), p1), div(div(flat, p1), p3), p2);
                rem(add(sum, Expr::Number(near(p4))), n)
            }
            _ => {
                let inner = add(scaled(k, div(i.clone(), p2), p1), Expr::Number(p3));
                rem(add(mul(i, p0), rem(inner, p4)), n)
            }
        }
    }
}
