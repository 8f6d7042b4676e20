//! Decides a claim: cheap rules first, then a search, then the solver, from abstract to exact queries.

use rustc_hash::{FxHashMap, FxHashSet};

use super::by_lane::ByLane;
use super::claims::{Claims, is_free};
use super::exchange::Exchanges;
use super::facts::{
    SHAPES, abstracted, assumptions, facts_of_other_lanes, in_shape, with_divisions,
};
use super::flags::Flags;
use super::induction::Induction;
use super::pinned::{self, Simplified};
use super::question::{Claim, Question};
use super::remainder::LowBits;
use crate::cfg::LoopForest;
use crate::expr::TermId;
use crate::record::{Execution, StoreRecord};
use crate::solver::Judgement;
use crate::terms::{Terms, contradictory, no_wrap, truth, wrap};

/// The most claims of one function that may fail with all facts: beyond them the verdict will hardly be "equal"
/// any more, and failing claims take the solver longest.
const MAX_FAILURES: u32 = 3;

/// How many claims made during evaluation may be refuted before only proofs are looked for: a term
/// that is left as it is will be compared in the end, and a counterexample looked for then.
const MAX_REFUTED: u32 = 8;

/// The methods to try for a claim: each value includes those before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Effort {
    /// Normal forms, cases and intervals.
    Rules,
    /// A search for values that refute the claim.
    Search,
    /// The solver, but not for stores that may lie between two loads.
    Values,
    /// The solver.
    Solver,
}

/// Proves claims and counts the queries that they took.
pub(crate) struct Prover {
    pub claims: Claims,
    /// For each version of memory that a store made, that store.
    pub stores: FxHashMap<TermId, StoreRecord>,
    /// The same for versions of shared and local memory that a store to a generic address made.
    pub generic_stores: FxHashMap<TermId, StoreRecord>,
    pub induction: Induction,
    /// The low bits of the registers of the original's loops.
    pub low_bits: LowBits,
    /// By distance and bytes of two accesses, whether its low bits tell them apart.
    pub differing_low_bits: FxHashMap<(TermId, u32, u32), bool>,
    /// What shuffles have delivered to lanes one by one.
    pub by_lane: ByLane,
    /// What whole warps exchange.
    pub exchanges: Exchanges,
    /// Pairs of terms that are proved to be equal whatever their symbols are.
    pub lemmas: FxHashSet<Claim>,
    /// The rewritten program's flags; none while it is being evaluated.
    pub flags: Flags,
    pub cases: u32,
    pub crossings: u32,
    pub compared_in_parts: u32,
    pub decompositions: u32,
    pub failures: u32,
    pub refuted: u32,
    /// Whether the claims are those on which the verdict rests.
    pub deciding: bool,
    pub effort: Effort,
}

impl Prover {
    /// A prover of claims about the original, which has been evaluated, and a program that is to be.
    pub(crate) fn new(
        claims: Claims,
        terms: &mut Terms,
        loops: &LoopForest,
        original: &Execution,
    ) -> Prover {
        let induction = Induction::new(terms, loops, original);
        Prover {
            claims,
            stores: original.stores.clone(),
            generic_stores: original.generic_stores.clone(),
            induction,
            low_bits: LowBits::new(terms, &[original], &[]),
            differing_low_bits: FxHashMap::default(),
            by_lane: ByLane::default(),
            exchanges: Exchanges::default(),
            lemmas: FxHashSet::default(),
            flags: Flags::default(),
            cases: 0,
            crossings: 0,
            compared_in_parts: 0,
            decompositions: 0,
            failures: 0,
            refuted: 0,
            deciding: false,
            effort: Effort::Solver,
        }
    }

    /// Decides a claim: cheap rules first, then a search, then the solver, from abstract to exact queries.
    pub(crate) fn ask(&mut self, at: &mut Question<'_, '_, '_>, claim: Claim) -> Judgement {
        let known = self.induction.apply_all(at.terms, at.known);
        let claim =
            (self.induction.apply(at.terms, claim.0), self.induction.apply(at.terms, claim.1));
        if self.follows(at, claim, &known) || self.induction.are_equal(at.terms, claim) {
            return Judgement::Proved;
        }
        if at.terms.assume_no_wrap && no_wrap::are_equal(&mut at.terms.arena, claim) {
            return Judgement::Proved;
        }
        let simplified = pinned::simplified(&mut at.terms.arena, &known, claim);
        let (claim, known) = match &simplified {
            Simplified::Unreachable => return Judgement::Proved,
            Simplified::Simpler { known, claim } => (*claim, known),
            Simplified::Same => (claim, &known),
        };
        if claim.0 == claim.1 || wrap::equal(&mut at.terms.arena, claim, known) {
            return Judgement::Proved;
        }
        if self.effort == Effort::Rules {
            return Judgement::Unknown;
        }
        let assumptions = assumptions(at);
        let assumptions = self.induction.apply_all(at.terms, &assumptions);
        // A search gives divisions any result that the facts allow.
        let told = with_divisions(at.terms, claim, &assumptions);
        match self.claims.search(at.terms, claim, &told) {
            Judgement::Unknown => {}
            found => {
                self.refuted += u32::from(found != Judgement::Proved);
                return found;
            }
        }
        let is_hard = !self.deciding && self.claims.is_hard();
        if self.effort == Effort::Search || is_hard {
            return Judgement::Unknown;
        }
        if self.holds_abstractly(at.terms, claim, known)
            || self.holds_abstractly(at.terms, claim, &assumptions)
        {
            return Judgement::Proved;
        }
        // A symbol that may be anything is equal only where nothing holds, and products are hardly why.
        if !self.deciding && self.refuted >= MAX_REFUTED || is_free(at.terms, claim, &assumptions) {
            return Judgement::Unknown;
        }
        self.ask_exactly(at.terms, claim, &assumptions)
    }

    /// Whether a claim follows by rules alone from the conditions at the place and their implications for other lanes.
    fn follows(&mut self, at: &mut Question<'_, '_, '_>, claim: Claim, known: &[TermId]) -> bool {
        if claim.0 == claim.1
            || wrap::equal(&mut at.terms.arena, claim, known)
            || wrap::equal_as_known(&mut at.terms.arena, claim, known)
        {
            return true;
        }
        let more = facts_of_other_lanes(at);
        let more = self.induction.apply_all(at.terms, &more);
        wrap::equal(&mut at.terms.arena, claim, &more)
            || wrap::equal_as_known(&mut at.terms.arena, claim, &more)
            || contradictory(&mut at.terms.arena, &more)
            || truth::are_equal(&mut at.terms.arena, claim, &more)
    }

    /// Whether the solver proves a claim with each product and function as a symbol of its own, which is linear and
    /// quick.
    fn holds_abstractly(&mut self, terms: &mut Terms, claim: Claim, known: &[TermId]) -> bool {
        let told = with_divisions(terms, claim, known);
        let (simpler, facts) = abstracted(terms, claim, &told);
        self.claims.judge(terms, simpler, &facts) == Judgement::Proved
    }

    /// Asks the solver for a counterexample in blocks of a few shapes, which is linear too, then with all terms as
    /// they are.
    fn ask_exactly(
        &mut self,
        terms: &mut Terms,
        claim: Claim,
        assumptions: &[TermId],
    ) -> Judgement {
        for shape in &SHAPES[..2] {
            let (fixed, facts) = in_shape(terms, claim, assumptions, *shape);
            let judged = self.claims.judge(terms, fixed, &facts);
            if matches!(judged, Judgement::Refuted(_)) {
                self.refuted += 1;
                return judged;
            }
        }
        if self.failures >= MAX_FAILURES {
            return Judgement::Unknown;
        }
        let judged = self.claims.judge(terms, claim, assumptions);
        self.failures += u32::from(judged != Judgement::Proved);
        judged
    }
}
