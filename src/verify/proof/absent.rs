//! Lanes that a warp lacks: the block ends in front of them, or they have left the kernel.
//!
//! In: the exchanges that a claim depends on, lane by lane. Out: whether the claim also holds where lanes are absent. A
//! shuffle from an absent lane delivers any value (PTX ISA, "shfl.sync"). `redux.sync` and `vote.sync` leave an absent
//! lane out (PTX ISA, "redux.sync", "vote.sync"). So it suffices that the values of an absent lane can be chosen such
//! that each reduction and vote has the same result as without that lane: the claim holds for all values, and the
//! original may compute with those. Values that the original itself sends or combines can be chosen as a whole, so a
//! claim takes them as symbols of their lanes.

use rustc_hash::{FxHashMap, FxHashSet};

use super::by_lane;
use super::normal_form::as_bit;
use crate::expr::{Node, Substitution, TermId};
use crate::isa::limits::WARP_SIZE;
use crate::terms::{Kind, Lattice, Terms};

/// How an instruction combines the values of lanes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Combiner {
    /// Addends, or the bits of a ballot or of an exclusive or: 0 changes nothing.
    Addends,
    /// Operands of a lattice operator.
    Lattice(Lattice),
    /// Values that are compared with each other: a lane is left out that is like all others if all are, and else unlike
    /// them.
    Match { all: bool },
}

/// The value that an absent lane must have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Demand {
    Value(u64),
    /// One that all other lanes have, if they have one.
    Alike,
    /// One that no other lane has.
    Unlike,
}

/// A reduction or a vote: how it combines, and the value of each lane.
pub(super) type Combination = (Combiner, Vec<TermId>);

/// Terms that are symbols of their lanes, each with the term that names the symbol, and whether it is the negation of that.
pub(super) type Opaque = FxHashMap<TermId, (TermId, bool)>;

/// Of a predicate and its negation the one that stands for both.
fn canonical(terms: &mut Terms, predicate: TermId) -> TermId {
    terms.arena.not(predicate).min(predicate)
}

/// The terms within combined values that the original sends or combines as they are: symbols of their lanes for a claim.
pub(super) fn opaque(terms: &mut Terms, sent: &[TermId], combined: &[TermId]) -> Opaque {
    let mut known: FxHashSet<TermId> = FxHashSet::default();
    for &value in sent {
        let of_bit = as_bit(terms, value).filter(|_| terms.arena.width(value) > 1);
        let predicate = of_bit.or_else(|| (terms.arena.width(value) == 1).then_some(value));
        known.insert(predicate.map_or(value, |one| canonical(terms, one)));
    }
    let mut found = Opaque::default();
    let (mut work, mut seen) = (combined.to_vec(), FxHashSet::default());
    while let Some(next) = work.pop() {
        if !seen.insert(next) || terms.arena.constant_value(next).is_some() {
            continue;
        }
        terms.arena.charge(1);
        let is_predicate = terms.arena.width(next) == 1;
        let name = if is_predicate { canonical(terms, next) } else { next };
        if !known.contains(&name) {
            work.extend(terms.arena.operands(next));
            continue;
        }
        found.insert(name, (name, false));
        if is_predicate {
            let negation = terms.arena.not(name);
            found.insert(negation, (name, true));
        }
    }
    found
}

/// The loads within combined values: symbols of their lanes for a claim, as an absent lane loads nothing.
pub(super) fn loads(terms: &Terms, combined: &[TermId]) -> Opaque {
    let mut found = Opaque::default();
    let (mut work, mut seen) = (combined.to_vec(), FxHashSet::default());
    while let Some(next) = work.pop() {
        if !seen.insert(next) {
            continue;
        }
        terms.arena.charge(1);
        match terms.loaded(next) {
            Some(_) => _ = found.insert(next, (next, false)),
            None => work.extend(terms.arena.operands(next)),
        }
    }
    found
}

/// Combined values that are computed from a selection which the original sends, as terms of a symbol that stands for
/// the selection. The symbol is necessary because normal forms split a selection and every term computed from it into
/// cases. Each symbol is added to `opaque`.
pub(super) fn of_selections(
    terms: &mut Terms,
    (sent, combined): (&[TermId], &[TermId]),
    opaque: &mut Opaque,
) -> FxHashMap<TermId, TermId> {
    let mut found = FxHashMap::default();
    for &value in sent {
        let Node::IfThenElse(condition, a, b) = *terms.arena.node(value) else { continue };
        if as_bit(terms, value).is_some() {
            continue;
        }
        let width = terms.arena.width(value);
        // (The number of no lane stands for all.)
        let any = terms.symbol(Kind::InLane(WARP_SIZE, value), width, None);
        for &next in combined.iter().filter(|next| **next != value) {
            let cases = [true, false].map(|holds| {
                let decided = terms.arena.boolean(holds);
                replaced(terms, next, (condition, decided))
            });
            let ways = [(cases[0], a, cases[1], b), (cases[1], b, cases[0], a)];
            let whole = ways.into_iter().find_map(|(own, from, other, to)| {
                let whole = replaced(terms, own, (from, any));
                (whole != own && replaced(terms, whole, (any, to)) == other).then_some(whole)
            });
            if let Some(whole) = whole {
                found.insert(next, whole);
                opaque.insert(any, (value, false));
                opaque.insert(value, (value, false));
            }
        }
    }
    found
}

/// A term with another one in the place of a part.
fn replaced(terms: &mut Terms, term: TermId, (part, by): (TermId, TermId)) -> TermId {
    if terms.arena.constant_value(part).is_some() {
        return term;
    }
    Substitution::new()
        .transform(&mut terms.arena, term, &mut |_, next| (next == part).then_some(by))
}

/// The symbol of a lane that stands for a term, if the term is one of those.
pub(super) fn symbol(
    terms: &mut Terms,
    opaque: &Opaque,
    term: TermId,
    lane: u32,
) -> Option<TermId> {
    let &(name, is_negated) = opaque.get(&term)?;
    let width = terms.arena.width(term);
    let there = terms.symbol(Kind::InLane(lane, name), width, None);
    Some(if is_negated { terms.arena.not(there) } else { there })
}

/// The values that are chosen for the symbols of an absent lane.
#[derive(Clone, Copy)]
enum Choice {
    /// Those of a lane that is there.
    OfAnother,
    /// One for words, one for predicates.
    Constant(Extreme, bool),
}

/// A word that is neutral for some operator.
#[derive(Clone, Copy)]
enum Extreme {
    Zero,
    Ones,
    SignedLeast,
    SignedGreatest,
}

impl Extreme {
    fn value(self, width: u8) -> u64 {
        let ones = u64::MAX >> (64 - u32::from(width.clamp(1, 64)));
        match self {
            Extreme::Zero => 0,
            Extreme::Ones => ones,
            Extreme::SignedLeast => ones ^ (ones >> 1),
            Extreme::SignedGreatest => ones >> 1,
        }
    }
}

/// The value that changes nothing, if there is one.
fn neutral(combiner: Combiner, width: u8) -> Option<u64> {
    let extreme = match combiner {
        Combiner::Addends => Extreme::Zero,
        Combiner::Lattice(lattice) => match lattice {
            Lattice::Or | Lattice::Max { signed: false } => Extreme::Zero,
            Lattice::And | Lattice::Min { signed: false } => Extreme::Ones,
            Lattice::Min { signed: true } => Extreme::SignedGreatest,
            Lattice::Max { signed: true } => Extreme::SignedLeast,
            Lattice::Extremum { .. } => return None,
        },
        Combiner::Match { .. } => return None,
    };
    Some(extreme.value(width))
}

/// Whether the values of any absent lane can be chosen such that no combination notices that the lane is absent.
pub(super) fn may_be_absent(terms: &mut Terms, combinations: &[Combination]) -> bool {
    if combinations.is_empty() {
        return true;
    }
    let owned = owned(terms, combinations);
    if by_lane::all()
        .zip(0..)
        .all(|(lane, at)| is_solvable(terms, &owned, combinations, (lane, at)))
    {
        return true;
    }
    let words =
        [Extreme::Zero, Extreme::Ones, Extreme::SignedLeast, Extreme::SignedGreatest].into_iter();
    let constants =
        words.flat_map(|word| [false, true].map(|predicate| Choice::Constant(word, predicate)));
    let mut choices = [Choice::OfAnother].into_iter().chain(constants);
    choices.any(|choice| {
        combinations.iter().all(|(combiner, values)| {
            // A lattice operator combines one value twice as it does once.
            if matches!((choice, combiner), (Choice::OfAnother, Combiner::Addends))
                || matches!(combiner, Combiner::Match { .. })
            {
                return false;
            }
            let chosen: Vec<TermId> = by_lane::all()
                .zip(values)
                .map(|(lane, value)| chosen(terms, &owned, *value, (lane, choice)))
                .collect();
            match choice {
                Choice::OfAnother => chosen.iter().all(|one| *one == chosen[0]),
                Choice::Constant(..) => chosen.iter().all(|one| {
                    let neutral = neutral(*combiner, terms.arena.width(*one));
                    neutral.is_some() && terms.arena.constant_value(*one) == neutral
                }),
            }
        })
    })
}

/// Whether a lane's symbols can be chosen such that each of its values is neutral: each value is a symbol, or a sum with a
/// symbol that occurs an odd number of times, and no other value has that symbol.
fn is_solvable(
    terms: &Terms,
    owned: &FxHashMap<TermId, (u32, TermId)>,
    combinations: &[Combination],
    (lane, at): (u32, usize),
) -> bool {
    let mut wanted: FxHashMap<TermId, Demand> = FxHashMap::default();
    for (combiner, values) in combinations {
        let Some(&value) = values.get(at) else { return false };
        let demand = match combiner {
            Combiner::Match { all: true } => Some(Demand::Alike),
            Combiner::Match { all: false } => Some(Demand::Unlike),
            _ => neutral(*combiner, terms.arena.width(value)).map(Demand::Value),
        };
        let Some(demand) = demand else { return false };
        if *wanted.entry(value).or_insert(demand) != demand {
            return false;
        }
    }
    let is_own = |term: &TermId| owned.get(term).is_some_and(|(of, _)| *of == lane);
    let mentions = |value: TermId, symbol: TermId| {
        let (mut work, mut seen) = (vec![value], FxHashSet::default());
        while let Some(next) = work.pop() {
            if next == symbol {
                return true;
            }
            if seen.insert(next) {
                terms.arena.charge(1);
                work.extend(terms.arena.operands(next));
            }
        }
        false
    };
    // The value from an absent lane is visible in other lanes' values, and may be any other value there.
    let sends = combinations.iter().flat_map(|(_, values)| by_lane::all().zip(values)).any(
        |(holder, value)| {
            owned.iter().any(|(symbol, (of, _))| *of != holder && mentions(*value, *symbol))
        },
    );
    if sends {
        return false;
    }
    wanted.keys().all(|&value| {
        let alone = |symbol: &TermId| {
            wanted.keys().all(|other| *other == value || !mentions(*other, *symbol))
        };
        match terms.arena.node(value) {
            Node::Sum { addends, .. } => addends.iter().any(|(symbol, factor)| {
                let rest = || addends.iter().filter(|(other, _)| other != symbol);
                factor % 2 == 1
                    && is_own(symbol)
                    && rest().all(|(other, _)| !mentions(*other, *symbol))
                    && alone(symbol)
            }),
            _ => is_own(&value) && alone(&value),
        }
    })
}

/// The symbols of lanes in combined values, each with its lane and the term that it stands for.
fn owned(terms: &Terms, combinations: &[Combination]) -> FxHashMap<TermId, (u32, TermId)> {
    let mut found = FxHashMap::default();
    let mut work: Vec<TermId> =
        combinations.iter().flat_map(|(_, values)| values.iter().copied()).collect();
    let mut seen: FxHashSet<TermId> = FxHashSet::default();
    while let Some(next) = work.pop() {
        if !seen.insert(next) {
            continue;
        }
        terms.arena.charge(1);
        if let Some(symbol) = terms.as_symbol(next)
            && let Kind::InLane(lane, term) = terms.symbols.info(symbol).kind
        {
            found.insert(next, (lane, term));
        }
        work.extend(terms.arena.operands(next));
    }
    found
}

/// A value of a lane with values chosen for the lane's symbols.
fn chosen(
    terms: &mut Terms,
    owned: &FxHashMap<TermId, (u32, TermId)>,
    value: TermId,
    (lane, choice): (u32, Choice),
) -> TermId {
    let mut replaced: FxHashMap<TermId, TermId> = FxHashMap::default();
    for (&symbol, &(_, term)) in owned.iter().filter(|(_, (of, _))| *of == lane) {
        let width = terms.arena.width(symbol);
        let by = match choice {
            // (The number of no lane stands for all.)
            Choice::OfAnother => terms.symbol(Kind::InLane(WARP_SIZE, term), width, None),
            Choice::Constant(_, predicate) if width == 1 => terms.arena.boolean(predicate),
            Choice::Constant(word, _) => terms.arena.constant(word.value(width), width),
        };
        replaced.insert(symbol, by);
    }
    let by = &mut |_: &mut _, next| replaced.get(&next).copied();
    Substitution::new().transform(&mut terms.arena, value, by)
}
