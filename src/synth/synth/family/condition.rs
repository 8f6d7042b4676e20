//! `cond`: `v cmp (I + w)` and `v cmp (I - w)` of the two coordinates, the same with multiples of the second one
//! (`v cmp (I + m * w)`), `v cmp I` of one, and what always or never holds. `part`: `if cond then 0 elif cond then 1 ... else n - 1`, found condition by condition.

use rustc_hash::FxHashSet;
use std::sync::Arc;
use typed_index_collections::TiVec;

use super::formula::{Names, add, mul};
use super::request::{MemberId, Recipe, Request, Visit, Wanted};
use crate::synth::expr::{Cmp, Expr, Op};

/// One condition.
#[derive(Clone, Copy, Debug)]
enum Condition {
    /// Always or never.
    Constant(bool),
    /// The first coordinate, or the second if `swap`, against `constant + factor * other`.
    Compare { swap: bool, cmp: Cmp, constant: i64, factor: i64 },
}

/// The smallest space in which conditions compare with multiples of the second coordinate.
pub const WITH_MULTIPLES: u8 = 4;

/// The largest multiple of the second coordinate that the first one is compared with.
const MAX_FACTOR: i64 = 32;

/// All conditions of a hole, each set of points once.
#[derive(Clone, Debug)]
pub(super) struct Conditions {
    members: TiVec<MemberId, Condition>,
    /// The points where each holds, as bits.
    sets: TiVec<MemberId, Vec<u64>>,
    points: usize,
}

/// Whether a set has a point.
fn has(set: &[u64], point: usize) -> bool {
    set[point / 64] >> (point % 64) & 1 == 1
}

impl Conditions {
    /// The conditions of a hole; with `given` only these constants and their negatives.
    pub(super) fn new(request: &Request<'_>, given: &[i64]) -> Conditions {
        let [first, second] = request.extents;
        let mut constants: Vec<i64> = match (request.space, given) {
            (1, _) => vec![0],
            (_, []) => vec![0, 1, -1, 32, -32],
            (_, given) => given.iter().flat_map(|&c| [c, -c]).collect(),
        };
        let mut known = FxHashSet::default();
        constants.retain(|c| known.insert(*c));
        if planted!(Bug::NoConstants) {
            constants.retain(|c| *c == 0);
        }
        let mut candidates = vec![Condition::Constant(true), Condition::Constant(false)];
        for &constant in &constants {
            for factor in [1, -1, 0] {
                for swap in [false, true] {
                    for cmp in Cmp::ALL {
                        candidates.push(Condition::Compare { swap, cmp, constant, factor });
                    }
                }
            }
        }
        // Multiples come behind: each is a multiplication more, and they are as many as all others in every hole. Beyond the
        // first coordinate all are alike.
        let has_multiples = second > 1 && request.space >= WITH_MULTIPLES;
        let most = if has_multiples { MAX_FACTOR.min(first as i64) } else { 1 };
        for factor in (2..=most).flat_map(|factor| [factor, -factor]) {
            for &constant in &constants {
                for cmp in Cmp::ALL {
                    candidates.push(Condition::Compare { swap: false, cmp, constant, factor });
                }
            }
        }
        let points = first * second;
        let mut found = Conditions { members: TiVec::new(), sets: TiVec::new(), points };
        let mut known = FxHashSet::default();
        for condition in candidates {
            let mut set = vec![0u64; points.div_ceil(64)];
            for point in 0..points {
                let (i, k) = ((point % first) as i64, (point / first) as i64);
                let holds = match &condition {
                    Condition::Constant(holds) => *holds,
                    Condition::Compare { swap, cmp, constant, factor } => {
                        let (v, w) = if *swap { (k, i) } else { (i, k) };
                        cmp.holds(v, constant + factor * w)
                    }
                };
                set[point / 64] |= u64::from(holds) << (point % 64);
            }
            if known.insert(set.clone()) {
                found.members.push(condition);
                found.sets.push(set);
            }
        }
        found
    }

    /// Which of the values 0 and 1 there are at each point.
    pub(super) fn support(&self, points: usize) -> Vec<u64> {
        (0..points)
            .map(|point| {
                self.sets.iter().fold(0, |mask, set| mask | 1 << u8::from(has(set, point)))
            })
            .collect()
    }

    /// Calls `visit` for each condition within the masks.
    pub(super) fn each(&self, wanted: &Wanted<'_>, visit: &mut Visit<'_>) {
        let mut table = vec![0u8; self.points];
        for (number, set) in self.sets.iter_enumerated() {
            let within = wanted.masks.iter().enumerate().all(|(point, mask)| {
                table[point] = u8::from(has(set, point));
                mask >> table[point] & 1 == 1
            });
            if within && !visit(&table, Recipe::Member(number)) {
                return;
            }
        }
    }

    /// Calls `visit` for each choice among `ways` values within the masks.
    pub(super) fn each_part(&self, ways: usize, wanted: &Wanted<'_>, visit: &mut Visit<'_>) {
        let mut rest = vec![0u64; self.points.div_ceil(64)];
        (0..self.points).for_each(|point| rest[point / 64] |= 1 << (point % 64));
        let mut table = vec![0u8; self.points];
        self.part(0, ways, &rest, wanted, &mut table, &mut Vec::new(), visit);
    }

    #[expect(clippy::too_many_arguments, reason = "the state of one recursion")]
    fn part(
        &self,
        value: usize,
        ways: usize,
        rest: &[u64],
        wanted: &Wanted<'_>,
        table: &mut [u8],
        path: &mut Vec<MemberId>,
        visit: &mut Visit<'_>,
    ) -> bool {
        let words = rest.len();
        // Points that must not, and that must, have this value.
        let mut excluded = vec![0u64; words];
        let mut forced = vec![0u64; words];
        for (point, mask) in wanted.masks.iter().enumerate().filter(|(p, _)| has(rest, *p)) {
            let bit = 1 << (point % 64);
            if mask >> value & 1 == 0 {
                excluded[point / 64] |= bit;
            } else if mask >> value == 1 {
                forced[point / 64] |= bit;
            }
        }
        let write = |table: &mut [u8], set: &[u64]| {
            (0..table.len()).filter(|&p| has(set, p)).for_each(|p| table[p] = value as u8);
        };
        if value + 1 == ways {
            if excluded.iter().any(|&word| word != 0) {
                return true;
            }
            write(table, rest);
            return visit(table, Recipe::Part(path.clone()));
        }
        let mut known = FxHashSet::default();
        for (number, set) in self.sets.iter_enumerated() {
            let taken: Vec<u64> = set.iter().zip(rest).map(|(a, b)| a & b).collect();
            let fits =
                (0..words).all(|w| taken[w] & excluded[w] == 0 && forced[w] & !taken[w] == 0);
            if !fits || !known.insert(taken.clone()) {
                continue;
            }
            let left: Vec<u64> = rest.iter().zip(&taken).map(|(a, b)| a & !b).collect();
            write(table, &taken);
            path.push(number);
            let go_on = self.part(value + 1, ways, &left, wanted, table, path, visit);
            path.pop();
            if !go_on {
                return false;
            }
        }
        true
    }

    /// The formula of a condition.
    pub(super) fn formula(&self, number: MemberId, names: &Names) -> Expr {
        match self.members[number] {
            Condition::Constant(holds) => Expr::Number(i64::from(holds)),
            Condition::Compare { swap, cmp, constant, factor } => {
                let (v, w) = match swap {
                    false => (names.first(), names.second()),
                    true => (names.second(), names.first()),
                };
                let w = if factor.abs() > 1 { mul(w, factor.abs()) } else { w };
                let right = match (factor, constant) {
                    (0, c) => Expr::Number(c),
                    (1.., c) => add(w, Expr::Number(c)),
                    (_, c) if planted!(Bug::ConditionFormula) => add(w, Expr::Number(c)),
                    (_, c) => Expr::binary(Op::Sub, Expr::Number(c), w),
                };
                Expr::Compare(cmp, Arc::new(v), Arc::new(right))
            }
        }
    }

    /// The formula of a choice.
    pub(super) fn part_formula(&self, numbers: &[MemberId], names: &Names) -> Expr {
        let last = Expr::Number(numbers.len() as i64);
        let numbered = |value: usize| match planted!(Bug::PartFormula) {
            true => numbers.len() - value,
            false => value,
        };
        numbers.iter().enumerate().rev().fold(last, |rest, (value, &number)| {
            let condition = self.formula(number, names);
            let value = Expr::Number(numbered(value) as i64);
            Expr::Choose(Arc::new(condition), Arc::new(value), Arc::new(rest))
        })
    }
}
