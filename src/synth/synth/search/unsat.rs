//! Why a space is empty, from the attempt that came farthest.

use super::plan::Plan;
use super::worker::{Reason, Worker};
use crate::synth::program::{HoleId, Program, Table};
use crate::synth::term::TermId;

/// The most points that are told.
const MAX_NEEDED: usize = 4;

/// The reason that a search has no solution: the obstacle of the attempt that came farthest (of several equal ones the first).
#[derive(Clone, Debug)]
pub enum Unsat {
    /// A goal's value cannot come through the statement of this hole.
    Demand {
        /// The hole that would have to let it through.
        hole: HoleId,
        /// The value.
        term: TermId,
        /// The number of the goal.
        goal: usize,
    },
    /// More values have to come through a statement than it has cells.
    Crowded {
        /// The hole.
        hole: HoleId,
        /// How many values.
        values: usize,
        /// How many cells.
        cells: usize,
        /// A goal that wants one of them.
        goal: usize,
    },
    /// The family has no member with the required values.
    NoMember {
        /// The hole.
        hole: HoleId,
        /// Some of the points that may not have all values: the point, and a bit for each value that the goals allow.
        needed: Vec<(usize, u64)>,
    },
    /// A goal is not met, whatever is chosen.
    Goal {
        /// Its number.
        goal: usize,
    },
}

/// Why an attempt ended where it did.
pub(super) fn unsat(program: &Program, plan: &Plan, deepest: &[Table]) -> Unsat {
    let mut worker = Worker::new(program, plan);
    if let Err(Reason::Sink(sink, _)) = worker.begin() {
        return Unsat::Goal { goal: plan.sinks[sink].goal };
    }
    let mut last = None;
    for (level, table) in plan.levels.iter().zip(deepest) {
        last = Some(level.hole);
        if worker.choose(level, table).is_err() {
            return Unsat::NoMember { hole: level.hole, needed: Vec::new() };
        }
    }
    let at = deepest.len();
    let Some(level) = plan.levels.get(at) else {
        return Unsat::NoMember { hole: last.unwrap_or(HoleId(0)), needed: Vec::new() };
    };
    let hole = level.hole;
    match worker.masks(at) {
        Err(Reason::Demand(number)) => {
            let demand = &level.demands[number];
            let goal = plan.sinks[demand.sink].goal;
            Unsat::Demand { hole, term: demand.term, goal }
        }
        Err(Reason::Sink(sink, term)) => Unsat::Demand { hole, term, goal: plan.sinks[sink].goal },
        Err(Reason::Crowded) => match level.crowded {
            Some((values, cells, sink)) => {
                Unsat::Crowded { hole, values, cells, goal: plan.sinks[sink].goal }
            }
            None => Unsat::NoMember { hole, needed: Vec::new() },
        },
        Err(Reason::Overlap) => Unsat::NoMember { hole, needed: Vec::new() },
        Ok(masks) => {
            let support = program.holes[hole].family.support();
            let narrowed = masks.iter().zip(&support).enumerate();
            let narrowed = narrowed.filter(|(_, (mask, support))| mask != support);
            let needed = narrowed.map(|(point, (&mask, _))| (point, mask)).take(MAX_NEEDED);
            Unsat::NoMember { hole, needed: needed.collect() }
        }
    }
}
