//! Families whose members are stored: those that a sketch lists, and `fit`, any expression over the
//! coordinates, built bottom up with one representative for each behaviour.

use rustc_hash::{FxHashMap, FxHashSet};

use super::formula::Names;
use super::request::{Recipe, Request, Visit, Wanted};
use super::xform;
use crate::synth::expr::{Expr, Op};

/// How many behaviours are kept.
const MOST: usize = 20_000;

/// How many operators an expression has at most, unless fewer are asked for.
pub(super) const OPERATORS: usize = 4;

/// Members with their tables.
#[derive(Clone, Debug)]
pub(super) struct Fitted {
    tables: Vec<Vec<u8>>,
    /// Each as text of the positions `0` and `1` of coordinates, so that the names are put in at the end.
    members: Vec<Shape>,
}

/// An expression over the numbers of coordinates, without names.
#[derive(Clone, Debug)]
enum Shape {
    First,
    Second,
    Number(i64),
    Binary(Op, Box<Shape>, Box<Shape>),
    Compare(crate::synth::expr::Cmp, Box<Shape>, Box<Shape>),
}

impl Shape {
    fn of(expr: &Expr, own: &[&str], params: &FxHashMap<String, i64>) -> Shape {
        match expr {
            Expr::Number(number) => Shape::Number(*number),
            Expr::Name(name) => match own.iter().position(|own| *own == &**name) {
                Some(0) => Shape::First,
                Some(_) => Shape::Second,
                None => Shape::Number(params.get(&**name).copied().unwrap_or_default()),
            },
            Expr::Binary(op, a, b) => {
                let [a, b] = [a, b].map(|e| Box::new(Shape::of(e, own, params)));
                Shape::Binary(*op, a, b)
            }
            Expr::Compare(cmp, a, b) => {
                let [a, b] = [a, b].map(|e| Box::new(Shape::of(e, own, params)));
                Shape::Compare(*cmp, a, b)
            }
            // The grammar of expressions has no choices.
            Expr::Choose(_, _, _) => Shape::Number(0),
        }
    }

    fn named(&self, names: &Names) -> Expr {
        match self {
            Shape::First => names.first(),
            Shape::Second => names.second(),
            Shape::Number(number) => Expr::Number(*number),
            Shape::Binary(op, a, b) => Expr::binary(*op, a.named(names), b.named(names)),
            Shape::Compare(cmp, a, b) => {
                Expr::Compare(*cmp, a.named(names).into(), b.named(names).into())
            }
        }
    }
}

impl Fitted {
    /// The members that a sketch lists; those with a value out of range are none.
    pub(super) fn listed(
        request: &Request<'_>,
        own: &[&str],
        members: &[Expr],
        params: &FxHashMap<String, i64>,
    ) -> Fitted {
        let [first, second] = request.extents;
        let mut found = Fitted { tables: Vec::new(), members: Vec::new() };
        let names = Names::new(&["i".to_owned(), "k".to_owned()]);
        let mut known = FxHashSet::default();
        for member in members {
            let shape = Shape::of(member, own, params);
            let expr = shape.named(&names);
            let value = |point: usize| {
                let value = names.value(&expr, point % first, point / first)?;
                u8::try_from(value).ok().filter(|&value| usize::from(value) < request.values)
            };
            let table: Option<Vec<u8>> = (0..first * second).map(value).collect();
            if let Some(table) = table.filter(|table| known.insert(table.clone())) {
                found.tables.push(table);
                found.members.push(shape);
            }
        }
        found
    }

    /// Expressions in the order of their size, each behaviour once.
    pub(super) fn bottom_up(request: &Request<'_>, operators: usize) -> Fitted {
        let [first, second] = request.extents;
        let (points, n) = (first * second, request.values as i64);
        let mut known = FxHashSet::default();
        // For each number of operators: shapes with their values at all points.
        let mut levels: Vec<Vec<(Shape, Vec<i64>)>> = vec![Vec::new()];
        let mut leaf = |shape: Shape, of: &dyn Fn(usize) -> i64| {
            let values: Vec<i64> = (0..points).map(of).collect();
            if known.insert(values.clone()) {
                levels[0].push((shape, values));
            }
        };
        leaf(Shape::First, &|p| (p % first) as i64);
        leaf(Shape::Second, &|p| (p / first) as i64);
        for number in [0, 1, 2, n, n - 1, first as i64, second as i64, 4, 8, 16, 3, 5] {
            leaf(Shape::Number(number), &|_| number);
        }
        let kinds =
            [Op::Add, Op::Sub, Op::Mul, Op::Xor, Op::And, Op::Rem, Op::Div, Op::Shl, Op::Shr];
        let mut count = 0;
        for size in 1..=operators {
            let mut found: Vec<(Shape, Vec<i64>)> = Vec::new();
            'size: for left in 0..size {
                for (a, xs) in &levels[left] {
                    for (b, ys) in &levels[size - 1 - left] {
                        for op in kinds {
                            let values = xs.iter().zip(ys).map(|(&x, &y)| op.apply(x, y));
                            let values: Option<Vec<i64>> =
                                values.map(|v| v.filter(|v| v.abs() < 1 << 20)).collect();
                            let Some(values) = values else { continue };
                            if known.insert(values.clone()) {
                                let [a, b] = [a, b].map(|shape| Box::new(shape.clone()));
                                found.push((Shape::Binary(op, a, b), values));
                                count += 1;
                            }
                            if count >= MOST {
                                break 'size;
                            }
                        }
                    }
                }
            }
            levels.push(found);
        }
        let mut fitted = Fitted { tables: Vec::new(), members: Vec::new() };
        let mut known: FxHashSet<u128> = FxHashSet::default();
        for (shape, values) in levels.into_iter().flatten() {
            let fits = values.iter().all(|v| (0..n).contains(v)) || planted!(Bug::FittedModulus);
            let table: Vec<u8> = values.iter().map(|v| v.rem_euclid(n) as u8).collect();
            if known.insert(xform::fingerprint(&table)) {
                let whole = Box::new(Shape::Number(n));
                let reduced = || Shape::Binary(Op::Rem, Box::new(shape.clone()), whole);
                fitted.members.push(if fits { shape.clone() } else { reduced() });
                fitted.tables.push(table);
            }
        }
        fitted
    }

    /// A bit for each value that some member has at each point.
    pub(super) fn support(&self, points: usize) -> Vec<u64> {
        (0..points)
            .map(|p| self.tables.iter().fold(0, |mask, table| mask | 1 << table[p]))
            .collect()
    }

    /// Calls `visit` for each member within the masks.
    pub(super) fn each(&self, wanted: &Wanted<'_>, visit: &mut Visit<'_>) {
        for (number, table) in self.tables.iter().enumerate() {
            let within = table.iter().zip(wanted.masks).all(|(value, mask)| mask >> value & 1 == 1);
            if within && !visit(table, Recipe::Number(number as u32)) {
                return;
            }
        }
    }

    /// The formula of a member.
    pub(super) fn formula(&self, number: u32, names: &Names) -> Expr {
        self.members[number as usize].named(names)
    }
}
