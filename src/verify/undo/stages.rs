//! One thread that stands for all, from barrier to barrier.
//!
//! Its number is unknown, and so are the values that it loads. If it does the same in two programs up to a barrier, all threads do, and
//! memory is the same there, whatever it holds.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use super::threads::{At, Block};
use super::values::Action;
use crate::cfg::RegisterId;
use crate::expr::TermId;

/// The state of the thread behind a barrier, or at the end.
pub(super) struct Stage {
    pub at: At,
    pub registers: FxHashMap<RegisterId, TermId>,
    /// How many actions, and how many loads, stand before it.
    done: (usize, usize),
}

/// All stages up to where the evaluation ends or gives up; the first one is the start.
pub(super) struct Stages {
    pub all: Vec<Stage>,
    actions: Vec<Action>,
    loads: Vec<(String, Vec<TermId>)>,
    /// The registers whose values at the start decide.
    pub inherited: BTreeSet<RegisterId>,
    /// Whether something depends on the rows which are unknown.
    pub asks_for_rows: bool,
    /// Whether the first threads of two rows race.
    pub rows_race: bool,
}

impl Stages {
    /// Evaluates the thread; `live`: the registers that count at the end.
    pub(super) fn of(mut block: Block<'_, '_, '_, '_>, live: &[RegisterId]) -> Stages {
        let mut all = Vec::new();
        loop {
            let at = block.at[0];
            if at == At::Done && live.iter().any(|one| block.value(0, *one).is_none()) {
                break;
            }
            let done = (block.actions[0].len(), block.loads.len());
            all.push(Stage { at, registers: block.registers[0].clone(), done });
            if at == At::Done || block.phase().and_then(|()| block.barrier()).is_none() {
                break;
            }
        }
        let Block { loads, inherited, rows_race, asks_for_rows, mut actions, .. } = block;
        let actions = actions.swap_remove(0);
        Stages { all, actions, loads, inherited, asks_for_rows, rows_race }
    }

    /// The last stage up to which another program does the same, and loads nothing else.
    pub(super) fn common(&self, other: &Stages) -> usize {
        let is_same = |at: &usize| {
            let [from, to, other_from, other_to] =
                [&self.all[at - 1], &self.all[*at], &other.all[at - 1], &other.all[*at]];
            let mut own = self.actions[from.done.0..to.done.0].iter();
            let mut others = other.actions[other_from.done.0..other_to.done.0].iter();
            let loads = &self.loads[from.done.1..to.done.1];
            let mut other_loads = other.loads[other_from.done.1..other_to.done.1].iter();
            (to.at == At::Done) == (other_to.at == At::Done)
                && own.by_ref().map(Action::done).eq(others.by_ref().map(Action::done))
                && other_loads.all(|load| loads.contains(load))
        };
        (1..self.all.len().min(other.all.len())).take_while(is_same).last().unwrap_or_default()
    }
}
