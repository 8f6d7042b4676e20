//! Whether two terms are equal at a place: by normal form, by cases over the selections in them,
//! operand by operand, and by the solver for the cases that are left.
//!
//! In: a claim (the original's term and the rewritten program's), and a [`Place`]: a block of the
//! rewritten program with the conditions that hold for every lane there. Out: a [`Proof`].

use std::collections::VecDeque;

use rustc_hash::FxHashSet;

use super::by_lane::{self, InLane};
use super::outcome::{Difference, Proof};
use super::query::{Effort, Prover};
use super::question::{Claim, Question};
use crate::expr::{Arena, Node, TermId};
use crate::record::Place;
use crate::solver::Judgement;
use crate::terms::{
    Function, Terms, Truth, commute, conditions, halves, no_wrap, only_difference, same_shape, wrap,
};

/// How many cases one claim may fall into.
const MAX_CASES: u32 = 512;

/// The most cases that are searched for a contradiction among the known facts.
const MAX_CONTRADICTIONS: u32 = 64;

/// How many of the cases of one claim are looked at as tables of lanes.
const MAX_EXCHANGED: u32 = 16;

/// The most facts that are simplified under the conditions of a case.
const MAX_REDUCED: usize = 64;

/// How many terms are looked through for a selection.
const MAX_SEARCHED: usize = 64;

/// How often terms whose parts are not equal one by one are looked at by the cases of their selections, for one claim.
const MAX_DECOMPOSITIONS: u32 = 16;

/// How often the operands of a commutative operation may be compared crosswise in one claim.
const MAX_CROSSINGS: u32 = 16;

impl Prover {
    /// Whether the original's term and the rewritten one's are equal in every lane at a place.
    pub(crate) fn equal(
        &mut self,
        at: &mut Question<'_, '_, '_>,
        (original, rewritten): Claim,
    ) -> Proof {
        let known = at.known;
        if original == rewritten {
            return Proof::Equal;
        }
        self.cases = 0;
        self.crossings = 0;
        self.compared_in_parts = 0;
        self.decompositions = 0;
        let mut all: Vec<TermId> = at.place.path.clone();
        for &condition in known {
            all.extend(conditions::literals(&mut at.terms.arena, condition));
        }
        self.flags.add_to(&mut all);
        let claim = (original, rewritten);
        if self.by_lane.is_in(at.terms, rewritten) {
            return self.equal_in_each_lane(&mut at.under(&all), claim);
        }
        self.by_cases(&mut at.under(&all), claim)
    }

    /// Decides a claim lane by lane, at first by the facts of that lane alone: the first lane in which the claim is
    /// not proved decides.
    fn equal_in_each_lane(&mut self, at: &mut Question<'_, '_, '_>, claim: Claim) -> Proof {
        let known = at.known;
        let Some(lane) = self.by_lane.lane else { return Proof::Unknown };
        let rows = self.by_lane.row_thread(&mut at.terms.arena, known);
        for number in by_lane::all() {
            let arena = &mut at.terms.arena;
            let by_lane = &mut self.by_lane.terms;
            let mut own = |term: TermId| by_lane.of(arena, lane, number, term);
            let here = (own(claim.0), own(claim.1));
            let facts: Vec<TermId> = known.iter().map(|fact| own(*fact)).collect();
            let mut facts: Vec<TermId> =
                facts.into_iter().flat_map(|fact| conditions::literals(arena, fact)).collect();
            let constant = arena.constant(number.into(), arena.width(lane));
            facts.push(arena.equal(lane, constant));
            // Most claims follow from the lane's own facts; those of all others take time.
            let alone = Place { reaches: Vec::new(), ..at.place.clone() };
            let effort = std::mem::replace(&mut self.effort, Effort::Rules);
            self.cases = 0;
            let mut quick = self.by_cases(&mut at.in_place(&alone, &facts), here);
            if let Some(thread) = rows.filter(|_| quick != Proof::Equal) {
                let arena = &mut at.terms.arena;
                let mut in_row = |term: TermId| InLane::in_row(arena, thread, number, term);
                let here = (in_row(here.0), in_row(here.1));
                let facts: Vec<TermId> = facts.iter().map(|fact| in_row(*fact)).collect();
                self.cases = 0;
                quick = self.by_cases(&mut at.in_place(&alone, &facts), here);
            }
            self.effort = effort;
            if quick == Proof::Equal {
                continue;
            }
            let there = self.by_lane.terms.place(&mut at.terms.arena, lane, number, at.place);
            self.cases = 0;
            match self.by_cases(&mut at.in_place(&there, &facts), here) {
                Proof::Equal => {}
                other => return other,
            }
        }
        Proof::Equal
    }

    pub(super) fn by_cases(
        &mut self,
        at: &mut Question<'_, '_, '_>,
        (original, rewritten): Claim,
    ) -> Proof {
        let known = at.known;
        let a = conditions::simplify(&mut at.terms.arena, original, known);
        let b = conditions::simplify(&mut at.terms.arena, rewritten, known);
        if a == b {
            return Proof::Equal;
        }
        if at.terms.arena.width(a) == 1 && conditions::are_same(&mut at.terms.arena, (a, b), known)
        {
            return Proof::Equal;
        }
        // Addresses that were compared, before the selections in them multiply the cases.
        let is_address = at.terms.arena.width(a) == 64;
        if is_address
            && [(original, rewritten), (a, b)]
                .into_iter()
                .any(|claim| wrap::equal_as_known(&mut at.terms.arena, claim, known))
        {
            return Proof::Equal;
        }
        if is_address && at.terms.assume_no_wrap && no_wrap::are_equal(&mut at.terms.arena, (a, b))
        {
            return Proof::Equal;
        }
        // No lane reaches a place whose facts contradict each other.
        let Ok(mut truth) = Truth::of(&mut at.terms.arena, known) else { return Proof::Equal };
        let mut decided = |term: TermId| {
            let mut decide = |arena: &mut Arena, condition| truth.value(arena, condition);
            conditions::simplify_by(&mut at.terms.arena, term, &mut decide)
        };
        let (a, b) = (decided(a), decided(b));
        if a == b {
            return Proof::Equal;
        }
        if self.cases < MAX_EXCHANGED
            && let Some(lemmas) = self.exchanges.equal_by(at.terms, (a, b), known)
            && lemmas.into_iter().all(|lemma| self.holds_always(at, lemma))
        {
            return Proof::Equal;
        }
        self.cases += 1;
        if self.cases > MAX_CASES {
            return Proof::Unknown;
        }
        if self.by_atoms(at, (a, b)) {
            return Proof::Equal;
        }
        if let Some(proof) = self.by_structure(at, (a, b)) {
            return proof;
        }
        if truth.is_contradictory(&at.terms.arena, &mut { MAX_CONTRADICTIONS }) {
            return Proof::Equal;
        }
        match self.ask(at, (a, b)) {
            Judgement::Proved => Proof::Equal,
            Judgement::Unknown => Proof::Unknown,
            Judgement::Refuted(_) => Proof::Differ(Box::new(Difference {
                original: a,
                rewritten: b,
                known: known.to_vec(),
                addresses: false,
            })),
        }
    }

    /// By the selections, the operands or the parts of two terms.
    fn by_structure(&mut self, at: &mut Question<'_, '_, '_>, claim: Claim) -> Option<Proof> {
        if let Some(proof) = self.by_selection(at, claim) {
            return Some(proof);
        }
        let whole = match self.by_operands(at, claim) {
            None => self.by_parts(at, claim),
            found => found,
        };
        if whole == Some(Proof::Equal) {
            return whole;
        }
        // Parts that are not alike as they are written may be in each case.
        let inner = match whole {
            Some(_) if self.decompositions >= MAX_DECOMPOSITIONS => None,
            Some(_) => {
                self.decompositions += 1;
                self.by_inner_selection(at, claim).filter(|proof| *proof == Proof::Equal)
            }
            None => self.by_inner_selection(at, claim),
        };
        inner.or(whole)
    }

    /// Whether two terms are equal whatever their symbols are.
    fn holds_always(&mut self, at: &mut Question<'_, '_, '_>, lemma: Claim) -> bool {
        if lemma.0 == lemma.1 || self.lemmas.contains(&lemma) {
            return true;
        }
        let anywhere = Place::default();
        let holds = self.ask(&mut at.in_place(&anywhere, &[]), lemma) == Judgement::Proved;
        if holds {
            self.lemmas.insert(lemma);
        }
        holds
    }

    /// Both cases, if one of the two terms is a selection.
    fn by_selection(&mut self, at: &mut Question<'_, '_, '_>, (a, b): Claim) -> Option<Proof> {
        let known = at.known;
        // One choice by two conditions that are equal only by a proof.
        if let (&Node::IfThenElse(c, x, y), &Node::IfThenElse(d, u, v)) =
            (at.terms.arena.node(a), at.terms.arena.node(b))
            && c != d
            && self.decompositions < MAX_DECOMPOSITIONS
        {
            self.decompositions += 1;
            if self.first_unequal(at, &[(c, d), (x, u), (y, v)]).is_none() {
                return Some(Proof::Equal);
            }
        }
        for (first, second, swapped) in [(b, a, true), (a, b, false)] {
            let Node::IfThenElse(condition, x, y) = *at.terms.arena.node(first) else { continue };
            if is_known_global(at.terms, condition, known) {
                let claim = if swapped { (second, x) } else { (x, second) };
                return Some(self.by_cases(at, claim));
            }
            let negated = at.terms.arena.not(condition);
            for (holds, value) in [(condition, x), (negated, y)] {
                let mut more = in_case(at.terms, known, holds);
                self.flags.add_to(&mut more);
                if conditions::contradict(&mut at.terms.arena, &more) {
                    continue;
                }
                let claim = if swapped { (second, value) } else { (value, second) };
                match self.by_cases(&mut at.under(&more), claim) {
                    Proof::Equal => {}
                    other => return Some(other),
                }
            }
            return Some(Proof::Equal);
        }
        None
    }

    /// Both cases, if one of the two terms is computed from a selection.
    fn by_inner_selection(
        &mut self,
        at: &mut Question<'_, '_, '_>,
        (a, b): Claim,
    ) -> Option<Proof> {
        let condition = [b, a].into_iter().find_map(|term| inner_selection(at.terms, term))?;
        let known = at.known;
        let negated = at.terms.arena.not(condition);
        for holds in [condition, negated] {
            let mut more = in_case(at.terms, known, holds);
            self.flags.add_to(&mut more);
            if conditions::contradict(&mut at.terms.arena, &more) {
                continue;
            }
            let mut under =
                |term: TermId| conditions::simplify_within(&mut at.terms.arena, term, &more);
            let claim = (under(a), under(b));
            // A term that is too large is not looked into.
            if claim == (a, b) {
                return None;
            }
            match self.by_cases(&mut at.under(&more), claim) {
                Proof::Equal => {}
                other => return Some(other),
            }
        }
        Some(Proof::Equal)
    }

    /// Operand by operand, for two loads or two results of the same function.
    fn by_operands(&mut self, at: &mut Question<'_, '_, '_>, (a, b): Claim) -> Option<Proof> {
        if let Some(pairs) = self.load_congruence(at, (a, b)) {
            return Some(match self.first_unequal(at, &pairs) {
                None => Proof::Equal,
                Some(((x, _), Proof::Differ(mut difference))) => {
                    difference.addresses |= at.terms.arena.width(x) == 64;
                    Proof::Differ(difference)
                }
                Some(_) => Proof::Unknown,
            });
        }
        if let Some(pairs) = commute::crossed(at.terms, a, b)
            && self.crossings < MAX_CROSSINGS
        {
            self.crossings += 1;
            if self.first_unequal(at, &pairs).is_none() {
                return Some(Proof::Equal);
            }
        }
        let pairs = same_shape(&at.terms.arena, a, b)?;
        Some(match self.first_unequal(at, &pairs) {
            None => Proof::Equal,
            // Other operands may give the same result, unless the results can be anything.
            Some((_, Proof::Differ(difference)))
                if is_function(at.terms, a) && !difference.is_arbitrary(at.terms) =>
            {
                Proof::Unknown
            }
            Some((_, other)) => other,
        })
    }

    /// By the parts, if the two are concatenations or extracts of other words, or sums that differ in one
    /// part.
    fn by_parts(&mut self, at: &mut Question<'_, '_, '_>, (a, b): Claim) -> Option<Proof> {
        // Other bytes may have the same bits in these places.
        if let Some(claim) = Prover::narrowed(at.terms, (a, b))
            && self.by_cases(at, claim) == Proof::Equal
        {
            return Some(Proof::Equal);
        }
        if let Some(halves) = halves(&mut at.terms.arena, a, b) {
            let unequal = self.first_unequal(at, &halves);
            return Some(unequal.map_or(Proof::Equal, |(_, proof)| proof));
        }
        // The same part of equal words is equal; the same part of different words may be.
        if let (&Node::Extract(x, low), &Node::Extract(y, other)) =
            (at.terms.arena.node(a), at.terms.arena.node(b))
            && low == other
            && at.terms.arena.width(x) == at.terms.arena.width(y)
            && self.by_cases(at, (x, y)) == Proof::Equal
        {
            return Some(Proof::Equal);
        }
        // Two sums or exclusive ors are equal exactly if the operand in which they differ is.
        let claim = only_difference(&at.terms.arena, a, b)?;
        Some(self.by_cases(at, claim))
    }

    /// The first of some pairs that was not shown to be equal, with the outcome for it.
    fn first_unequal(
        &mut self,
        at: &mut Question<'_, '_, '_>,
        pairs: &[(TermId, TermId)],
    ) -> Option<((TermId, TermId), Proof)> {
        for &pair in pairs {
            match self.by_cases(at, pair) {
                Proof::Equal => {}
                other => return Some((pair, other)),
            }
        }
        None
    }
}

/// The facts of one of two cases: its condition, the alternatives that it leaves, and facts about selections as they read
/// then.
fn in_case(terms: &mut Terms, known: &[TermId], holds: TermId) -> Vec<TermId> {
    let literals = conditions::literals(&mut terms.arena, holds);
    let mut more = known.to_vec();
    if known.len() <= MAX_REDUCED {
        let reduced = conditions::simplify_each_within(&mut terms.arena, known, &literals);
        more.extend(
            reduced.into_iter().zip(known).filter(|(own, fact)| own != *fact).map(|(own, _)| own),
        );
    }
    more.extend(literals);
    conditions::add_remaining(&mut terms.arena, &mut more);
    more
}

/// The condition of a selection that a term is computed from, other than by an uninterpreted function.
fn inner_selection(terms: &Terms, term: TermId) -> Option<TermId> {
    let (mut seen, mut queue) = (FxHashSet::default(), VecDeque::from([term]));
    while let Some(next) = queue.pop_front() {
        if !seen.insert(next) {
            continue;
        }
        terms.arena.charge(1);
        if seen.len() > MAX_SEARCHED {
            return None;
        }
        match *terms.arena.node(next) {
            Node::IfThenElse(condition, ..) => return (next != term).then_some(condition),
            Node::Apply(..) => {}
            _ => queue.extend(terms.arena.operands(next)),
        }
    }
    None
}

/// Whether a condition is that an address is global which is equal to one that is known to be.
fn is_known_global(terms: &mut Terms, condition: TermId, known: &[TermId]) -> bool {
    let asked = |terms: &Terms, term: TermId| match terms.applied(term) {
        Some((Function::IsGlobal, operands)) => operands.first().copied(),
        _ => None,
    };
    let Some(address) = asked(terms, condition) else { return false };
    known.iter().any(|&fact| {
        asked(terms, fact).is_some_and(|other| {
            other == address || wrap::equal_as_known(&mut terms.arena, (other, address), known)
        })
    })
}

/// Whether a term is an uninterpreted function other than a load.
fn is_function(terms: &Terms, term: TermId) -> bool {
    terms.applied(term).is_some_and(|(function, _)| function.as_load().is_none())
}
