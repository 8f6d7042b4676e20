//! The least and greatest of numbers of single precision, by an order of integers.
//!
//! In: in one lane, an extremum of some numbers (PTX ISA, "Floating Point Instructions: min, max"), and a term that
//! makes it from the least or greatest of integers, one for each number: its bits, but for the sign inverted where that
//! is set, and a bound for NaNs. Out: sufficient conditions for the two to be equal, over any two numbers, as claims
//! for the solver: with `k` the map from a number to its integer and `d` the map back, `d(k(x))` is the extremum of `x`
//! alone, and `k` of the extremum of two numbers is the extremum of their integers. The rest is induction.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::expr::{BinaryOp, Comparison, Substitution, TermId};
use crate::terms::{Function, Kind, Lattice, Terms};

/// A NaN that is the result of `min` or `max`.
const NAN: u64 = 0x7fff_ffff;

/// The bits of infinity: those of the exponent.
const INFINITY: u64 = 0x7f80_0000;

/// The bit of the sign.
const SIGN: u64 = 0x8000_0000;

/// Two terms that have to be equal whatever their symbols are.
pub(super) type Lemma = (TermId, TermId);

/// Sufficient conditions for an extremum and a term to be equal; `None` if they are not of this form.
pub(super) fn lemmas(terms: &mut Terms, extremum: TermId, made: TermId) -> Option<[Lemma; 2]> {
    let (rules, numbers) = match terms.applied(extremum)? {
        (&Function::Lattice(Lattice::Extremum { greatest, propagates_nan, flushes }), numbers) => {
            (Rules { greatest, propagates_nan, flushes }, numbers.to_vec())
        }
        _ => return None,
    };
    let (order, keys) = integers(terms, made)?;
    let [x, y, result] = [0, 1, 2].map(|number| terms.symbol(Kind::Any(number), 32, None));
    let numbers = combined_in_lanes(terms, extremum, &numbers, &keys).unwrap_or(numbers);
    let least = nan_is_least(terms, &rules, &numbers, &keys)?;
    let decoded = replaced(terms, made, order, result);
    let decoded = interpreted(terms, decoded);
    if symbols(terms, decoded) != [result] {
        return None;
    }
    let both = rules.of_two(terms, x, y);
    let [of_x, of_y, of_both] = [x, y, both].map(|number| rules.key(terms, number, least));
    let greatest = matches!(terms.applied(order)?, (Function::Lattice(Lattice::Max { .. }), _));
    let less = terms.arena.compare(Comparison::SignedLess, of_x, of_y);
    let (chosen, other) = if greatest { (of_y, of_x) } else { (of_x, of_y) };
    let extreme = terms.arena.if_then_else(less, chosen, other);
    let alone = replaced(terms, decoded, result, of_x);
    let own = rules.of_one(terms, x);
    Some([(own, alone), (of_both, extreme)])
}

/// The only least or greatest of signed integers in a term, and its operands.
fn integers(terms: &Terms, term: TermId) -> Option<(TermId, Vec<TermId>)> {
    let (mut work, mut seen, mut found) = (vec![term], FxHashSet::default(), None);
    while let Some(next) = work.pop() {
        if !seen.insert(next) {
            continue;
        }
        terms.arena.charge(1);
        match terms.applied(next) {
            Some((
                Function::Lattice(Lattice::Min { signed: true } | Lattice::Max { signed: true }),
                keys,
            )) => {
                if found.replace((next, keys.to_vec())).is_some() {
                    return None;
                }
            }
            _ => work.extend(terms.arena.operands(next)),
        }
    }
    found
}

/// The extrema that the integers are made of, if each lane has combined numbers of its own before: together they have all
/// the numbers, and their extremum is that of the numbers.
fn combined_in_lanes(
    terms: &Terms,
    extremum: TermId,
    numbers: &[TermId],
    keys: &[TermId],
) -> Option<Vec<TermId>> {
    let (function, _) = terms.applied(extremum)?;
    let mut found = Vec::new();
    let mut together: FxHashSet<TermId> = FxHashSet::default();
    for &key in keys {
        let (mut work, mut seen, mut own) = (vec![key], FxHashSet::default(), None);
        while let Some(next) = work.pop() {
            if !seen.insert(next) {
                continue;
            }
            terms.arena.charge(1);
            match terms.applied(next) {
                Some((inner, parts)) if inner == function => {
                    if own.replace(next).is_some() {
                        return None;
                    }
                    together.extend(parts);
                }
                _ => work.extend(terms.arena.operands(next)),
            }
        }
        found.push(own?);
    }
    let all: FxHashSet<TermId> = numbers.iter().copied().collect();
    (together == all).then_some(found)
}

/// Whether NaNs are below all numbers in the order of integers by which each number has one of `keys`.
fn nan_is_least(
    terms: &mut Terms,
    rules: &Rules,
    numbers: &[TermId],
    keys: &[TermId],
) -> Option<bool> {
    let known: FxHashSet<TermId> = keys.iter().map(|key| interpreted(terms, *key)).collect();
    let numbers: Vec<TermId> = numbers.iter().map(|one| interpreted(terms, *one)).collect();
    [true, false].into_iter().find(|least| {
        let made: FxHashSet<TermId> =
            numbers.iter().map(|number| rules.key(terms, *number, *least)).collect();
        made == known
    })
}

/// A term with another one in the place of a third.
fn replaced(terms: &mut Terms, term: TermId, from: TermId, to: TermId) -> TermId {
    let found = &mut |_: &mut _, next| (next == from).then_some(to);
    Substitution::new().transform(&mut terms.arena, term, found)
}

/// The symbols of a term; also those functions whose values are not known.
fn symbols(terms: &Terms, term: TermId) -> Vec<TermId> {
    let (mut work, mut seen, mut found) = (vec![term], FxHashSet::default(), Vec::new());
    while let Some(next) = work.pop() {
        if !seen.insert(next) {
            continue;
        }
        terms.arena.charge(1);
        let is_open = match terms.applied(next) {
            Some((Function::Lattice(lattice), _)) => matches!(lattice, Lattice::Extremum { .. }),
            Some((Function::Exclusive, _)) => false,
            Some(_) => true,
            None => terms.as_symbol(next).is_some(),
        };
        match is_open {
            true => found.push(next),
            false => work.extend(terms.arena.operands(next)),
        }
    }
    found
}

/// A term in which the normal forms of operators are replaced by the operators' definitions.
fn interpreted(terms: &mut Terms, term: TermId) -> TermId {
    let mut done: FxHashMap<TermId, TermId> = FxHashMap::default();
    let mut stack = vec![term];
    while let Some(&next) = stack.last() {
        let depth = stack.len();
        let operands = terms.arena.operands(next);
        stack.extend(operands.iter().filter(|one| !done.contains_key(one)));
        if stack.len() > depth {
            continue;
        }
        stack.pop();
        terms.arena.charge(1);
        let of: Vec<TermId> = operands.iter().map(|one| done[one]).collect();
        let function = terms.applied(next).map(|(function, _)| function.clone());
        let value = match function {
            Some(Function::Exclusive) => {
                of.into_iter().reduce(|a, b| terms.arena.xor(a, b)).unwrap_or(next)
            }
            Some(Function::Lattice(Lattice::And)) => {
                of.into_iter().reduce(|a, b| terms.arena.and(a, b)).unwrap_or(next)
            }
            Some(Function::Lattice(Lattice::Or)) => {
                of.into_iter().reduce(|a, b| terms.arena.or(a, b)).unwrap_or(next)
            }
            _ => terms.arena.rebuilt(next, &|one| done[&one]),
        };
        done.insert(next, value);
    }
    done[&term]
}

/// How an extremum treats NaNs and subnormal numbers.
struct Rules {
    greatest: bool,
    propagates_nan: bool,
    flushes: bool,
}

impl Rules {
    /// The extremum of a number and itself.
    fn of_one(&self, terms: &mut Terms, x: TermId) -> TermId {
        let (nan, is_nan) = (terms.arena.constant(NAN, 32), is_nan(terms, x));
        let number = self.number(terms, x);
        terms.arena.if_then_else(is_nan, nan, number)
    }

    /// The extremum of two numbers.
    fn of_two(&self, terms: &mut Terms, x: TermId, y: TermId) -> TermId {
        let nan = terms.arena.constant(NAN, 32);
        let [no_x, no_y] = [x, y].map(|number| is_nan(terms, number));
        let [x, y] = [x, y].map(|number| self.number(terms, number));
        let less = is_less(terms, x, y);
        let arena = &mut terms.arena;
        let (chosen, other) = if self.greatest { (y, x) } else { (x, y) };
        let number = arena.if_then_else(less, chosen, other);
        if self.propagates_nan {
            let some = arena.or(no_x, no_y);
            return arena.if_then_else(some, nan, number);
        }
        let of_x = arena.if_then_else(no_y, x, number);
        let of_y = arena.if_then_else(no_y, nan, y);
        arena.if_then_else(no_x, of_y, of_x)
    }

    /// The integer of a number: in the order of the numbers, with NaNs below or above all of them.
    fn key(&self, terms: &mut Terms, x: TermId, nan_is_least: bool) -> TermId {
        let x = self.number(terms, x);
        let is_nan = is_nan(terms, x);
        let arena = &mut terms.arena;
        let by = arena.constant(31, 32);
        let sign = arena.binary(BinaryOp::ArithmeticShiftRight, x, by);
        let inverted = arena.and_constant(sign, NAN);
        let ordered = arena.xor(x, inverted);
        let bound = arena.constant(if nan_is_least { SIGN } else { NAN }, 32);
        arena.if_then_else(is_nan, bound, ordered)
    }

    /// A number as an operand counts.
    fn number(&self, terms: &mut Terms, x: TermId) -> TermId {
        if !self.flushes {
            return x;
        }
        let exponent = terms.arena.and_constant(x, INFINITY);
        let (zero, sign) = (terms.arena.constant(0, 32), terms.arena.and_constant(x, SIGN));
        let is_small = terms.arena.equal(exponent, zero);
        terms.arena.if_then_else(is_small, sign, x)
    }
}

/// Whether bits are those of a NaN.
fn is_nan(terms: &mut Terms, x: TermId) -> TermId {
    let magnitude = terms.arena.and_constant(x, NAN);
    let infinity = terms.arena.constant(INFINITY, 32);
    terms.arena.compare(Comparison::UnsignedLess, infinity, magnitude)
}

/// Whether a number other than NaN is less than another one; -0 is less than +0.
fn is_less(terms: &mut Terms, x: TermId, y: TermId) -> TermId {
    let arena = &mut terms.arena;
    let [negative_x, negative_y] = [x, y].map(|number| arena.extract(number, 31, 1));
    let same = arena.equal(negative_x, negative_y);
    let up = arena.compare(Comparison::UnsignedLess, x, y);
    let down = arena.compare(Comparison::UnsignedLess, y, x);
    let of_sign = arena.if_then_else(negative_x, down, up);
    arena.if_then_else(same, of_sign, negative_x)
}
