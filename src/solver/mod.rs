//! The one module that knows z3: translates terms, asks, and gives three-valued answers.
//!
//! Queries run under z3's resource limit, never under a clock, so that an unknown is the same
//! unknown on every machine. The solver is started on the first query only: most kernels need none,
//! and starting it costs more than everything else.
//!
//! **Architecture invariant:** nobody else names the z3 crate, and an unknown never becomes a yes.

mod context;
mod relevance;
mod smtlib;
mod translate;

use std::path::{Path, PathBuf};

pub use context::forget;

use rustc_hash::{FxHashMap, FxHashSet};
use z3::ast::Bool;
use z3::{Config, Params, SatResult, with_z3_config};

use crate::expr::{Arena, Effort, FunctionId, Search, SymbolId, TermId, search};
use relevance::Relevance;
use translate::Translator;

/// What the solver says of a claim.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// It holds whenever the assumptions do, and they can.
    Proved,
    /// There is a counterexample, or the assumptions contradict each other.
    Refuted,
    /// The resource limit was reached.
    Unknown,
}

/// At most so many queries for one kernel, unless asked otherwise; the rest is unknown.
const MAX_QUERIES: u32 = 256;

/// Bit-vectors and uninterpreted functions, without quantifiers.
const LOGIC: &str = "QF_UFBV";

/// z3's resource limit for a claim in which products and quotients matter: most of those that it
/// proves at all take little.
const MAX_EXACT: u32 = 10_000;

/// A claim of more terms is not put to z3.
const MAX_TERMS: usize = 1_000;

/// With less of z3's resources it is not worth starting it.
const MIN_LIMIT: u32 = 2_000;

/// What the solver says of a claim, with a witness against it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Judgement {
    /// It holds whenever the assumptions do. Whether they can hold at all is not asked: where they
    /// cannot, what is claimed of that place does not matter.
    Proved,
    /// It does not hold; the values of the terms asked for in a counterexample.
    Refuted(Vec<u64>),
    /// The resource limit was reached.
    Unknown,
}

/// z3's name and version.
pub fn version() -> String {
    let version = z3::full_version();
    format!("z3 {}", version.trim_start_matches("Z3 "))
}

/// Whether the z3 that was found at run time can tell what holds from what does not.
pub fn works() -> bool {
    use z3::ast::BV;
    with_z3_config(&Config::new(), || {
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

/// What symbols and functions are called in queries; different ones must have different names.
pub trait Names {
    /// A symbol's name.
    fn symbol(&self, symbol: SymbolId) -> String;
    /// An uninterpreted function's name.
    fn function(&self, function: FunctionId) -> &str;
}

/// The value that z3's arithmetic gives a term where the symbols have the given values: a second
/// opinion on [`crate::expr::Evaluator`] and on the translation. `None` where the term depends on an
/// uninterpreted function.
pub fn value(
    arena: &Arena,
    names: &dyn Names,
    term: TermId,
    values: &dyn Fn(SymbolId) -> u64,
) -> Option<u64> {
    Translator::value(arena, names, term, values)
}

/// Runs something in a solver context of its own, for many claims by [`Solver::judge`]: a context for
/// each would cost more than the claims. What z3 did before shows in its answers, so what belongs
/// together and always comes in one order goes into one session.
pub fn session<R: Send + Sync>(work: impl FnOnce() -> R + Send + Sync) -> R {
    with_z3_config(&Config::new(), work)
}

/// Asks z3.
#[derive(Debug)]
pub struct Solver {
    limit: u32,
    dump: Option<PathBuf>,
    queries: u32,
    most: u32,
    /// How hard the claims so far were to decide without being proved: 2 for each that reached the
    /// limit, 1 for each with a counterexample that no search had found.
    failures: u32,
    effort: Effort,
    relevance: Relevance,
    /// What was answered, by claim and the assumptions that matter to it.
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
            failures: 0,
            effort: Effort::default(),
            relevance,
            answers,
        }
    }

    /// The same with a bound of its own on the number of queries.
    #[must_use]
    pub fn with_queries(mut self, most: u32) -> Solver {
        self.most = most;
        self
    }

    /// How many claims have been put to the solver.
    pub fn queries(&self) -> u32 {
        self.queries
    }

    /// Whether `a = b` for all values of the symbols that satisfy the assumptions; if not, the
    /// values that `wanted` have where it fails.
    pub fn judge(
        &mut self,
        arena: &Arena,
        names: &(dyn Names + Sync),
        (a, b): (TermId, TermId),
        assumptions: &[TermId],
        wanted: &[TermId],
    ) -> Judgement {
        if self.queries >= self.most {
            return Judgement::Unknown;
        }
        self.queries += 1;
        let mut translator = Translator::new(arena, names);
        let mut premises: Vec<_> =
            assumptions.iter().map(|&assumption| translator.boolean(assumption)).collect();
        let differ = translator.differ(a, b);
        let wanted: Vec<_> = wanted.iter().map(|&term| translator.bits(term)).collect();
        premises.extend(translator.bounds());
        premises.push(differ);
        let query = Query { limit: self.limit, number: self.queries, dump: self.dump.as_deref() };
        let solver = z3::Solver::new();
        let result = query.check(&solver, &premises, "equal", self.limit);
        let model = if result == SatResult::Sat { solver.get_model() } else { None };
        match (result, model) {
            (SatResult::Sat, Some(model)) => Judgement::Refuted(
                wanted
                    .iter()
                    .map(|bits| {
                        model.eval(bits, true).and_then(|value| value.as_u64()).unwrap_or(0)
                    })
                    .collect(),
            ),
            (SatResult::Unsat, _) => Judgement::Proved,
            _ => Judgement::Unknown,
        }
    }

    /// Whether `a = b` for all values of the symbols that satisfy the assumptions.
    ///
    /// What was asked before is not asked again, so all terms must be of one arena. Assumptions that
    /// have no symbol to do with the claim are left out. z3 only sees a claim for which
    /// [`search`] finds no counterexample.
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

    /// The value that a predicate has wherever the assumptions hold, if it is always the same one.
    /// `constants`: false and true. What is asked is what looks so: values under which the
    /// assumptions hold were found, and the predicate was the same for all of them.
    pub fn settle(
        &mut self,
        arena: &Arena,
        names: &(dyn Names + Sync),
        predicate: TermId,
        constants: [TermId; 2],
        assumptions: &[TermId],
    ) -> Option<bool> {
        let assumptions = self.relevance.relevant(arena, &[predicate], assumptions);
        let likely = match search(arena, &assumptions, (predicate, constants[1]), &mut self.effort)
        {
            Search::Nothing => return None,
            Search::Agreement => true,
            Search::Counterexample => {
                match search(arena, &assumptions, (predicate, constants[0]), &mut self.effort) {
                    Search::Counterexample => return None,
                    _ => false,
                }
            }
        };
        let claim = (predicate, constants[usize::from(likely)]);
        (self.ask(arena, names, claim, &assumptions, true) == Answer::Proved).then_some(likely)
    }

    fn decide(
        &mut self,
        arena: &Arena,
        names: &(dyn Names + Sync),
        (a, b): (TermId, TermId),
        assumptions: &[TermId],
    ) -> Answer {
        match search(arena, assumptions, (a, b), &mut self.effort) {
            Search::Counterexample => Answer::Refuted,
            found => self.ask(arena, names, (a, b), assumptions, found == Search::Agreement),
        }
    }

    /// Puts a claim to z3; `possible`: the assumptions are known to hold for some values.
    fn ask(
        &mut self,
        arena: &Arena,
        names: &(dyn Names + Sync),
        (a, b): (TermId, TermId),
        assumptions: &[TermId],
        possible: bool,
    ) -> Answer {
        // Claims about one function are alike: where some were too hard, so are most.
        let limit = self.limit >> self.failures.min(31);
        let roots = assumptions.iter().copied().chain([a, b]);
        if self.queries >= self.most || limit < MIN_LIMIT || is_large(arena, roots) {
            return Answer::Unknown;
        }
        self.queries += 1;
        let query = Query { limit, number: self.queries, dump: self.dump.as_deref() };
        let answer = context::within(|| query.ask(arena, names, (a, b), assumptions, possible));
        self.failures += match answer {
            Answer::Proved => 0,
            Answer::Refuted => 1,
            Answer::Unknown => 2,
        };
        answer
    }
}

/// Whether terms are made of so many parts that z3 would take long before it counts resources.
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

/// How one claim is put to z3.
struct Query<'a> {
    limit: u32,
    /// Counted from 1.
    number: u32,
    dump: Option<&'a Path>,
}

impl Query<'_> {
    /// `satisfied`: the assumptions are known to hold for some values.
    fn ask(
        &self,
        arena: &Arena,
        names: &(dyn Names + Sync),
        (a, b): (TermId, TermId),
        assumptions: &[TermId],
        satisfied: bool,
    ) -> Answer {
        // What holds without looking into products and quotients is seen at once.
        let mut coarse = Translator::coarse(arena, names);
        let (mut premises, differ) = translated(&mut coarse, (a, b), assumptions);
        premises.push(differ);
        let proved = match self.settle(&premises, "equal", self.limit) {
            SatResult::Unsat if satisfied => return Answer::Proved,
            SatResult::Unsat => true,
            SatResult::Sat if !coarse.was_coarse() => return Answer::Refuted,
            SatResult::Unknown if !coarse.was_coarse() => return Answer::Unknown,
            _ => false,
        };
        let exact = self.limit.min(MAX_EXACT);
        let mut translator = Translator::new(arena, names);
        let (possible, differ) = translated(&mut translator, (a, b), assumptions);
        if !proved {
            let mut premises = possible.clone();
            premises.push(differ);
            match self.settle(&premises, "exactly-equal", exact) {
                SatResult::Unsat if satisfied => return Answer::Proved,
                SatResult::Unsat => {}
                SatResult::Sat => return Answer::Refuted,
                SatResult::Unknown => return Answer::Unknown,
            }
        }
        // A proof from assumptions that cannot hold would prove anything.
        match self.settle(&possible, "satisfiable", exact) {
            SatResult::Sat => Answer::Proved,
            SatResult::Unsat => Answer::Refuted,
            SatResult::Unknown => Answer::Unknown,
        }
    }

    /// In z3's logic for what we ask: what it does for all logics takes ten times longer to set up.
    fn settle(&self, formulas: &[Bool], purpose: &str, limit: u32) -> SatResult {
        let solver = z3::Solver::new_for_logic(LOGIC).unwrap_or_else(z3::Solver::new);
        self.check(&solver, formulas, purpose, limit)
    }

    fn check(
        &self,
        solver: &z3::Solver,
        formulas: &[Bool],
        purpose: &str,
        limit: u32,
    ) -> SatResult {
        let mut params = Params::new();
        params.set_u32("rlimit", limit);
        solver.set_params(&params);
        formulas.iter().for_each(|formula| solver.assert(formula));
        let result = solver.check();
        if let Some(folder) = self.dump {
            smtlib::dump(folder, self.number, purpose, solver, result);
        }
        result
    }
}

/// Assumptions with the bounds of what is in them, and that `a` and `b` differ.
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
