//! Expressions over loops and lanes: names put in, values at all places, and the form that machines compute.
//!
//! An expression of a sketch divides as Euclid does. What C and PTX compute is the same where nothing negative is
//! divided; [`Domain::machine`] adds multiples of the divisor where something is.

use std::sync::Arc;

use crate::synth::expr::{Cmp, Expr, Op};

/// Expressions with more operators than this stay as they are.
const LARGE: usize = 40;

/// Coordinates and their extents.
#[derive(Clone, Debug, Default)]
pub struct Domain {
    /// The slowest first.
    pub axes: Vec<(String, usize)>,
}

/// An expression with some names replaced.
pub fn replaced(expr: &Expr, by: &dyn Fn(&str) -> Option<Expr>) -> Expr {
    let go = |e: &Arc<Expr>| replaced(e, by);
    match expr {
        Expr::Number(_) => expr.clone(),
        Expr::Name(name) => by(name).unwrap_or_else(|| expr.clone()),
        Expr::Binary(op, a, b) => Expr::binary(*op, go(a), go(b)),
        Expr::Compare(cmp, a, b) => match (go(a), go(b)) {
            (Expr::Number(a), Expr::Number(b)) => Expr::Number(i64::from(cmp.holds(a, b))),
            (a, b) => Expr::Compare(*cmp, Arc::new(a), Arc::new(b)),
        },
        Expr::Choose(c, a, b) => match go(c) {
            Expr::Number(0) => go(b),
            Expr::Number(_) => go(a),
            c => Expr::Choose(Arc::new(c), Arc::new(go(a)), Arc::new(go(b))),
        },
    }
}

/// An expression with the coordinates of one place put in.
pub fn at(expr: &Expr, place: &[(String, i64)]) -> Expr {
    let find = |name: &str| place.iter().find(|(own, _)| own == name);
    replaced(expr, &|name| find(name).map(|(_, value)| Expr::Number(*value)))
}

/// Both conditions; without any, no condition.
pub fn both(a: Option<Expr>, b: Expr) -> Option<Expr> {
    Some(match a {
        Some(a) => Expr::Binary(Op::And, Arc::new(a), Arc::new(b)),
        None => b,
    })
}

impl Domain {
    /// The coordinates of all of these.
    pub fn of<'a>(axes: impl IntoIterator<Item = &'a (String, usize)>) -> Domain {
        Domain { axes: axes.into_iter().cloned().collect() }
    }

    /// How many places there are.
    pub fn places(&self) -> usize {
        self.axes.iter().map(|(_, extent)| extent).product()
    }

    /// The coordinates of a place.
    pub fn place(&self, mut number: usize) -> Vec<(String, i64)> {
        let mut place = Vec::with_capacity(self.axes.len());
        for (name, extent) in self.axes.iter().rev() {
            place.push((name.clone(), (number % extent) as i64));
            number /= extent;
        }
        place.reverse();
        place
    }

    /// The value of an expression at each place; `None` if there is a place without one.
    pub fn values(&self, expr: &Expr) -> Option<Vec<i64>> {
        let mut coordinates = vec![0i64; self.axes.len()];
        let mut values = Vec::with_capacity(self.places());
        for _ in 0..self.places() {
            values.push(expr.value(&|name| {
                self.axes.iter().position(|(own, _)| own == name).map(|axis| coordinates[axis])
            })?);
            for (at, (_, extent)) in coordinates.iter_mut().zip(&self.axes).rev() {
                *at += 1;
                if (*at as usize) < *extent {
                    break;
                }
                *at = 0;
            }
        }
        Some(values)
    }

    /// The number that an expression is everywhere, if it is one.
    pub fn constant(&self, expr: &Expr) -> Option<i64> {
        let values = self.values(expr)?;
        let first = *values.first()?;
        values.iter().all(|value| *value == first).then_some(first)
    }

    /// The smallest expression with the same values that leaving parts away leads to.
    pub fn simplified(&self, expr: Expr) -> Expr {
        let Some(values) = self.values(&expr) else { return expr };
        match self.constant(&expr) {
            Some(number) => Expr::Number(number),
            None if expr.size() > LARGE => expr,
            None => expr.simplified(&|other| self.values(other).as_ref() == Some(&values)),
        }
    }

    /// The same values by divisions of nothing negative.
    ///
    /// # Errors
    /// A divisor is not positive everywhere.
    pub fn machine(&self, expr: &Expr) -> Result<Expr, String> {
        let go = |e: &Arc<Expr>| self.machine(e).map(Arc::new);
        Ok(match expr {
            Expr::Number(_) | Expr::Name(_) => expr.clone(),
            Expr::Compare(cmp, a, b) => Expr::Compare(*cmp, go(a)?, go(b)?),
            Expr::Choose(c, a, b) => Expr::Choose(go(c)?, go(a)?, go(b)?),
            Expr::Binary(op @ (Op::Div | Op::Rem), a, b) => {
                let none = || format!("`{expr}` has no value at some place");
                let dividends = self.values(a).ok_or_else(none)?;
                let divisors = self.values(b).ok_or_else(none)?;
                if divisors.iter().any(|divisor| *divisor <= 0) {
                    return Err(format!("`{expr}` has a divisor that is not positive everywhere"));
                }
                let pairs = dividends.iter().zip(&divisors);
                let times = pairs.map(|(a, b)| -a.div_euclid(*b)).max().unwrap_or(0).max(0);
                let (a, b) = (self.machine(a)?, self.machine(b)?);
                let more = Expr::binary(Op::Mul, b.clone(), Expr::Number(times));
                let quotient = Expr::binary(*op, Expr::binary(Op::Add, a, more), b);
                match op {
                    Op::Div => Expr::binary(Op::Sub, quotient, Expr::Number(times)),
                    _ => quotient,
                }
            }
            Expr::Binary(op, a, b) => Expr::Binary(*op, go(a)?, go(b)?),
        })
    }

    /// The guard that keeps an index within `0..extent`, if it is not within everywhere.
    pub fn guard(&self, index: &Expr, extent: usize, guard: Option<Expr>) -> Option<Expr> {
        let Some(values) = self.values(index) else { return guard };
        let compare = |cmp: Cmp, number: i64| {
            Expr::Compare(cmp, Arc::new(index.clone()), Arc::new(Expr::Number(number)))
        };
        let mut guard = guard;
        if values.iter().any(|value| *value < 0) {
            guard = both(guard, compare(Cmp::Ge, 0));
        }
        if values.iter().any(|value| *value >= extent as i64) {
            guard = both(guard, compare(Cmp::Lt, extent as i64));
        }
        guard
    }
}
