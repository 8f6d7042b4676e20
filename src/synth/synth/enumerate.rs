//! Expressions from given parts, bottom up: one for each behaviour, those with few operators first.
//!
//! A behaviour is the row of an expression's values at some points. An expression without a value at one of them, or with
//! one of [`BOUND`] or more, is none.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::expr::{Expr, Op};

/// Values are below this number.
const BOUND: i64 = 1 << 20;

/// An expression and its values.
#[derive(Clone, Debug)]
pub(super) struct Member {
    /// The expression.
    pub expr: Arc<Expr>,
    /// Its values at all points.
    pub values: Arc<[i32]>,
}

/// How far expressions are enumerated.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits<'l> {
    /// The operators.
    pub operations: &'l [Op],
    /// How many operators an expression has at most.
    pub operators: usize,
    /// How many behaviours are kept beside those of the parts.
    pub most: usize,
    /// Whether of equal behaviours those with the larger left operand come first.
    pub left_heavy: bool,
}

/// Expressions by the number of their operators.
#[derive(Clone, Debug)]
pub(super) struct Pool {
    sizes: Vec<Vec<Member>>,
    /// Whether a bound has left expressions out.
    pub cut: bool,
}

impl Pool {
    /// The expressions that these parts make, each with its values.
    pub(super) fn new(
        parts: impl IntoIterator<Item = (Arc<Expr>, Vec<i32>)>,
        limits: &Limits<'_>,
    ) -> Pool {
        let mut known: FxHashSet<Arc<[i32]>> = FxHashSet::default();
        let parts = parts.into_iter().filter_map(|(expr, values)| {
            let values: Arc<[i32]> = values.into();
            known.insert(values.clone()).then_some(Member { expr, values })
        });
        let mut pool = Pool { sizes: vec![parts.collect()], cut: false };
        let mut left = limits.most;
        for size in 1..=limits.operators {
            let mut found: Vec<Member> = Vec::new();
            'size: for split in 0..size {
                let (less, more) = (split, size - 1 - split);
                let [a, b] = if limits.left_heavy { [more, less] } else { [less, more] };
                for (a, b) in pairs(&pool.sizes[a], &pool.sizes[b]) {
                    for &op in limits.operations {
                        // The same has come the other way round.
                        let commutes = matches!(op, Op::Add | Op::Mul | Op::Xor | Op::And);
                        if commutes && less > more {
                            continue;
                        }
                        let Some(values) = combined(op, &a.values, &b.values) else { continue };
                        if !known.insert(values.clone()) {
                            continue;
                        }
                        if left == 0 {
                            pool.cut = true;
                            break 'size;
                        }
                        let expr = Expr::Binary(op, a.expr.clone(), b.expr.clone()).into();
                        found.push(Member { expr, values });
                        left -= 1;
                    }
                }
            }
            pool.sizes.push(found);
        }
        pool
    }

    /// All expressions, those with few operators first.
    pub(super) fn members(&self) -> impl Iterator<Item = &Member> {
        self.sizes.iter().flatten()
    }

    /// The expressions with `operators` operators.
    pub(super) fn of_size(&self, operators: usize) -> &[Member] {
        self.sizes.get(operators).map_or(&[], Vec::as_slice)
    }
}

/// Each of the first with each of the others.
pub(super) fn pairs<'m>(
    a: &'m [Member],
    b: &'m [Member],
) -> impl Iterator<Item = (&'m Member, &'m Member)> {
    a.iter().flat_map(move |a| b.iter().map(move |b| (a, b)))
}

/// The values of an operation; `None` where one has no value.
fn combined(op: Op, a: &[i32], b: &[i32]) -> Option<Arc<[i32]>> {
    let value = |(a, b): (&i32, &i32)| {
        let value = op.apply(i64::from(*a), i64::from(*b)).filter(|value| value.abs() < BOUND)?;
        i32::try_from(value).ok()
    };
    let values: Option<Vec<i32>> = a.iter().zip(b).map(value).collect();
    values.map(Into::into)
}
