//! Expressions for tables: built bottom up from given parts, one for each behaviour.
//!
//! A behaviour is the list of an expression's values at *points*: a point is a lane in a round of an instance. A table
//! gives the wanted values of the first points. The other points have other numbers of lanes: they distinguish
//! expressions that agree on the first ones by chance.

use std::cmp::Ordering;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::problem::{Hole, Kind, Network};
use super::run::{Instance, NONE, Names};
use crate::synth::enumerate::{self, Limits, Member};
use crate::synth::expr::{Cmp, Expr, Op};

/// The operators of sources.
const OPERATORS: usize = 3;

/// How many behaviours there are at most.
const MOST: usize = 60_000;

/// How many conditions are kept that hold wherever they have to, and somewhere else.
const MOST_WIDER: usize = 1500;

/// How many conditions a step has at most.
const MOST_CONDITIONS: usize = 3;

/// How many of these are kept that hold at the same points.
const MOST_ALIKE: usize = 3;

/// The most that the conditions of one step cost together.
const MOST_COST: usize = 9;

/// The most operators of both sides of a comparison.
const MOST_COMPARED: usize = 3;

/// The points of a hole: its rounds in each instance, lane by lane.
fn leaf(network: &Network, hole: &Hole, instances: &[Instance], expr: &Expr) -> Option<Vec<i32>> {
    let mut values = Vec::new();
    for instance in instances {
        let mut names = Names::new(network, instance);
        let mut rounds = network.rounds(&names.params)?;
        rounds.retain(|round| round.0 == hole.repeat);
        if hole.kind == Kind::Initial {
            rounds = vec![(usize::MAX, 0)];
        }
        for (number, value) in rounds {
            if let Some(repeat) = network.repeats.get(number) {
                names.round = (&repeat.variable, value);
            }
            let column = names.column(expr);
            for lane in 0..instance.lanes {
                let value = column.at(lane);
                values.push(i32::try_from(value).ok().filter(|_| value != NONE)?);
            }
        }
    }
    Some(values)
}

/// The expressions of a hole.
#[derive(Clone, Debug)]
pub(super) struct Pool(pub enumerate::Pool);

impl Pool {
    /// The expressions of a hole.
    pub(super) fn new(
        network: &Network,
        hole: &Hole,
        instances: &[Instance],
        operators: usize,
    ) -> Pool {
        let numbers = [1, 2, 0].map(|number| Arc::new(Expr::Number(number)));
        let parts = hole.leaves.iter().cloned().chain(numbers);
        let parts =
            parts.filter_map(|expr| Some((expr.clone(), leaf(network, hole, instances, &expr)?)));
        let mut operations = vec![Op::Add, Op::Sub, Op::Mul, Op::Div, Op::Rem];
        // The bits of powers of other numbers have no meaning.
        if hole.leaves.iter().all(|leaf| is_binary(leaf)) {
            operations.extend([Op::Xor, Op::And]);
        }
        let limits = Limits { operations: &operations, operators, most: MOST, left_heavy: true };
        Pool(enumerate::Pool::new(parts, &limits))
    }

    /// The expressions that have the values of a table where it wants some.
    pub(super) fn with_values(&self, wanted: &[Option<i32>], most: usize) -> Vec<Arc<Expr>> {
        let fits = |member: &&Member| {
            wanted.iter().zip(&*member.values).all(|(w, v)| w.is_none_or(|wanted| wanted == *v))
        };
        self.0.members().filter(fits).map(|member| member.expr.clone()).take(most).collect()
    }

    /// Lists of conditions that all have to hold, with the values of a table where it wants some; the cheapest first.
    pub(super) fn conditions(&self, wanted: &[Option<bool>], most: usize) -> Vec<Vec<Expr>> {
        let points = |holds: bool| -> Vec<usize> {
            (0..wanted.len()).filter(|&point| wanted[point] == Some(holds)).collect()
        };
        let (on, off) = (points(true), points(false));
        if off.is_empty() {
            return vec![Vec::new()];
        }
        let mut wider: Vec<Wider> = Vec::new();
        let mut known: FxHashMap<Vec<u64>, usize> = FxHashMap::default();
        let mut exact = 0;
        self.comparisons(&on, &mut |cmp, a, b| {
            let holds =
                |point: &usize| cmp.holds(i64::from(a.values[*point]), i64::from(b.values[*point]));
            // Once the list is full, only a condition that suffices alone is taken: mostly the first point decides.
            if wider.len() >= MOST_WIDER && off.iter().any(holds) {
                return true;
            }
            let mut set = vec![0u64; off.len().div_ceil(64)];
            for (at, _) in off.iter().enumerate().filter(|(_, point)| holds(point)) {
                set[at / 64] |= 1 << (at % 64);
            }
            let alone = set.iter().all(|word| *word == 0);
            exact += usize::from(alone);
            let alike = known.entry(set.clone()).or_default();
            *alike += 1;
            if alone || *alike <= MOST_ALIKE && wider.len() < MOST_WIDER {
                let expr = Expr::Compare(cmp, a.expr.clone(), b.expr.clone());
                wider.push(Wider { cost: cost(&expr), expr, set });
            }
            exact < most
        });
        wider.sort_by_key(|wider| wider.cost);
        let mut all = vec![u64::MAX; off.len().div_ceil(64)];
        let last = all.len() - 1;
        all[last] >>= all.len() * 64 - off.len();
        let mut found = Vec::new();
        for cost in 1..=MOST_COST {
            several(&wider, (MOST_CONDITIONS, cost), &all, &mut Vec::new(), &mut found, most);
        }
        found
    }

    /// Calls `visit` for each comparison that holds at the points `on`, those with few operators first, until it returns
    /// false.
    fn comparisons(&self, on: &[usize], visit: &mut dyn FnMut(Cmp, &Member, &Member) -> bool) {
        for size in 0..=MOST_COMPARED {
            for left in 0..=size {
                let (first, second) = (self.0.of_size(left), self.0.of_size(size - left));
                for (a, b) in enumerate::pairs(first, second) {
                    let orders = orders(on, a, b);
                    let hold = EXCLUDED.iter().filter(|(_, excluded)| orders & excluded == 0);
                    for &(cmp, _) in hold {
                        if !visit(cmp, a, b) {
                            return;
                        }
                    }
                }
            }
        }
    }
}

/// Bits of [`orders`].
const LESS: u8 = 1;
const EQUAL: u8 = 2;
const GREATER: u8 = 4;

/// The comparisons that are tried, with the orders of the operands for which they do not hold.
const EXCLUDED: [(Cmp, u8); 4] =
    [(Cmp::Eq, LESS | GREATER), (Cmp::Lt, EQUAL | GREATER), (Cmp::Ge, LESS), (Cmp::Ne, EQUAL)];

/// The orders of two members' values at the points; incomplete once no comparison of [`EXCLUDED`] is left.
fn orders(points: &[usize], a: &Member, b: &Member) -> u8 {
    let mut seen = 0;
    for &point in points {
        seen |= match a.values[point].cmp(&b.values[point]) {
            Ordering::Less => LESS,
            Ordering::Equal => EQUAL,
            Ordering::Greater => GREATER,
        };
        if EXCLUDED.iter().all(|(_, excluded)| seen & excluded != 0) {
            break;
        }
    }
    seen
}

/// A condition that holds wherever it has to.
struct Wider {
    expr: Expr,
    cost: usize,
    /// The points where it should not hold, and does.
    set: Vec<u64>,
}

/// The cost of a condition: its number of operators; unlikely ones count more.
fn cost(expr: &Expr) -> usize {
    match expr {
        Expr::Binary(Op::Pow | Op::Log, ..) | Expr::Number(_) | Expr::Name(_) => 0,
        Expr::Binary(Op::Add | Op::Sub | Op::Rem, a, b) => 1 + cost(a) + cost(b),
        Expr::Binary(_, a, b) => 2 + cost(a) + cost(b),
        Expr::Compare(_, a, b) => 1 + cost(a) + cost(b),
        Expr::Choose(a, b, c) => 1 + cost(a) + cost(b) + cost(c),
    }
}

/// Lists of at most `more` further conditions with a total cost of `budget`, such that no point of `left` meets all
/// conditions of a list.
fn several(
    wider: &[Wider],
    (more, budget): (usize, usize),
    left: &[u64],
    chosen: &mut Vec<usize>,
    found: &mut Vec<Vec<Expr>>,
    most: usize,
) {
    if left.iter().all(|word| *word == 0) {
        if budget == 0 {
            found.push(chosen.iter().map(|&at| wider[at].expr.clone()).collect());
        }
        return;
    }
    if more == 0 || budget == 0 {
        return;
    }
    // The point that the fewest conditions exclude.
    let cheap = &wider[..wider.partition_point(|wider| wider.cost <= budget)];
    let points = (0..left.len() * 64).filter(|point| left[point / 64] >> (point % 64) & 1 == 1);
    let excludes = |wider: &Wider, point: usize| wider.set[point / 64] >> (point % 64) & 1 == 0;
    let count = |point: usize| cheap.iter().filter(|wider| excludes(wider, point)).count();
    let Some(point) = points.min_by_key(|&point| count(point)) else { return };
    let last = more == 1;
    for (at, one) in cheap.iter().enumerate().filter(|(_, one)| excludes(one, point)) {
        if found.len() >= most {
            return;
        }
        if last && one.cost != budget {
            continue;
        }
        let left: Vec<u64> = left.iter().zip(&one.set).map(|(left, set)| left & set).collect();
        chosen.push(at);
        several(wider, (more - 1, budget - one.cost), &left, chosen, found, most);
        chosen.pop();
    }
}

/// Whether the powers in an expression are those of two.
fn is_binary(expr: &Expr) -> bool {
    let mut binary = true;
    expr.parts(&mut |part| {
        if let Expr::Binary(Op::Pow, base, _) = part {
            binary &= matches!(**base, Expr::Number(base) if base.count_ones() == 1);
        }
    });
    binary
}

/// How many operators the expressions of a hole have.
pub(super) fn operators(hole: &Hole) -> usize {
    let before = hole.before.iter().map(Expr::size).max().unwrap_or(0);
    match hole.kind {
        Kind::Initial => 1,
        Kind::Guard => 2,
        Kind::Source if before > 0 => OPERATORS.min(before + 1),
        Kind::Source => OPERATORS,
    }
}
