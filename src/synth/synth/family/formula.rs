//! Building expressions over the coordinates of a hole.

use rustc_hash::FxHashMap;
use std::sync::Arc;

use crate::synth::expr::{Cmp, Expr, Op};

/// The names of a hole's coordinates.
pub(super) struct Names {
    names: Vec<String>,
}

impl Names {
    /// These names.
    pub(super) fn new(names: &[String]) -> Names {
        Names { names: names.to_vec() }
    }

    /// The first coordinate.
    pub(super) fn first(&self) -> Expr {
        self.names.first().map_or(Expr::Number(0), |name| Expr::name(name))
    }

    /// The second coordinate; 0 if there is none.
    pub(super) fn second(&self) -> Expr {
        self.names.get(1).map_or(Expr::Number(0), |name| Expr::name(name))
    }

    /// The value of an expression at a point.
    pub(super) fn value(&self, expr: &Expr, i: usize, k: usize) -> Option<i64> {
        expr.value(&|name| match self.names.iter().position(|own| own == name)? {
            0 => Some(i as i64),
            _ => Some(k as i64),
        })
    }

    /// Whether an expression has the values of a table.
    pub(super) fn gives(&self, expr: &Expr, extents: [usize; 2], table: &[u8]) -> bool {
        table.iter().enumerate().all(|(point, &value)| {
            let (i, k) = (point % extents[0], point / extents[0]);
            self.value(expr, i, k) == Some(i64::from(value))
        })
    }

    /// An expression that tells the points of a table apart one by one.
    pub(super) fn chosen(&self, extents: [usize; 2], table: &[u8]) -> Expr {
        let mut counts: FxHashMap<u8, usize> = FxHashMap::default();
        table.iter().for_each(|&value| *counts.entry(value).or_default() += 1);
        let most = (0..=u8::MAX).max_by_key(|value| counts.get(value).copied().unwrap_or(0));
        let most = most.unwrap_or_default();
        let flat = add(mul(self.second(), extents[0] as i64), self.first());
        let mut expr = Expr::Number(i64::from(most));
        for (point, &value) in table.iter().enumerate().filter(|(_, value)| **value != most) {
            let at = Expr::Compare(
                Cmp::Eq,
                Arc::new(flat.clone()),
                Arc::new(Expr::Number(point as i64)),
            );
            let value = Arc::new(Expr::Number(i64::from(value)));
            expr = Expr::Choose(Arc::new(at), value, Arc::new(expr));
        }
        expr
    }
}

/// `a + b`
pub(super) fn add(a: Expr, b: Expr) -> Expr {
    match b {
        Expr::Number(b) if b < 0 => Expr::binary(Op::Sub, a, Expr::Number(-b)),
        b => Expr::binary(Op::Add, a, b),
    }
}

/// `a * n`; where `n` is the number -1, this is still a product, which [`scaled`] avoids.
pub(super) fn mul(a: Expr, n: i64) -> Expr {
    Expr::binary(Op::Mul, a, Expr::Number(n))
}

/// `sum + a * n`
pub(super) fn scaled(sum: Expr, a: Expr, n: i64) -> Expr {
    if a == Expr::Number(0) {
        return sum;
    }
    match n {
        0 => sum,
        n if n < 0 => Expr::binary(Op::Sub, sum, mul(a, -n)),
        n if sum == Expr::Number(0) => mul(a, n),
        n => add(sum, mul(a, n)),
    }
}

/// `a / n`
pub(super) fn div(a: Expr, n: i64) -> Expr {
    Expr::binary(Op::Div, a, Expr::Number(n))
}

/// `a % n`, where `n` is a power of two `a & (n - 1)`.
pub(super) fn rem(a: Expr, n: i64) -> Expr {
    if n > 1 && n.count_ones() == 1 {
        return Expr::binary(Op::And, a, Expr::Number(n - 1));
    }
    Expr::binary(Op::Rem, a, Expr::Number(n))
}
