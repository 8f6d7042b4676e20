//! Families whose members are stored: those that a sketch lists, and `fit`, any expression over the
//! coordinates, built bottom up with one representative for each behaviour.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use typed_index_collections::TiVec;

use super::formula::Names;
use super::request::{MemberId, Recipe, Request, Visit, Wanted};
use super::xform;
use crate::synth::emit::domain::replaced;
use crate::synth::enumerate::{Limits, Pool};
use crate::synth::expr::{Expr, Op};

/// How many behaviours are kept.
const MOST: usize = 20_000;

/// How many operators an expression has at most, unless fewer are asked for.
pub(super) const OPERATORS: usize = 4;

/// The operators of expressions, the usual ones first.
const OPERATIONS: [Op; 9] =
    [Op::Add, Op::Sub, Op::Mul, Op::Xor, Op::And, Op::Rem, Op::Div, Op::Shl, Op::Shr];

/// Members over the names of coordinates, with their tables.
#[derive(Clone, Debug)]
pub(super) struct Fitted {
    tables: TiVec<MemberId, Vec<u8>>,
    members: TiVec<MemberId, Expr>,
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
        let mut found = Fitted { tables: TiVec::new(), members: TiVec::new() };
        let names = Names::new(request.names);
        let mut known = FxHashSet::default();
        for member in members {
            let expr = replaced(member, &|name| match own.iter().position(|own| *own == name) {
                Some(0) => Some(names.first()),
                Some(_) => Some(names.second()),
                None => Some(Expr::Number(params.get(name).copied().unwrap_or_default())),
            });
            let value = |point: usize| {
                let value = names.value(&expr, point % first, point / first)?;
                u8::try_from(value).ok().filter(|&value| usize::from(value) < request.values)
            };
            let table: Option<Vec<u8>> = (0..first * second).map(value).collect();
            if let Some(table) = table.filter(|table| known.insert(table.clone())) {
                found.tables.push(table);
                found.members.push(expr);
            }
        }
        found
    }

    /// Expressions in the order of their size, each behaviour once.
    pub(super) fn bottom_up(request: &Request<'_>, operators: usize) -> Fitted {
        let [first, second] = request.extents;
        let (points, n) = (first * second, request.values as i64);
        let names = Names::new(request.names);
        let part = |expr: Expr, of: &dyn Fn(usize) -> i64| {
            (Arc::new(expr), (0..points).map(|point| of(point) as i32).collect::<Vec<i32>>())
        };
        let coordinates = [
            part(names.first(), &|p| (p % first) as i64),
            part(names.second(), &|p| (p / first) as i64),
        ];
        let numbers = [0, 1, 2, n, n - 1, first as i64, second as i64, 4, 8, 16, 3, 5];
        let numbers = numbers.map(|number| part(Expr::Number(number), &|_| number));
        let limits = Limits { operations: &OPERATIONS, operators, most: MOST, left_heavy: false };
        let pool = Pool::new(coordinates.into_iter().chain(numbers), &limits);
        let mut fitted = Fitted { tables: TiVec::new(), members: TiVec::new() };
        let mut known: FxHashSet<u128> = FxHashSet::default();
        for member in pool.members() {
            let values = member.values.iter().map(|value| i64::from(*value));
            let fits = values.clone().all(|v| (0..n).contains(&v)) || planted!(Bug::FittedModulus);
            let table: Vec<u8> = values.map(|v| v.rem_euclid(n) as u8).collect();
            if known.insert(xform::fingerprint(&table)) {
                let expr = replaced(&member.expr, &|_| None);
                fitted.members.push(match fits {
                    true => expr,
                    false => Expr::binary(Op::Rem, expr, Expr::Number(n)),
                });
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
        for (number, table) in self.tables.iter_enumerated() {
            let within = table.iter().zip(wanted.masks).all(|(value, mask)| mask >> value & 1 == 1);
            if within && !visit(table, Recipe::Member(number)) {
                return;
            }
        }
    }

    /// The formula of a member.
    pub(super) fn formula(&self, number: MemberId) -> Expr {
        self.members[number].clone()
    }
}
