//! A hole that chooses, step by step, among values that it has chosen itself: the network of a scan or a reduction.
//!
//! The search of [`crate::synth`] chooses one statement after the other, and here all steps are chosen at once. So each
//! member of the index's family is tried as a whole. What takes part follows from it: whatever is not too much for the
//! cell that it ends in. That is not a proof that there is nothing else, so a space is never said to be empty.

use rustc_hash::FxHashMap;
use typed_index_collections::TiSlice;

use super::cells::{Slot, Virtual};
use super::hole::{Holes, Kind};
use super::node::Point;
use crate::synth::expr::Expr;
use crate::synth::family::Wanted;
use crate::synth::program::{HoleId, PointId, Program};
use crate::synth::search::Cost;
use crate::synth::term::{Fold, TermId};

/// Tables that are tried at most.
const TABLES: u64 = 1 << 17;

/// A network whose steps share their holes.
#[derive(Debug)]
pub(super) struct Staged {
    /// The holes and the terms.
    pub program: Program,
    /// The cells, each behind those that it is made of.
    pub cells: Vec<Virtual>,
    /// What cells have to hold.
    pub goals: Vec<(u32, TermId)>,
    /// The hole that is an index.
    pub index: usize,
    /// The hole that is a condition, if there is one.
    pub condition: Option<usize>,
}

/// A solution.
pub(super) struct Found {
    /// The formula of each hole.
    pub formulas: Vec<Expr>,
    /// Its cost.
    pub cost: Cost,
}

/// A set of input values that are put together, each once.
type Set = u128;

impl Staged {
    /// The number of tried tables, and the solution if there is one.
    pub(super) fn solve(self, holes: &Holes) -> (u64, Option<Found>) {
        let Some(sets) = Sets::of(&self) else { return (0, None) };
        let family = self.program.holes[HoleId::from(self.index)].family.clone();
        let masks = family.support();
        let wanted = Wanted { masks: &masks, first_differ: false, second_differ: false };
        let mut tried = 0;
        let mut found = None;
        family.each(&wanted, &mut |table, recipe| {
            tried += 1;
            if let Some(takes_part) = self.run(holes, &sets, TiSlice::from_ref(table)) {
                let condition = self.condition.map(|hole| self.conditions(hole, &takes_part));
                if condition != Some(None) {
                    found = Some((family.expression(table, &recipe), condition.flatten()));
                }
            }
            found.is_none() && tried < TABLES
        });
        let found = found.map(|(index, condition)| {
            let mut formulas = vec![Expr::Number(0); self.program.holes.len()];
            formulas[self.index] = index;
            if let (Some(hole), Some(condition)) = (self.condition, condition) {
                formulas[hole] = condition;
            }
            let steps = holes.points.iter().filter(|(hole, _)| *hole == self.index);
            let mut steps: Vec<u64> = steps.map(|(_, at)| at[1]).collect();
            steps.sort_unstable();
            steps.dedup();
            let shuffles = steps.len() as u32;
            let accumulates = if self.condition.is_some() { shuffles } else { 0 };
            Found { formulas, cost: Cost { accumulates, shuffles, ..Cost::default() } }
        });
        (tried, found)
    }

    /// Executes all steps with a table of the index; what takes part at each point of the condition, if every goal is met.
    fn run(
        &self,
        holes: &Holes,
        sets: &Sets,
        table: &TiSlice<PointId, u8>,
    ) -> Option<FxHashMap<PointId, bool>> {
        let mut holds: Vec<Option<Set>> = Vec::with_capacity(self.cells.len());
        let mut takes_part: FxHashMap<PointId, bool> = FxHashMap::default();
        for (at, cell) in self.cells.iter().enumerate() {
            let value = match cell {
                Virtual::Initial(_) => sets.initial[at],
                Virtual::Move(point, sources) => {
                    let value = table[holes.place(*point).1];
                    sources.get(usize::from(value)).and_then(|&source| holds[source as usize])
                }
                Virtual::Fold(op, slots) => {
                    let mut all: Option<Set> = Some(0);
                    for Slot { factors, guard } in slots {
                        let value = factors.first().and_then(|&factor| holds[factor as usize]);
                        let sum = all
                            .zip(value)
                            .filter(|(all, value)| op.idempotent() || all & value == 0);
                        let sum = sum.map(|(all, value)| all | value);
                        match guard {
                            None => all = sum,
                            Some(point) => {
                                let bound = sets.bounds[at] & sets.points[point];
                                let fits = sum.is_some_and(|sum| sum & !bound == 0);
                                let (_, point) = holes.place(*point);
                                if *takes_part.entry(point).or_insert(fits) {
                                    all = sum;
                                }
                            }
                        }
                    }
                    // A value outside of the goal that the cell ends in cannot be removed by later steps.
                    let whole = all?;
                    if whole & !sets.bounds[at] != 0 {
                        return None;
                    }
                    all
                }
            };
            holds.push(value);
        }
        let met = self
            .goals
            .iter()
            .all(|&(cell, _)| holds[cell as usize] == Some(sets.bounds[cell as usize]));
        met.then_some(takes_part)
    }

    /// The formula of the condition that holds where it has to and nowhere else among the points that are asked for.
    fn conditions(&self, hole: usize, takes_part: &FxHashMap<PointId, bool>) -> Option<Expr> {
        let hole = &self.program.holes[HoleId::from(hole)];
        let mut masks = hole.family.support();
        for (point, mask) in masks.iter_mut().enumerate() {
            if let Some(&holds) = takes_part.get(&point.into()) {
                *mask &= 1 << u32::from(holds);
            }
        }
        let wanted = Wanted { masks: &masks, first_differ: false, second_differ: false };
        let mut found = None;
        hole.family.each(&wanted, &mut |table, recipe| {
            found = Some(hole.family.expression(table, &recipe));
            false
        });
        found
    }
}

/// The values as sets.
struct Sets {
    /// The value of each input cell.
    initial: Vec<Option<Set>>,
    /// For each cell the required contents of the goal that all of it ends in; everything, if there is none.
    bounds: Vec<Set>,
    /// The same for the slots that take part at a point of the condition.
    points: FxHashMap<Point, Set>,
}

impl Sets {
    /// None if there are products, values that take part twice, or too many of them.
    fn of(staged: &Staged) -> Option<Sets> {
        let mut numbers: FxHashMap<TermId, u32> = FxHashMap::default();
        let mut operator: Option<Fold> = None;
        for cell in &staged.cells {
            if let Virtual::Fold(op, slots) = cell {
                let plain = slots.iter().all(|slot| slot.factors.len() == 1);
                if *operator.get_or_insert(*op) != *op || !plain || *op == Fold::Xor {
                    return None;
                }
            }
        }
        let operator = operator?;
        let mut bounds = vec![Set::MAX; staged.cells.len()];
        for &(cell, term) in &staged.goals {
            let mut set: Set = 0;
            for value in staged.program.terms.values(operator, term) {
                let next = numbers.len() as u32;
                let number = *numbers.entry(value).or_insert(next);
                let bit = 1u128.checked_shl(number).filter(|bit| set & bit == 0)?;
                set |= bit;
            }
            bounds[cell as usize] = set;
        }
        for at in (0..staged.cells.len()).rev() {
            if let (Virtual::Fold(_, slots), true) = (&staged.cells[at], bounds[at] != Set::MAX) {
                for slot in slots.iter().filter(|slot| slot.guard.is_none()) {
                    let factor = slot.factors[0] as usize;
                    bounds[factor] &= bounds[at];
                }
            }
        }
        let mut points: FxHashMap<Point, Set> = FxHashMap::default();
        for (cell, &bound) in staged.cells.iter().zip(&bounds) {
            let Virtual::Fold(_, slots) = cell else { continue };
            for point in slots.iter().filter_map(|slot| slot.guard) {
                *points.entry(point).or_insert(Set::MAX) &= bound;
            }
        }
        let initial = staged.cells.iter().map(|cell| match cell {
            Virtual::Initial(term) => numbers.get(term).map(|number| 1 << number),
            _ => None,
        });
        let initial = initial.collect();
        Some(Sets { initial, bounds, points })
    }
}

/// The index and the condition of a network, if a kernel has nothing else.
pub(super) fn shape(holes: &Holes) -> Option<(usize, Option<usize>)> {
    let of = |kind: Kind| {
        let all = holes.holes.iter().enumerate().filter(move |(_, hole)| hole.kind == kind);
        all.map(|(number, _)| number).collect::<Vec<_>>()
    };
    match (&of(Kind::Index)[..], &of(Kind::Part)[..], &of(Kind::Condition)[..]) {
        (&[index], [], []) => Some((index, None)),
        (&[index], [], &[condition]) => Some((index, Some(condition))),
        _ => None,
    }
}
