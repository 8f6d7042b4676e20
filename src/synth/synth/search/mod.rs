//! The search for tables: choice by choice, in the order of the text. Before each choice the masks of the hole's
//! points are narrowed to the values that the goals allow; the family enumerates the remaining tables.
//!
//! The members of the first hole are dealt to threads in batches, and the results are joined in the members' order, so
//! that neither solutions nor counts depend on the number of threads. Budgets are counts.

mod bits;
mod chains;
mod conditions;
mod cost;
mod level;
mod plan;
mod sets;
mod supports;
mod unsat;
mod worker;

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use crate::parallel;

use super::family::{Recipe, Wanted};
use super::program::{HoleId, PointId, Program, Table};
pub use cost::Cost;
use cost::{fixed, price, rest};
pub use plan::MOST_PLANNED;
use plan::Plan;
use typed_index_collections::{TiSlice, TiVec};
pub use unsat::Unsat;
use worker::Worker;

/// The kind of search.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Mode {
    /// The first solution.
    First,
    /// The cheapest one; the first of them.
    #[default]
    Cheapest,
    /// All of them.
    All,
    /// How many there are.
    Count,
}

/// Bounds and wishes.
#[derive(Clone, Copy, Debug)]
pub struct Limits<'a> {
    /// The kind of search.
    pub mode: Mode,
    /// How many tables are tried at most.
    pub tables: u64,
    /// How many solutions are kept at most.
    pub solutions: usize,
    /// Becomes true when the search shall end with the solutions so far.
    pub stop: Option<&'a AtomicBool>,
    /// Is told how far the search is.
    pub progress: Option<&'a Progress>,
}

/// How far a search is.
#[derive(Debug, Default)]
pub struct Progress {
    /// Tables that were tried.
    pub tried: AtomicU64,
    /// Solutions that were seen.
    pub found: AtomicU64,
}

/// A choice for every hole.
#[derive(Clone, Debug)]
pub struct Solution {
    /// The table of each hole.
    pub tables: TiVec<HoleId, Table>,
    /// How each was made.
    pub recipes: TiVec<HoleId, Recipe>,
    /// Its cost.
    pub cost: Cost,
}

/// The outcome of the search.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// The solutions that were asked for, in the order of enumeration; the cheapest alone, if that was asked for.
    pub solutions: Vec<Solution>,
    /// How many solutions were seen.
    pub count: u64,
    /// Whether every solution was seen, or in the mode `Cheapest` excluded by its cost.
    pub exhaustive: bool,
    /// Whether a bound ended the search.
    pub exhausted_budget: bool,
    /// Whether that is the bound of the plan, so that nothing was tried.
    pub too_large: bool,
    /// How many tables were tried.
    pub tried: u64,
    /// Why there is none.
    pub unsat: Option<Unsat>,
}

/// After how many tables progress is told.
const TOLD: u64 = 256;

/// How many members of the first hole make one batch.
const BATCH: usize = 256;

/// The part of the search behind one member of the first hole.
#[derive(Default)]
struct Branch {
    solutions: Vec<Solution>,
    count: u64,
    tried: u64,
    /// The most choices that could be made, with their tables.
    deepest: Option<Vec<Table>>,
    over: bool,
}

struct Search<'s> {
    program: &'s Program,
    plan: &'s Plan,
    limits: &'s Limits<'s>,
    workers: Mutex<Vec<Worker<'s>>>,
    /// For each number of choices the least that those behind them cost together.
    rest: Vec<Cost>,
}

impl<'s> Search<'s> {
    /// Continues the search behind the choices of a worker; false ends the enumeration.
    fn descend(
        &self,
        worker: &mut Worker<'s>,
        at: usize,
        chosen: &mut Vec<(Table, Recipe)>,
        cost: Cost,
        bound: &mut Option<Cost>,
        branch: &mut Branch,
    ) -> bool {
        if branch.deepest.as_ref().is_none_or(|deepest| deepest.len() < chosen.len()) {
            branch.deepest = Some(chosen.iter().map(|(table, _)| table.clone()).collect());
        }
        let Some(level) = self.plan.levels.get(at) else {
            branch.count += 1;
            if let Some(progress) = self.limits.progress {
                progress.found.fetch_add(1, Ordering::Relaxed);
            }
            let keep = match self.limits.mode {
                Mode::First => branch.solutions.is_empty(),
                Mode::Cheapest => {
                    branch.solutions.clear();
                    *bound = Some(cost);
                    true
                }
                Mode::All => branch.solutions.len() < self.limits.solutions,
                Mode::Count => false,
            };
            if keep {
                let (tables, recipes) = chosen.iter().cloned().unzip();
                branch.solutions.push(Solution { tables, recipes, cost });
            }
            return self.limits.mode != Mode::First && !self.least(*bound);
        };
        let Ok(masks) = worker.masks(at) else { return true };
        let hole = &self.program.holes[level.hole];
        let wanted = Wanted {
            masks: &masks.raw,
            first_differ: level.first_differ,
            second_differ: level.second_differ,
        };
        let mut go_on = true;
        hole.family.each(&wanted, &mut |table, recipe| {
            let table = TiSlice::<PointId, u8>::from_ref(table);
            branch.tried += 1;
            if let Some(progress) = self.limits.progress
                && branch.tried.is_multiple_of(TOLD)
            {
                progress.tried.fetch_add(TOLD, Ordering::Relaxed);
            }
            if branch.tried > self.limits.tables || self.stopped() {
                branch.over = true;
                go_on = false;
                return false;
            }
            let cost = cost.plus(price(hole, table));
            if self.too_dear(cost.plus(self.rest[at + 1]), *bound) {
                return true;
            }
            if worker.choose(level, table).is_ok() {
                chosen.push((table.to_vec(), recipe));
                go_on = self.descend(worker, at + 1, chosen, cost, bound, branch);
                chosen.pop();
            }
            go_on
        });
        go_on
    }

    /// Whether nothing is cheaper than this cost, so that nothing else need be looked at.
    fn least(&self, bound: Option<Cost>) -> bool {
        let order = &self.program.order;
        self.limits.mode == Mode::Cheapest
            && bound.is_some_and(|bound| {
                fixed(self.program).plus(self.rest[0]).key(order) == bound.key(order)
            })
            && !planted!(Bug::DearerKept)
    }

    /// Whether what costs at least this much cannot be better than the best.
    fn too_dear(&self, cost: Cost, bound: Option<Cost>) -> bool {
        let order = &self.program.order;
        self.limits.mode == Mode::Cheapest
            && bound.is_some_and(|bound| {
                cost.key(order) > bound.key(order)
                    || cost.key(order) == bound.key(order) && !planted!(Bug::DearerKept)
            })
    }

    fn stopped(&self) -> bool {
        self.limits.stop.is_some_and(|stop| stop.load(Ordering::Relaxed))
    }

    /// A thread's state: one that is free, or a new one.
    fn worker(&self) -> Worker<'s> {
        let free = self.workers.lock().ok().and_then(|mut workers| workers.pop());
        free.unwrap_or_else(|| {
            let mut worker = Worker::new(self.program, self.plan);
            // Whether the goals without choices are met was seen before.
            let _ = worker.begin();
            worker
        })
    }

    /// Everything behind one member of the first hole.
    fn branch(
        &self,
        table: &TiSlice<PointId, u8>,
        recipe: &Recipe,
        mut bound: Option<Cost>,
    ) -> Branch {
        let mut branch = Branch { tried: 1, ..Branch::default() };
        let level = &self.plan.levels[0];
        let hole = &self.program.holes[level.hole];
        let cost = fixed(self.program).plus(price(hole, table));
        if self.stopped() {
            branch.over = true;
        }
        if branch.over || self.too_dear(cost.plus(self.rest[1]), bound) {
            return branch;
        }
        let mut worker = self.worker();
        let mut chosen = vec![(table.to_vec(), recipe.clone())];
        if worker.choose(level, table).is_ok() {
            self.descend(&mut worker, 1, &mut chosen, cost, &mut bound, &mut branch);
        }
        if let Ok(mut workers) = self.workers.lock() {
            workers.push(worker);
        }
        branch
    }

    /// Whether the solutions of a branch make the branches behind it unnecessary.
    fn ends(&self, branch: &Branch) -> bool {
        match self.limits.mode {
            Mode::First => branch.count > 0,
            Mode::Cheapest => self.least(branch.solutions.last().map(|found| found.cost)),
            Mode::All | Mode::Count => false,
        }
    }

    /// Deals a batch to threads and joins their results; false ends the search.
    fn batch(
        &self,
        members: &mut Vec<(Table, Recipe)>,
        found: &mut Found,
        best: &mut Best,
    ) -> bool {
        let first = AtomicUsize::new(usize::MAX);
        let bound = best.bound;
        let branches = parallel::map(0..members.len(), |number| {
            // Branches behind the solution that ends the search are skipped.
            if first.load(Ordering::Relaxed) < number {
                return Branch::default();
            }
            let (table, recipe) = &members[number];
            let branch = self.branch(table, recipe, bound);
            if let Some(progress) = self.limits.progress {
                progress.tried.fetch_add(branch.tried % TOLD, Ordering::Relaxed);
            }
            if self.ends(&branch) {
                first.fetch_min(number, Ordering::Relaxed);
            }
            branch
        });
        members.clear();
        for branch in branches {
            found.tried += branch.tried;
            found.count += branch.count;
            let ends = self.ends(&branch);
            if let Some(deepest) = branch.deepest
                && best.deepest.as_ref().is_none_or(|known| known.len() < deepest.len())
            {
                best.deepest = Some(deepest);
            }
            for solution in branch.solutions {
                match self.limits.mode {
                    Mode::Cheapest => {
                        let order = &self.program.order;
                        let key = solution.cost.key(order);
                        if best.bound.is_none_or(|bound| key < bound.key(order)) {
                            best.bound = Some(solution.cost);
                            found.solutions = vec![solution];
                        }
                    }
                    _ if found.solutions.len() < self.limits.solutions => {
                        found.solutions.push(solution);
                    }
                    // Counted, but not kept.
                    _ => {}
                }
            }
            if branch.over || found.tried > self.limits.tables {
                found.exhausted_budget = true;
                return false;
            }
            if ends {
                return false;
            }
        }
        true
    }
}

/// The best so far.
#[derive(Default)]
struct Best {
    bound: Option<Cost>,
    deepest: Option<Vec<Table>>,
}

/// Searches. `program` gains terms.
pub fn search(program: &mut Program, limits: &Limits<'_>) -> Found {
    let plan = Plan::new(program);
    if plan.too_large {
        return Found { exhausted_budget: true, too_large: true, ..Found::default() };
    }
    let program = &*program;
    let (workers, rest) = (Mutex::new(Vec::new()), rest(program, &plan));
    let search = Search { program, plan: &plan, limits, workers, rest };
    let mut found = Found::default();
    let mut best = Best::default();
    let mut worker = Worker::new(program, &plan);
    let begun = worker.begin();
    if let (Ok(()), Some(level)) = (begun, plan.levels.first()) {
        best.deepest = Some(Vec::new());
        if let Ok(masks) = worker.masks(0) {
            let wanted = Wanted {
                masks: &masks.raw,
                first_differ: level.first_differ,
                second_differ: level.second_differ,
            };
            let mut members = Vec::new();
            let mut go_on = true;
            program.holes[level.hole].family.each(&wanted, &mut |table, recipe| {
                members.push((Table::from(table.to_vec()), recipe));
                if members.len() == BATCH {
                    go_on = search.batch(&mut members, &mut found, &mut best);
                }
                go_on
            });
            if go_on && !planted!(Bug::LastBatchLost) {
                search.batch(&mut members, &mut found, &mut best);
            }
        }
    } else if begun.is_ok() {
        // Without holes the sketch is its own solution.
        let (tables, recipes) = (TiVec::new(), TiVec::new());
        found.solutions.push(Solution { tables, recipes, cost: fixed(program) });
        found.count = 1;
    }
    let ended = limits.mode == Mode::First && found.count > 0;
    found.exhaustive = !ended && !found.exhausted_budget;
    if found.count == 0 && !found.exhausted_budget {
        found.unsat =
            Some(unsat::unsat(program, &plan, best.deepest.as_deref().unwrap_or_default()));
    }
    found
}
