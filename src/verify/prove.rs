//! Whether two terms are equal at a place: by normal form, by cases over the selections they are
//! made of, operand by operand, and by the solver for what is left.
//!
//! In: a claim (the original's term and the rewritten program's), and a [`Place`]: a block of the
//! rewritten program with the conditions that hold for every lane there. Out: a [`Proof`].

use rustc_hash::{FxHashMap, FxHashSet};

use super::commute;
use super::conditions;
use super::division;
use super::evaluate::{Execution, StoreRecord};
use super::hardware;
use super::induction::Induction;
use super::lanes::Lanes;
use super::memory::{before_stores, unmarked};
use super::parts::{clash, halves, only_difference, same_shape};
use super::program::Program;
use super::symbols::{Kind, Terms};
use super::warp::{GlobalFact, Reach, Vote};
use super::wrap;
use crate::cfg::{BlockId, LoopId};
use crate::expr::{Arena, BinaryOp, Comparison, Node, Substitution, TermId};
use crate::isa::Special;
use crate::solver::{Judgement, Names, Solver};

/// How many cases one claim may fall into.
const MAX_CASES: u32 = 512;

/// How often the operands of a commutative operation may be compared crosswise in one claim.
const MAX_CROSSINGS: u32 = 16;

/// How many claims of one function may fail with everything known; after so many nobody expects
/// "equal" any more, and the solver takes longest for those.
const MAX_FAILURES: u32 = 3;

/// How many claims made on the way may be refuted before only proofs are looked for: what is left
/// as it is will be compared in the end, and a counterexample looked for there.
const MAX_REFUTED: u32 = 8;

/// How much may be known before selections between versions of memory are not looked into any more.
const MAX_KNOWN: usize = 512;

/// The outcome of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Proof {
    /// It holds.
    Equal,
    /// The claim does not hold, because two parts of its terms differ under some conditions.
    Differ(Box<Difference>),
    /// Neither was shown.
    Unknown,
}

/// The parts at which two terms differ, with the conditions under which they do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Difference {
    pub original: TermId,
    pub rewritten: TermId,
    /// The conditions under which the two parts were compared.
    pub known: Vec<TermId>,
    /// Whether the two parts are addresses that something is loaded from.
    pub addresses: bool,
}

impl Difference {
    /// Whether one of the two can have any value, whatever the other has.
    fn is_arbitrary(&self, terms: &Terms) -> bool {
        let arbitrary = |term: TermId| match terms.arena.node(term) {
            Node::Apply(function, _) => terms.symbols.function(*function).starts_with("load."),
            Node::Symbol(symbol) => {
                matches!(terms.symbols.info(*symbol).kind, Kind::Unpredictable(_))
            }
            _ => false,
        };
        self.addresses || arbitrary(self.original) || arbitrary(self.rewritten)
    }
}

/// Whether a term is an instruction's result of which only the operands are known.
fn is_function(terms: &Terms, term: TermId) -> bool {
    match terms.arena.node(term) {
        Node::Apply(function, _) => !terms.symbols.function(*function).starts_with("load."),
        _ => false,
    }
}

/// A place in the rewritten program, and what is known there.
#[derive(Clone, Debug, Default)]
pub(super) struct Place {
    pub around: Option<LoopId>,
    /// Conditions that hold for every lane that is there.
    pub path: Vec<TermId>,
    pub reaches: Vec<Reach>,
    pub votes: Vec<Vote>,
}

impl Place {
    /// A block of a program that was evaluated (or is being evaluated) so far.
    pub fn new(
        terms: &mut Terms,
        program: &Program<'_, '_>,
        execution: &Execution,
        entries: &dyn Fn(LoopId) -> Option<TermId>,
        block: BlockId,
        (reaches, votes, global): (&[Reach], &[Vote], &[GlobalFact]),
    ) -> Place {
        let around = program.loop_of(block);
        let mut path = Vec::new();
        if let Some(own) = execution.path[block.index()] {
            path.extend(conditions::literals(&mut terms.arena, own));
        }
        for id in program.flow.loops.around(around) {
            if let Some(entry) = entries(id) {
                path.extend(conditions::literals(&mut terms.arena, entry));
            }
        }
        // What the original does wherever this place is reached.
        for &(condition, place, fact) in global {
            terms.arena.charge(1);
            let always = place == around && {
                let needed = conditions::literals(&mut terms.arena, condition);
                conditions::hold(&terms.arena, &needed, &path)
            };
            if always && !conditions::hold(&terms.arena, &[fact], &path) {
                path.push(fact);
            }
        }
        Place {
            around,
            path,
            reaches: reaches.iter().filter(|reach| reach.block == block).copied().collect(),
            votes: votes.iter().filter(|vote| vote.block == block).copied().collect(),
        }
    }
}

/// Proves claims and counts what it took.
pub(super) struct Prover {
    pub solver: Solver,
    /// For each version of memory that a store made, that store.
    stores: FxHashMap<TermId, StoreRecord>,
    induction: Induction,
    cases: u32,
    crossings: u32,
    failures: u32,
    refuted: u32,
    /// Whether the claims are those that the verdict is made of.
    pub deciding: bool,
    /// Whether the solver may be asked.
    pub solving: bool,
}

impl Prover {
    pub fn new(
        solver: Solver,
        stores: FxHashMap<TermId, StoreRecord>,
        induction: Induction,
    ) -> Prover {
        Prover {
            solver,
            stores,
            induction,
            cases: 0,
            crossings: 0,
            failures: 0,
            refuted: 0,
            deciding: false,
            solving: true,
        }
    }

    /// Whether the original's term and the rewritten one's are equal in every lane at a place.
    pub fn equal(
        &mut self,
        terms: &mut Terms,
        lanes: &mut Lanes<'_, '_>,
        place: &Place,
        (original, rewritten): (TermId, TermId),
        known: &[TermId],
    ) -> Proof {
        if original == rewritten {
            return Proof::Equal;
        }
        self.cases = 0;
        self.crossings = 0;
        let mut all: Vec<TermId> = place.path.clone();
        for &condition in known {
            all.extend(conditions::literals(&mut terms.arena, condition));
        }
        self.by_cases(terms, lanes, place, original, rewritten, &all)
    }

    fn by_cases(
        &mut self,
        terms: &mut Terms,
        lanes: &mut Lanes<'_, '_>,
        place: &Place,
        original: TermId,
        rewritten: TermId,
        known: &[TermId],
    ) -> Proof {
        let a = conditions::simplify(&mut terms.arena, original, known);
        let b = conditions::simplify(&mut terms.arena, rewritten, known);
        if a == b {
            return Proof::Equal;
        }
        self.cases += 1;
        if self.cases > MAX_CASES {
            return Proof::Unknown;
        }
        for (first, second, swapped) in [(b, a, true), (a, b, false)] {
            let Node::IfThenElse(condition, x, y) = *terms.arena.node(first) else { continue };
            let negated = terms.arena.not(condition);
            for (holds, value) in [(condition, x), (negated, y)] {
                let mut more = known.to_vec();
                more.extend(conditions::literals(&mut terms.arena, holds));
                if conditions::contradict(&mut terms.arena, &more) {
                    continue;
                }
                let (a, b) = if swapped { (second, value) } else { (value, second) };
                match self.by_cases(terms, lanes, place, a, b, &more) {
                    Proof::Equal => {}
                    other => return other,
                }
            }
            return Proof::Equal;
        }
        if let Some(pairs) = self.same_load(terms, lanes, place, (a, b), known) {
            for (x, y) in pairs {
                match self.by_cases(terms, lanes, place, x, y, known) {
                    Proof::Equal => {}
                    Proof::Differ(mut difference) => {
                        difference.addresses |= terms.arena.width(x) == 64;
                        return Proof::Differ(difference);
                    }
                    Proof::Unknown => return Proof::Unknown,
                }
            }
            return Proof::Equal;
        }
        if let Some(pairs) = commute::crossed(terms, a, b)
            && self.crossings < MAX_CROSSINGS
        {
            self.crossings += 1;
            let mut all =
                pairs.into_iter().map(|(x, y)| self.by_cases(terms, lanes, place, x, y, known));
            if all.all(|proof| proof == Proof::Equal) {
                return Proof::Equal;
            }
        }
        if let Some(pairs) = same_shape(&terms.arena, a, b) {
            for (x, y) in pairs {
                match self.by_cases(terms, lanes, place, x, y, known) {
                    Proof::Equal => {}
                    // Other operands may give the same result, unless they can be anything.
                    Proof::Differ(difference)
                        if is_function(terms, a) && !difference.is_arbitrary(terms) =>
                    {
                        return Proof::Unknown;
                    }
                    other => return other,
                }
            }
            return Proof::Equal;
        }
        if let Some(halves) = halves(&mut terms.arena, a, b) {
            for (x, y) in halves {
                match self.by_cases(terms, lanes, place, x, y, known) {
                    Proof::Equal => {}
                    other => return other,
                }
            }
            return Proof::Equal;
        }
        // The same part of equal words is equal; that of others may be.
        if let (&Node::Extract(x, low), &Node::Extract(y, other)) =
            (terms.arena.node(a), terms.arena.node(b))
            && low == other
            && terms.arena.width(x) == terms.arena.width(y)
            && self.by_cases(terms, lanes, place, x, y, known) == Proof::Equal
        {
            return Proof::Equal;
        }
        // Two sums or exclusive ors are equal just when the one operand is in which they differ.
        if let Some((x, y)) = only_difference(&terms.arena, a, b) {
            return self.by_cases(terms, lanes, place, x, y, known);
        }
        match self.ask(terms, lanes, place, (a, b), known) {
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
}

impl Prover {
    /// Asks the solver: first with each product and function as a symbol of its own, which is linear
    /// and quick, with what is known at the place alone, then with what the hardware and the other
    /// lanes add; then for a counterexample in blocks of a few shapes, which is linear too; then with
    /// everything as it is.
    fn ask(
        &mut self,
        terms: &mut Terms,
        lanes: &mut Lanes<'_, '_>,
        place: &Place,
        claim: (TermId, TermId),
        known: &[TermId],
    ) -> Judgement {
        let of_place = known;
        let known = &self.induction.apply_all(terms, known);
        let claim = (self.induction.apply(terms, claim.0), self.induction.apply(terms, claim.1));
        if claim.0 == claim.1 || wrap::equal(&mut terms.arena, claim, known) {
            return Judgement::Proved;
        }
        let more = there_too(terms, lanes, place, of_place);
        let more = self.induction.apply_all(terms, &more);
        if wrap::equal(&mut terms.arena, claim, &more) || clash(&mut terms.arena, &more) {
            return Judgement::Proved;
        }
        if !self.solving {
            return Judgement::Unknown;
        }
        let told = with_divisions(terms, claim, known);
        let (simpler, facts) = abstracted(terms, claim, &told);
        let judged = self.solver.judge(&terms.arena, &terms.symbols, simpler, &facts, &[]);
        if judged == Judgement::Proved {
            return judged;
        }
        let assumptions = assumptions(terms, lanes, place, of_place);
        let assumptions = self.induction.apply_all(terms, &assumptions);
        let told = with_divisions(terms, claim, &assumptions);
        let (simpler, facts) = abstracted(terms, claim, &told);
        let judged = self.solver.judge(&terms.arena, &terms.symbols, simpler, &facts, &[]);
        if judged == Judgement::Proved {
            return judged;
        }
        if !self.deciding && self.refuted >= MAX_REFUTED {
            return Judgement::Unknown;
        }
        for shape in &SHAPES[..2] {
            let (fixed, facts) = in_shape(terms, claim, &assumptions, *shape);
            let judged = self.solver.judge(&terms.arena, &terms.symbols, fixed, &facts, &[]);
            if matches!(judged, Judgement::Refuted(_)) {
                self.refuted += 1;
                return judged;
            }
        }
        if self.failures >= MAX_FAILURES {
            return Judgement::Unknown;
        }
        let judged = self.solver.judge(&terms.arena, &terms.symbols, claim, &assumptions, &[]);
        self.failures += u32::from(judged != Judgement::Proved);
        judged
    }

    /// What has to be equal for two loads from global or shared memory to deliver the same: the
    /// addresses, and the versions, once each is the oldest that holds the same bytes. A load from
    /// memory that the original promises to be read-only is of every version.
    fn same_load(
        &mut self,
        terms: &mut Terms,
        lanes: &mut Lanes<'_, '_>,
        place: &Place,
        (a, b): (TermId, TermId),
        known: &[TermId],
    ) -> Option<Vec<(TermId, TermId)>> {
        let (Node::Apply(f, x), Node::Apply(g, y)) = (terms.arena.node(a), terms.arena.node(b))
        else {
            return None;
        };
        let name = terms.symbols.function(*f);
        if f != g || !(name.starts_with("load.global.") || name.starts_with("load.shared.")) {
            return None;
        }
        let ((v, address), (w, other)) = ((x[0], x[1]), (y[0], y[1]));
        let mut pairs = Vec::new();
        if address != other {
            pairs.push((address, other));
        }
        let read_only = [v, w].into_iter().any(|v| terms.arena.constant_value(v) == Some(0));
        let ((mine, marked), (theirs, too)) = (unmarked(terms, v), unmarked(terms, w));
        if v != w && !read_only && (marked || too) {
            // What another lane reads: see `ELSEWHERE`.
            let stores = &self.stores;
            let base = |terms: &mut Terms, version| {
                let base = before_stores(terms, stores, version);
                conditions::simplify(&mut terms.arena, base, known)
            };
            let (mine, theirs) = (base(terms, mine), base(terms, theirs));
            if mine != theirs {
                pairs.push((mine, theirs));
            }
        } else if v != w && !read_only {
            let bytes = u32::from(terms.arena.width(a)) / 8;
            let v = self.oldest(terms, lanes, place, v, (address, bytes), known);
            let w = self.oldest(terms, lanes, place, w, (other, bytes), known);
            if v != w {
                pairs.push((v, w));
            }
        }
        Some(pairs)
    }

    /// Steps over stores that the solver shows to leave some bytes alone.
    fn oldest(
        &mut self,
        terms: &mut Terms,
        lanes: &mut Lanes<'_, '_>,
        place: &Place,
        mut version: TermId,
        (address, bytes): (TermId, u32),
        known: &[TermId],
    ) -> TermId {
        while let Some(&record) = self.stores.get(&version) {
            let arena = &mut terms.arena;
            let width = arena.width(address);
            let (ahead, behind) =
                (arena.sub(address, record.address), arena.sub(record.address, address));
            let (stored, read) = (
                arena.constant(u64::from(record.bytes), width),
                arena.constant(u64::from(bytes), width),
            );
            // Modulo 2^64: neither starts within the other.
            let after = arena.compare(Comparison::UnsignedLessEqual, stored, ahead);
            let before = arena.compare(Comparison::UnsignedLessEqual, read, behind);
            let apart = arena.and(after, before);
            let always = arena.boolean(true);
            if self.ask(terms, lanes, place, (apart, always), known) != Judgement::Proved {
                return version;
            }
            version = record.before;
        }
        // Each selection adds to what is known: so deep are they looked into.
        if known.len() > MAX_KNOWN {
            return version;
        }
        let Node::IfThenElse(condition, a, b) = *terms.arena.node(version) else { return version };
        let negated = terms.arena.not(condition);
        let mut side = |this: &mut Self, terms: &mut Terms, side, holds| {
            let mut more = known.to_vec();
            more.extend(conditions::literals(&mut terms.arena, holds));
            this.oldest(terms, lanes, place, side, (address, bytes), &more)
        };
        let a = side(self, terms, a, condition);
        let b = side(self, terms, b, negated);
        terms.arena.if_then_else(condition, a, b)
    }
}

/// Block shapes in which counterexamples are looked for: with numbers in place of extents, what the
/// solver gets is linear. Whole and incomplete warps, rows longer and shorter than a warp.
pub(super) const SHAPES: [[u64; 3]; 7] =
    [[32, 2, 2], [16, 4, 1], [64, 1, 1], [31, 1, 1], [33, 1, 1], [48, 3, 1], [1, 1, 1]];

/// A claim and what is known, in the first block of a grid, with blocks of a shape.
pub(super) fn in_shape(
    terms: &mut Terms,
    claim: (TermId, TermId),
    known: &[TermId],
    shape: [u64; 3],
) -> ((TermId, TermId), Vec<TermId>) {
    let mut substitution = Substitution::new();
    let Terms { arena, symbols, .. } = terms;
    let mut fix = |term: TermId| {
        substitution.apply(arena, term, &mut |arena, symbol, own| {
            let value = match symbols.info(symbol).kind {
                Kind::Uniform(Special::Ntid(axis)) => shape[axis.index()],
                Kind::Uniform(Special::Ctaid(_)) => 0,
                Kind::Uniform(Special::Nctaid(_)) => 1,
                _ => return own,
            };
            arena.constant(value, arena.width(own))
        })
    };
    let claim = (fix(claim.0), fix(claim.1));
    (claim, known.iter().map(|&fact| fix(fact)).collect())
}

/// The facts `known`, and further ones about the divisions that occur in them or in the claim.
fn with_divisions(terms: &mut Terms, claim: (TermId, TermId), known: &[TermId]) -> Vec<TermId> {
    let roots = known.iter().copied().chain([claim.0, claim.1]);
    let facts = division::facts(terms, roots);
    known.iter().copied().chain(facts).collect()
}

/// A claim and what is known, with every product of terms and every uninterpreted function replaced
/// by a symbol of its own. What holds then holds all the more.
fn abstracted(
    terms: &mut Terms,
    (a, b): (TermId, TermId),
    known: &[TermId],
) -> ((TermId, TermId), Vec<TermId>) {
    let mut substitution = std::mem::take(&mut terms.abstraction);
    let Terms { arena, symbols, .. } = terms;
    let mut go = |arena: &mut Arena, term: TermId| {
        substitution.transform(arena, term, &mut |arena, next| {
            let opaque = match arena.node(next) {
                Node::Product(_) | Node::Apply(..) => true,
                Node::Binary(op, _, divisor) => match op {
                    BinaryOp::UnsignedMultiplyHigh | BinaryOp::SignedMultiplyHigh => true,
                    BinaryOp::UnsignedDivide
                    | BinaryOp::UnsignedRemainder
                    | BinaryOp::SignedDivide
                    | BinaryOp::SignedRemainder => arena.constant_value(*divisor).is_none(),
                    _ => false,
                },
                _ => false,
            };
            let width = arena.width(next);
            let range = arena.range(next);
            opaque.then(|| symbols.term(arena, Kind::Abstract(next), width, None, range))
        })
    };
    let claim = (go(arena, a), go(arena, b));
    let facts = known.iter().map(|&fact| go(arena, fact)).collect();
    terms.abstraction = substitution;
    (claim, facts)
}

/// All facts that hold at a place where `known` holds, those about *other* lanes included: where a
/// whole warp is known to have met, lane `L + n` is there too, so the conditions of the place and
/// what the hardware guarantees hold for it as well (the terms are shifted by `n`).
fn there_too(
    terms: &mut Terms,
    lanes: &mut Lanes<'_, '_>,
    place: &Place,
    known: &[TermId],
) -> Vec<TermId> {
    let axioms = hardware::axioms(terms);
    let mut found = axioms.clone();
    for reach in &place.reaches {
        let needed = conditions::literals(&mut terms.arena, reach.condition);
        let certain = conditions::hold(&terms.arena, &needed, known);
        if certain {
            for &literal in place.path.iter().chain(&axioms) {
                found.push(lanes.shift(terms, literal, reach.n, place.around));
            }
        }
    }
    found.extend(known);
    found.sort_unstable();
    found.dedup();
    found
}

/// Everything that holds at a place, as predicates.
pub(super) fn assumptions(
    terms: &mut Terms,
    lanes: &mut Lanes<'_, '_>,
    place: &Place,
    known: &[TermId],
) -> Vec<TermId> {
    let mut all = known.to_vec();
    let axioms = hardware::axioms(terms);
    let implies = |terms: &mut Terms, condition: TermId, then: TermId| {
        let not = terms.arena.not(condition);
        terms.arena.or(not, then)
    };
    let mut seen = FxHashSet::default();
    for reach in &place.reaches {
        if !seen.insert((reach.condition, reach.n)) {
            continue;
        }
        for &literal in place.path.iter().chain(&axioms) {
            let there = lanes.shift(terms, literal, reach.n, place.around);
            if there != literal {
                let fact = implies(terms, reach.condition, there);
                all.push(fact);
            }
        }
        for vote in &place.votes {
            let there = lanes.shift(terms, vote.predicate, reach.n, place.around);
            let when = terms.arena.and(vote.whole, vote.result);
            let when = terms.arena.and(when, reach.condition);
            let fact = implies(terms, when, there);
            all.push(fact);
        }
    }
    all.extend(axioms);
    all.sort_unstable();
    all.dedup();
    all
}
