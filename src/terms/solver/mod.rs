//! The one module that knows z3: translates terms, asks, and gives three-valued answers.
//!
//! Queries run under z3's resource limit, never under a clock, so that a query which is unknown on one
//! machine is unknown on every machine. Four bounds hold: units for a query, units for all queries of
//! a function, the number of queries, and the size of a query, which costs time before z3 looks at any
//! limit. The solver is started for the first query only: most kernels need none, and starting it
//! costs more than all the rest.
//!
//! **Architecture invariant:** no other module names the z3 crate, and an unknown never becomes a yes.

mod context;
mod library;
mod names;
pub mod numbers;
mod relevance;
mod size;
mod smtlib;
mod translate;

use std::collections::VecDeque;
use std::path::PathBuf;

pub use context::{forget, session};
pub use library::{NAME as LIBRARY, is_there};
pub use names::Names;

use rustc_hash::{FxHashMap, FxHashSet};
use z3::ast::{BV, Bool};
use z3::{Config, Params, SatResult, with_z3_config};

use crate::expr::{Arena, Search, Searcher, TermId, are_contradictory, follows};
use crate::timings::Stopwatch;
use relevance::Relevance;
use translate::Translator;

/// The solver's answer about a claim.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// The claim holds whenever the assumptions do, and the assumptions can hold.
    Proved,
    /// There is a counterexample, or the assumptions contradict each other.
    Refuted,
    /// The resource limit was reached.
    Unknown,
    /// The claim was not put to z3: the budget of the function is used up.
    OverBudget,
    /// The claim was not put to z3: the query is too large.
    TooLarge,
}

/// The most queries for one kernel, unless the caller says otherwise; further claims are unknown.
const MAX_QUERIES: u32 = 256;

/// The most units of z3 for all queries of one function, unless the caller says otherwise.
pub const FUNCTION_BUDGET: u64 = 1_000_000;

/// z3's units for a function of `instructions` instructions: a unit takes about half a microsecond and
/// an assembler some twenty microseconds for an instruction, and proofs are not to take longer than
/// assembling.
pub fn budget_for(instructions: usize) -> u64 {
    10_000 + 20 * instructions as u64
}

/// The least units that a query takes from the budget, for its translation and a context of its own.
const LEAST_UNITS: u64 = 5_000;

/// Units charged for each gate of a query, before z3 counts any: making a gate takes about as long as
/// two units.
const UNITS_PER_GATE: u64 = 2;

/// The most gates of a query, by [`size::gates`].
const MAX_GATES: u64 = 120_000;

/// The most megabytes that z3 may take in this process. Queries within the other bounds stay far
/// below; beyond it a query comes back as unknown.
const MAX_MEMORY: &str = "1024";

/// Sets the limits that hold for all contexts.
fn bound_memory() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| z3::set_global_param("memory_max_size", MAX_MEMORY));
}
/// Bit-vectors and uninterpreted functions, without quantifiers.
const LOGIC: &str = "QF_UFBV";

/// z3's resource limit for a claim in which products and quotients matter: most of the claims that it
/// proves at all take little.
const MAX_EXACT: u32 = 10_000;

/// A claim of more gates is not put to z3 with its products and quotients: making the gates takes
/// long, and [`MAX_EXACT`] is spent before z3 finds anything.
const MAX_EXACT_GATES: u64 = 40_000;

/// A claim of more terms is not put to z3.
const MAX_TERMS: usize = 1_000;

/// With fewer units left than this, z3 is not started.
const MIN_LIMIT: u32 = 2_000;

/// How many paths are remembered that no search has reached. Those below a path are asked about soon behind it.
const MAX_UNREACHED: usize = 16;

/// The solver's judgement of a claim, with a witness against it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Judgement {
    /// The claim holds whenever the assumptions do. Whether these can hold at all is not asked: if
    /// they cannot, the place is never reached, and a claim about it does not matter.
    Proved,
    /// The claim does not hold; the values that the terms asked for have in a counterexample.
    Refuted(Vec<u64>),
    /// The resource limit was reached.
    Unknown,
}

/// z3's name and version.
pub fn version() -> String {
    if !is_there() {
        return format!("z3: {LIBRARY} cannot be loaded");
    }
    let version = z3::full_version();
    format!("z3 {}", version.trim_start_matches("Z3 "))
}

/// Whether the z3 that was found at run time tells true claims from false ones.
pub fn works() -> bool {
    is_there()
        && with_z3_config(&Config::new(), || {
            let x = BV::new_const("x", 32);
            let check = |claim: Bool| {
                let solver = z3::Solver::new();
                solver.assert(&claim);
                solver.check()
            };
            let square = x.bvmul(&x);
            check(square.eq(BV::from_u64(9, 32))) == SatResult::Sat
                && check(square.eq(BV::from_u64(2, 32))) == SatResult::Unsat
        })
}

/// The value of a term by z3's arithmetic for given values of the symbols: a second opinion on
/// [`crate::expr::Evaluator`] and on the translation. `None` if the term depends on an uninterpreted
/// function.
#[cfg(feature = "internals")]
pub fn value(
    arena: &Arena,
    names: &dyn Names,
    term: TermId,
    values: &dyn Fn(crate::expr::SymbolId) -> u64,
) -> Option<u64> {
    is_there().then(|| Translator::value(arena, names, term, values)).flatten()
}

/// z3's units spent in this context so far.
fn units(solver: &z3::Solver) -> u32 {
    match solver.get_statistics().value("rlimit count") {
        Some(z3::StatisticsValue::UInt(count)) => count,
        // As far as is known, every version has this number; without it each query is charged the
        // least.
        _ => 0,
    }
}

/// Puts claims to z3.
#[derive(Debug)]
pub struct Solver {
    limit: u32,
    dump: Option<PathBuf>,
    queries: u32,
    most: u32,
    /// z3's units that are left.
    units: u64,
    /// Claims that were not put to the solver because no units were left.
    unasked: u32,
    /// How hard the claims so far were to decide without being proved: 2 for each that reached the
    /// limit, 1 for each with a counterexample that no search had found.
    failures: u32,
    searcher: Searcher,
    relevance: Relevance,
    /// The last paths whose assumptions no search has fulfilled: more of them are not searched for.
    unreached: VecDeque<Vec<TermId>>,
    /// The answers so far, by claim and the assumptions that matter to it.
    answers: FxHashMap<(TermId, TermId, Vec<TermId>), Answer>,
}

impl Solver {
    /// `limit` is z3's resource limit for one query; with `dump` each query is written to that
    /// folder.
    pub fn new(limit: u32, dump: Option<PathBuf>) -> Solver {
        let (relevance, answers) = (Relevance::default(), FxHashMap::default());
        Solver {
            limit,
            dump,
            queries: 0,
            most: MAX_QUERIES,
            units: FUNCTION_BUDGET,
            unasked: 0,
            failures: 0,
            searcher: Searcher::default(),
            relevance,
            unreached: VecDeque::new(),
            answers,
        }
    }

    /// This solver, with a bound of its own on the number of queries.
    #[must_use]
    pub fn with_queries(mut self, most: u32) -> Solver {
        self.most = most;
        self
    }

    /// This solver, with a budget of its own in z3's units, for all queries together.
    #[must_use]
    pub fn with_budget(mut self, units: u64) -> Solver {
        self.units = units;
        self
    }

    /// This solver, with a budget (at most [`budget_for`]) and an effort of searches that suit a function of
    /// `instructions` instructions.
    #[must_use]
    pub fn sized(mut self, instructions: usize) -> Solver {
        self.units = self.units.min(budget_for(instructions));
        self.searcher = Searcher::for_instructions(instructions);
        self
    }

    /// How many claims were not put to the solver because the budget was used up.
    pub fn unasked(&self) -> u32 {
        self.unasked
    }

    /// z3's units that are left for further queries.
    #[cfg(feature = "internals")]
    pub fn units_left(&self) -> u64 {
        self.units
    }

    /// Whether units are left for a query and it is small enough.
    fn admit(
        &mut self,
        arena: &Arena,
        terms: impl Iterator<Item = TermId>,
        is_coarse: bool,
    ) -> Result<(), Answer> {
        if self.queries >= self.most || self.units == 0 {
            self.unasked += 1;
            return Err(Answer::OverBudget);
        }
        if !is_there() {
            return Err(Answer::Unknown);
        }
        let most = MAX_GATES.min(self.units / UNITS_PER_GATE);
        size::gates(arena, terms, most, is_coarse).ok_or(Answer::TooLarge)?;
        self.queries += 1;
        Ok(())
    }

    /// The query that was admitted last.
    fn query(&self, limit: u32) -> Query {
        let (number, units) = (self.queries, self.units);
        Query { limit, number, dump: self.dump.clone(), units }
    }

    /// How many claims have been put to the solver.
    pub fn queries(&self) -> u32 {
        self.queries
    }

    /// Whether `a = b` for all values of the symbols that satisfy the assumptions; if not, the values
    /// that the terms `wanted` have in a counterexample.
    pub fn judge(
        &mut self,
        arena: &Arena,
        names: &(dyn Names + Sync),
        (a, b): (TermId, TermId),
        assumptions: &[TermId],
        wanted: &[TermId],
    ) -> Judgement {
        if self.admit(arena, assumptions.iter().copied().chain([a, b]), false).is_err() {
            return Judgement::Unknown;
        }
        bound_memory();
        let mut query = self.query(self.limit);
        let (judgement, left) = context::within(|| {
            let judgement = query.judge(arena, names, (a, b), assumptions, wanted);
            (judgement, query.units)
        });
        self.units = left;
        judgement
    }

    /// Whether `a = b` for all values of the symbols that satisfy the assumptions.
    ///
    /// A claim that was put before is not put again, so all terms must be of one arena. Assumptions
    /// that share no symbol with the claim are left out. z3 only sees a claim for which [`Searcher::search`]
    /// finds no counterexample.
    pub fn prove_equal(
        &mut self,
        arena: &Arena,
        names: &(dyn Names + Sync),
        (a, b): (TermId, TermId),
        assumptions: &[TermId],
    ) -> Answer {
        let assumptions = self.relevance.relevant(arena, &[a, b], assumptions);
        let key = (a.min(b), a.max(b), assumptions);
        if let Some(&answer) = self.answers.get(&key) {
            return answer;
        }
        let answer = self.decide(arena, names, (a, b), &key.2);
        self.answers.insert(key, answer);
        answer
    }

    /// The value that a predicate has wherever the assumptions hold, if it is always the same one and that
    /// shows without z3; `constants` are the terms of false and true.
    pub fn known_value(
        &mut self,
        arena: &Arena,
        predicate: TermId,
        constants: [TermId; 2],
        assumptions: &[TermId],
    ) -> Option<bool> {
        let assumptions = self.relevance.relevant(arena, &[predicate], assumptions);
        if self.unreached.iter().any(|path| path.iter().all(|one| assumptions.contains(one))) {
            return None;
        }
        let found = self.searcher.search_values(arena, &assumptions, predicate, constants);
        let is_unreached = found.contains(&Search::Nothing);
        for value in [true, false] {
            let claim = (predicate, constants[usize::from(value)]);
            match found[usize::from(value)] {
                Search::Proof => return Some(value),
                Search::Agreement if follows(arena, &assumptions, claim) => return Some(value),
                // Assumptions that cannot hold would prove anything.
                _ => {}
            }
        }
        if is_unreached {
            self.unreached.truncate(MAX_UNREACHED - 1);
            self.unreached.push_front(assumptions);
        }
        None
    }

    fn decide(
        &mut self,
        arena: &Arena,
        names: &(dyn Names + Sync),
        (a, b): (TermId, TermId),
        assumptions: &[TermId],
    ) -> Answer {
        match self.searcher.search(arena, assumptions, (a, b)) {
            Search::Proof => Answer::Proved,
            Search::Counterexample | Search::Contradiction => Answer::Refuted,
            Search::Nothing if are_contradictory(arena, assumptions) => Answer::Refuted,
            Search::Agreement if follows(arena, assumptions, (a, b)) => Answer::Proved,
            found => self.ask(arena, names, (a, b), assumptions, found == Search::Agreement),
        }
    }

    /// Puts a claim to z3; `possible` says that the assumptions are known to hold for some values.
    fn ask(
        &mut self,
        arena: &Arena,
        names: &(dyn Names + Sync),
        (a, b): (TermId, TermId),
        assumptions: &[TermId],
        possible: bool,
    ) -> Answer {
        // Claims about one function are alike: if some were too hard, most others are, too.
        let limit = self.limit >> self.failures.min(31);
        if limit < MIN_LIMIT {
            self.unasked += 1;
            return Answer::OverBudget;
        }
        let roots = assumptions.iter().copied().chain([a, b]);
        if is_large(arena, roots.clone()) {
            return Answer::TooLarge;
        }
        if let Err(reason) = self.admit(arena, roots, true) {
            return reason;
        }
        bound_memory();
        let mut query = self.query(limit);
        let (answer, left) = context::within(|| {
            let answer = query.ask(arena, names, (a, b), assumptions, possible);
            (answer, query.units)
        });
        self.units = left;
        self.failures += match answer {
            Answer::Proved => 0,
            Answer::Refuted => 1,
            _ => 2,
        };
        answer
    }
}

/// Whether terms have more than [`MAX_TERMS`] parts: z3 would take long before it counts resources.
fn is_large(arena: &Arena, roots: impl Iterator<Item = TermId>) -> bool {
    let mut open: Vec<TermId> = roots.collect();
    let mut seen = FxHashSet::default();
    while let Some(term) = open.pop() {
        if seen.insert(term) {
            if seen.len() > MAX_TERMS {
                return true;
            }
            open.extend(arena.operands(term));
        }
    }
    false
}

/// One claim as it is put to z3.
struct Query {
    limit: u32,
    /// The number of the query, from 1.
    number: u32,
    dump: Option<PathBuf>,
    /// z3's units that are left.
    units: u64,
}

impl Query {
    /// Asks z3 about the claim; if it does not hold, returns the values of the terms `wanted` in the counterexample.
    fn judge(
        &mut self,
        arena: &Arena,
        names: &(dyn Names + Sync),
        (a, b): (TermId, TermId),
        assumptions: &[TermId],
        wanted: &[TermId],
    ) -> Judgement {
        let mut translator = Translator::new(arena, names);
        let mut premises: Vec<_> =
            assumptions.iter().map(|&assumption| translator.boolean(assumption)).collect();
        let differ = translator.differ(a, b);
        let wanted: Vec<_> = wanted.iter().map(|&term| translator.bits(term)).collect();
        premises.extend(translator.bounds());
        premises.push(differ);
        let solver = z3::Solver::new_for_logic(LOGIC).unwrap_or_default();
        let result = self.check(&solver, &premises, "equal", self.limit);
        let model = if result == SatResult::Sat { solver.get_model() } else { None };
        match (result, model) {
            (SatResult::Sat, Some(model)) => {
                let value = |bits: &BV| model.eval(bits, true).and_then(|value| value.as_u64());
                Judgement::Refuted(wanted.iter().map(|bits| value(bits).unwrap_or(0)).collect())
            }
            (SatResult::Unsat, _) => Judgement::Proved,
            _ => Judgement::Unknown,
        }
    }

    /// Puts the claim to z3. `satisfied` says that the assumptions are known to hold for some values.
    fn ask(
        &mut self,
        arena: &Arena,
        names: &(dyn Names + Sync),
        (a, b): (TermId, TermId),
        assumptions: &[TermId],
        satisfied: bool,
    ) -> Answer {
        // A claim that holds without looking into products and quotients is proved at once.
        let roots = assumptions.iter().copied().chain([a, b]);
        self.charge(size::gates(arena, roots.clone(), MAX_GATES, true));
        let mut coarse = Translator::coarse(arena, names);
        let (mut premises, differ) = translated(&mut coarse, (a, b), assumptions);
        let mut satisfied = satisfied;
        if !satisfied {
            // A proof from assumptions that cannot hold would prove anything.
            match self.run_query(&premises, "satisfiable", self.limit) {
                SatResult::Unsat => return Answer::Refuted,
                SatResult::Unknown => return Answer::Unknown,
                SatResult::Sat => satisfied = !coarse.was_coarse(),
            }
        }
        premises.push(differ);
        let proved = match self.run_query(&premises, "equal", self.limit) {
            SatResult::Unsat if satisfied => return Answer::Proved,
            SatResult::Unsat => true,
            SatResult::Sat if !coarse.was_coarse() => return Answer::Refuted,
            SatResult::Unknown if !coarse.was_coarse() => return Answer::Unknown,
            _ => false,
        };
        // With products and quotients as they are, if the query is not too large.
        let most = MAX_EXACT_GATES.min(self.units / UNITS_PER_GATE);
        let gates = size::gates(arena, roots, most, false);
        if gates.is_none() || self.units == 0 {
            return Answer::TooLarge;
        }
        self.charge(gates);
        let exact = self.limit.min(MAX_EXACT);
        let mut translator = Translator::new(arena, names);
        let (possible, differ) = translated(&mut translator, (a, b), assumptions);
        if !satisfied {
            match self.run_query(&possible, "exactly-satisfiable", exact) {
                SatResult::Sat if proved => return Answer::Proved,
                SatResult::Sat => {}
                SatResult::Unsat => return Answer::Refuted,
                SatResult::Unknown => return Answer::Unknown,
            }
        }
        let mut premises = possible;
        premises.push(differ);
        match self.run_query(&premises, "exactly-equal", exact) {
            SatResult::Unsat => Answer::Proved,
            SatResult::Sat => Answer::Refuted,
            SatResult::Unknown => Answer::Unknown,
        }
    }

    /// Takes the units for making the gates of a query from the budget.
    fn charge(&mut self, gates: Option<u64>) {
        let units = gates.unwrap_or(MAX_GATES).saturating_mul(UNITS_PER_GATE);
        self.units = self.units.saturating_sub(units);
    }

    /// In z3's logic for such queries: its setup for all logics takes ten times longer.
    fn run_query(&mut self, formulas: &[Bool], purpose: &str, limit: u32) -> SatResult {
        let solver = z3::Solver::new_for_logic(LOGIC).unwrap_or_default();
        self.check(&solver, formulas, purpose, limit)
    }

    fn check(
        &mut self,
        solver: &z3::Solver,
        formulas: &[Bool],
        purpose: &str,
        limit: u32,
    ) -> SatResult {
        let mut params = Params::new();
        let limit = u64::from(limit).min(self.units).max(1);
        params.set_u32("rlimit", u32::try_from(limit).unwrap_or(u32::MAX));
        solver.set_params(&params);
        formulas.iter().for_each(|formula| solver.assert(formula));
        let (before, watch) = (units(solver), Stopwatch::start());
        let result = solver.check();
        let used = u64::from(units(solver).wrapping_sub(before));
        self.units = self.units.saturating_sub(used.max(LEAST_UNITS));
        log::debug!(
            "query {} ({purpose}): {result:?} after {used} of {limit} units, {:.1} ms",
            self.number,
            watch.milliseconds()
        );
        if let Some(folder) = &self.dump {
            smtlib::dump(folder, self.number, purpose, solver, result);
        }
        result
    }
}

/// The assumptions, the bounds of their symbols, and that `a` and `b` differ.
fn translated(
    translator: &mut Translator<'_>,
    (a, b): (TermId, TermId),
    assumptions: &[TermId],
) -> (Vec<Bool>, Bool) {
    let mut premises: Vec<_> =
        assumptions.iter().map(|&assumption| translator.boolean(assumption)).collect();
    let differ = translator.differ(a, b);
    premises.extend(translator.bounds());
    (premises, differ)
}
