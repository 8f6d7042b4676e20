//! Decides claims: by a search for values that refute them, then by the solver. Remembers the answers.
//!
//! In: a claim `a = b` with the facts under which it is to hold. Out: a [`Judgement`]. A function is evaluated
//! several times, and each evaluation makes the same claims of most of its terms; all evaluations share these
//! answers, so a claim takes the solver once. A counterexample that the search finds by evaluation costs a
//! thousandth of one that the solver finds.
//!
//! A claim counts as proved where the facts cannot hold together: no lane is at the place then.

use rustc_hash::{FxHashMap, FxHashSet};

use super::question::Claim;
use crate::expr::{Node, Search, Searcher, SymbolId, TermId, are_contradictory, follows, mask};
use crate::isa::limits::WARP_SIZE;
use crate::isa::{Axis, Special};
use crate::solver::{Judgement, Solver};
use crate::terms::{Kind, Symbols, Terms};

/// The most terms that all searches for one function evaluate: a few seconds.
const MAX_EVALUATED: u64 = 400_000_000;

/// The most undecided claims, which take the solver longest; then it gets no more claims that only shorten proofs.
const MAX_UNDECIDED: u32 = 8;

/// A claim, with the facts in ascending order.
type Key = (TermId, TermId, Vec<TermId>);

/// Decides claims about the terms of one arena.
pub(crate) struct Claims {
    pub solver: Solver,
    searcher: Searcher,
    answers: FxHashMap<Key, Judgement>,
    /// How many claims the solver has left undecided.
    undecided: u32,
}

impl Claims {
    pub(crate) fn new(solver: Solver) -> Claims {
        let answers = FxHashMap::default();
        Claims { solver, searcher: Searcher::with_effort(MAX_EVALUATED), answers, undecided: 0 }
    }

    /// Whether the solver has left many claims undecided: then it gets only those on which the verdict rests.
    pub(crate) fn is_hard(&self) -> bool {
        self.undecided >= MAX_UNDECIDED
    }

    /// Whether a claim is refuted by values that a search finds, or holds by order alone; `Unknown` says nothing.
    pub(crate) fn search(&mut self, terms: &Terms, claim: Claim, facts: &[TermId]) -> Judgement {
        let arena = &terms.arena;
        if are_contradictory(arena, facts) || follows(arena, facts, claim) {
            return Judgement::Proved;
        }
        let hint = |round: u64, symbol: SymbolId| likely(&terms.symbols, round, symbol);
        match self.searcher.search_near(arena, facts, claim, &hint) {
            Search::Counterexample => Judgement::Refuted(Vec::new()),
            Search::Proof | Search::Contradiction => Judgement::Proved,
            Search::Agreement | Search::Nothing => Judgement::Unknown,
        }
    }

    /// The judgement of a claim: from memory, by search, or by the solver.
    pub(crate) fn judge(&mut self, terms: &mut Terms, claim: Claim, facts: &[TermId]) -> Judgement {
        let mut sorted = facts.to_vec();
        sorted.sort_unstable();
        sorted.dedup();
        // A claim about a symbol that may have any value holds only where the facts cannot hold together. All such
        // claims at one place are one claim.
        let claim = match is_free(terms, claim, &sorted) {
            true => (terms.arena.boolean(false), terms.arena.boolean(true)),
            false => claim,
        };
        let key = (claim.0.min(claim.1), claim.0.max(claim.1), sorted);
        terms.arena.charge(1 + key.2.len() as u64);
        if let Some(known) = self.answers.get(&key) {
            return known.clone();
        }
        let mut judged = self.search(terms, claim, &key.2);
        if judged == Judgement::Unknown {
            judged = self.solver.judge(&terms.arena, &terms.symbols, claim, &key.2, &[]);
            self.undecided += u32::from(judged == Judgement::Unknown);
        }
        self.answers.insert(key, judged.clone());
        judged
    }
}

/// Whether one side of a claim is a symbol that the facts and the other side leave free.
pub(super) fn is_free(terms: &Terms, (a, b): Claim, facts: &[TermId]) -> bool {
    let arena = &terms.arena;
    let may_be_anything = |term: TermId| {
        let range = arena.range(term);
        let width = arena.width(term);
        matches!(arena.node(term), Node::Symbol(_)) && (range.umin, range.umax) == (0, mask(width))
    };
    let mut sides = [(a, b), (b, a)].into_iter().filter(|(side, _)| may_be_anything(*side));
    sides.any(|(symbol, other)| {
        let (mut work, mut seen) = (facts.to_vec(), FxHashSet::default());
        work.push(other);
        while let Some(next) = work.pop() {
            if next == symbol {
                return false;
            }
            if seen.insert(next) {
                arena.charge(1);
                work.extend(arena.operands(next));
            }
        }
        true
    })
}

/// A symbol's value in a whole warp that is in a loop's body or behind the bounds check of a kernel, where most claims
/// are made; another one for each `round`.
fn likely(symbols: &Symbols, round: u64, symbol: SymbolId) -> Option<u64> {
    if round % 4 == 1 {
        return None;
    }
    let info = symbols.info(symbol);
    let lane = (7 * round + 3) % u64::from(WARP_SIZE);
    let all_ones = u64::from(u32::MAX);
    match &info.kind {
        Kind::Tid(Axis::X) | Kind::LaneId => Some(lane),
        Kind::Tid(_) => Some(0),
        Kind::Uniform(Special::Ntid(Axis::X)) => Some(u64::from(WARP_SIZE) << (round % 3)),
        Kind::Uniform(Special::Ntid(_)) => Some(1),
        Kind::Uniform(Special::Ctaid(_)) => Some(round % 3),
        Kind::Uniform(Special::Nctaid(_)) => Some(4),
        // Sizes of arrays are large or small, addresses anything.
        Kind::Parameter { bits: 32, .. } => Some(if round % 4 == 3 { 40 + round } else { 1 << 20 }),
        Kind::Mask(_) => Some(all_ones),
        Kind::RewrittenOnly(..) if info.width == 1 => Some(1),
        Kind::Shifted(_, _) if info.width == 1 => Some(1),
        Kind::Shifted(of, _) if matches!(symbols.info(*of).kind, Kind::Mask(_)) => Some(all_ones),
        _ => None,
    }
}
