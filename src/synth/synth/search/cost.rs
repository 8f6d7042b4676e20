//! What choices cost, and the least that choices which are not made yet can cost.

use rustc_hash::FxHashMap;
use serde::Serialize;
use typed_index_collections::TiSlice;

use super::level::Level;
use super::plan::Plan;
use crate::synth::program::{Guard, Hole, HoleId, Measure, PointId, Price, Program, Statement};

/// The cost of a solution.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Cost {
    /// Accumulates that are not statically false.
    pub accumulates: u32,
    /// Shuffles, each of one register.
    pub shuffles: u32,
    /// Loads whose index was found, each of one register.
    pub loads: u32,
    /// Selects between registers.
    pub selects: u32,
}

impl Cost {
    /// The numbers that are compared, the one that counts most first.
    pub fn key(self, order: &[Measure]) -> [u32; 5] {
        let mut key = [0; 5];
        for (at, measure) in key.iter_mut().zip(order) {
            *at = match measure {
                Measure::Accumulates => self.accumulates,
                Measure::Shuffles => self.shuffles,
                Measure::Loads => self.loads,
                Measure::Selects => self.selects,
                Measure::Instructions => {
                    self.accumulates + self.shuffles + self.loads + self.selects
                }
            };
        }
        key
    }

    /// Both together.
    pub fn plus(self, other: Cost) -> Cost {
        Cost {
            accumulates: self.accumulates + other.accumulates,
            shuffles: self.shuffles + other.shuffles,
            loads: self.loads + other.loads,
            selects: self.selects + other.selects,
        }
    }
}

/// What costs the same in every solution.
pub(super) fn fixed(program: &Program) -> Cost {
    Cost { accumulates: program.accumulates, ..Cost::default() }
}

/// For each register of a hole the lanes and, for each of them, its point. A hole whose two coordinates are one axis has
/// only the points where both are the same.
fn registers(hole: &Hole) -> impl Iterator<Item = impl Iterator<Item = (usize, PointId)> + Clone> {
    let [first, second] = hole.extents;
    let lane_at = hole.coordinates.iter().position(|name| name.starts_with("lane"));
    let (lanes, registers, registers_first) = match lane_at {
        Some(1) => (second, first, true),
        _ => (first, second, false),
    };
    let is_one_axis = matches!(&hole.coordinates[..], [a, b] if a == b);
    let (lanes, registers) = match (is_one_axis, lane_at) {
        (false, _) => (lanes, registers),
        (true, Some(_)) => (first, 1),
        (true, None) => (1, first),
    };
    (0..registers).map(move |register| {
        (0..lanes).map(move |lane| match (is_one_axis, registers_first) {
            (true, _) => (lane, ((lane + register) * (first + 1)).into()),
            (false, true) => (lane, (lane * first + register).into()),
            (false, false) => (lane, (register * first + lane).into()),
        })
    })
}

/// The cost of the choice of a table for a hole.
pub(super) fn price(hole: &Hole, table: &TiSlice<PointId, u8>) -> Cost {
    let mut cost = Cost::default();
    for register in registers(hole) {
        let mut along = register.map(|(lane, point)| (lane, table[point]));
        match hole.price {
            Price::Accumulates(times) => {
                cost.accumulates += times * u32::from(along.any(|(_, value)| value == 1));
            }
            Price::Shuffles(times) => {
                let moves = along.any(|(lane, value)| lane != usize::from(value))
                    || planted!(Bug::IdentityCosts);
                cost.shuffles += times * u32::from(moves);
            }
            Price::Loads(times) => cost.loads += times,
            Price::Selects(times) => {
                let values = along.fold(0u64, |set, (_, value)| set | 1 << value);
                cost.selects += times * (values.count_ones() - 1);
            }
        }
    }
    cost
}

/// For each number of choices the least that those behind them cost together.
pub(super) fn rest(program: &Program, plan: &Plan) -> Vec<Cost> {
    let own = |level: &Level| least(&program.holes[level.hole], &plan.supports[level.hole]);
    let mut rest = vec![Cost::default()];
    // Lower bounds of the costs of the conditions of the fold whose choices are being counted, one by one.
    let mut conditions = 0;
    for (at, level) in plan.levels.iter().enumerate().rev() {
        let mut cost = own(level).plus(rest[rest.len() - 1]);
        let of_fold = matches!(program.statements[level.statement], Statement::Fold { .. });
        conditions += if of_fold { own(level).accumulates } else { 0 };
        let begins = at == 0 || plan.levels[at - 1].statement != level.statement;
        if begins && of_fold {
            // All conditions of a fold together may be known to cost more.
            let together = accumulates(program, plan, level.statement);
            cost.accumulates += together.saturating_sub(conditions);
        }
        if begins {
            conditions = 0;
        }
        rest.push(cost);
    }
    rest.reverse();
    rest
}

/// How many accumulates a fold needs at least: no product brings more than one of the values that a goal wants.
fn accumulates(program: &Program, plan: &Plan, fold: usize) -> u32 {
    // A value that is itself a fold may stand for several.
    let mut folds = program.statements.iter().zip(&plan.read);
    if folds.any(|(own, read)| *read && matches!(own, Statement::Fold { .. })) {
        return 0;
    }
    let Statement::Fold { holes, .. } = &program.statements[fold] else { return 0 };
    let times = holes.iter().map(|&hole| match program.holes[hole].price {
        Price::Accumulates(times) => times,
        _ => 0,
    });
    let times = times.min().unwrap_or(0);
    let needs = plan.sinks.iter().filter(|sink| sink.fold == Some(fold)).map(|sink| {
        let mut at_point: FxHashMap<(HoleId, PointId), u32> = FxHashMap::default();
        let mut wanted: u32 = sink.elements.iter().map(|(_, count)| count).sum();
        for slot in &sink.slots {
            match slot.guard {
                Guard::Always => wanted = wanted.saturating_sub(1),
                Guard::Hole(hole, point) => *at_point.entry((hole, point)).or_default() += 1,
            }
        }
        // Every point of a hole may let in several products.
        wanted.div_ceil(at_point.into_values().max().unwrap_or(1))
    });
    needs.max().unwrap_or(0) * times
}

/// The least that a choice for a hole can cost if each point has one of the values of its mask.
fn least(hole: &Hole, masks: &TiSlice<PointId, u64>) -> Cost {
    let mut cost = Cost::default();
    for register in registers(hole) {
        let mut along = register.map(|(lane, point)| (lane, masks[point]));
        match hole.price {
            Price::Accumulates(times) => {
                cost.accumulates += times * u32::from(along.any(|(_, mask)| mask & 1 == 0));
            }
            Price::Shuffles(times) => {
                let stays = |lane: usize, mask: u64| lane < 64 && mask >> lane & 1 == 1;
                cost.shuffles += times * u32::from(along.any(|(lane, mask)| !stays(lane, mask)));
            }
            Price::Loads(times) => cost.loads += times,
            Price::Selects(times) => {
                // Where no value is possible in all lanes there are two different ones.
                let common = along.fold(u64::MAX, |common, (_, mask)| common & mask);
                cost.selects += times * u32::from(common == 0);
            }
        }
    }
    cost
}
