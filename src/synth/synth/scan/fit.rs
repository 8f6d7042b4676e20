//! An expression that has given values on the examples: one of a bank, an extremum or conjunction of several of
//! them, or a choice between such.

use rustc_hash::FxHashSet;

use super::bank::{Bank, Target};
use super::term::{self, Op, Shared, Sort};

/// How many choices may stand within each other.
const DEPTH: u32 = 2;

/// The most expressions that are joined by one extremum, conjunction or disjunction.
const MOST_JOINED: usize = 4;

/// The most steps of one search for a cover.
const STEPS: u32 = 50_000;

/// The most conditions to try for which one branch of the choice is known and the other one is searched for.
const MOST_CONDITIONS: usize = 60;

/// An expression over both states for an accumulator's value after both lists.
pub(super) fn fit(bank: &mut Bank, accumulator: usize) -> Option<Shared> {
    let target = bank.targets[accumulator].clone();
    find(bank, &target, bank.all, DEPTH).or_else(|| {
        if matches!(target, Target::Truth(_)) {
            return None;
        }
        let before = bank.numbers.len();
        bank.deepen();
        let found = find(bank, &target, bank.all, 1);
        // The next accumulator begins with small expressions again.
        bank.forget(before);
        found
    })
}

/// An expression that has the target's values on the examples of `care`.
fn find(bank: &Bank, target: &Target, care: u128, depth: u32) -> Option<Shared> {
    match target {
        Target::Number(sort, values) => number(bank, target, (*sort, values), care, depth),
        Target::Truth(mask) => truth(bank, target, *mask, care, depth),
    }
}

/// An expression with the examples on which it is right.
type Piece<'b> = (u128, &'b Shared);

/// Drops pieces that are right on the same examples as an earlier one.
fn distinct<'b>(pieces: impl Iterator<Item = Piece<'b>>) -> Vec<Piece<'b>> {
    let mut seen = FxHashSet::default();
    pieces.filter(|(mask, _)| *mask != 0 && seen.insert(*mask)).collect()
}

fn number(
    bank: &Bank,
    target: &Target,
    (sort, values): (Sort, &[i64]),
    care: u128,
    depth: u32,
) -> Option<Shared> {
    let mut agree = Vec::with_capacity(bank.numbers.len());
    let (mut below, mut above) = (Vec::new(), Vec::new());
    for entry in bank.numbers.iter().filter(|entry| entry.sort == sort) {
        let (mut equal, mut less, mut more) = (0u128, 0u128, 0u128);
        for (at, (own, wanted)) in entry.values.iter().zip(values).enumerate() {
            equal |= u128::from(own == wanted) << at;
            less |= u128::from(own < wanted) << at;
            more |= u128::from(own > wanted) << at;
        }
        if equal & care == care {
            return Some(entry.term.clone());
        }
        agree.push((equal & care, &entry.term));
        if more & care == 0 {
            below.push((equal & care, &entry.term));
        }
        if less & care == 0 {
            above.push((equal & care, &entry.term));
        }
    }
    if sort == Sort::Integer
        && let Some(remainder) = bank.remainder(values, care)
    {
        return Some(remainder);
    }
    if care == bank.all
        && let Some(sum) = bank.sum(sort, values)
    {
        return Some(sum);
    }
    for (op, pieces) in [(Op::Max, below), (Op::Min, above)] {
        if bank.operators.contains(&op) {
            let pieces = distinct(pieces.into_iter());
            if let Some(joined) = cover(care, &pieces) {
                return join(op, joined);
            }
        }
    }
    choice(bank, target, &distinct(agree.into_iter()), care, depth)
}

fn truth(bank: &Bank, target: &Target, mask: u128, care: u128, depth: u32) -> Option<Shared> {
    let wanted = mask & care;
    if wanted == care || wanted == 0 {
        return Some(term::truth(wanted == care));
    }
    if let Some(entry) = bank.truths.iter().find(|entry| entry.mask & care == wanted) {
        return Some(entry.term.clone());
    }
    let implied = bank.truths.iter().filter(|entry| wanted & !entry.mask == 0);
    let implied = distinct(implied.map(|entry| (care & !entry.mask, &entry.term)));
    if let Some(joined) = cover(care & !wanted, &implied) {
        return join(Op::And, joined);
    }
    let implying = bank.truths.iter().filter(|entry| entry.mask & care & !wanted == 0);
    let implying = distinct(implying.map(|entry| (care & entry.mask, &entry.term)));
    if let Some(joined) = cover(wanted, &implying) {
        return join(Op::Or, joined);
    }
    let agree = bank.truths.iter().map(|entry| (care & !(entry.mask ^ mask), &entry.term));
    choice(bank, target, &distinct(agree), care, depth)
}

fn join(op: Op, joined: Vec<&Shared>) -> Option<Shared> {
    joined.into_iter().cloned().reduce(|a, b| term::binary(op, a, b))
}

/// The fewest pieces that together are right on all of `whole`, the earliest such.
fn cover<'b>(whole: u128, pieces: &[Piece<'b>]) -> Option<Vec<&'b Shared>> {
    fn search<'b>(
        left: u128,
        pieces: &[Piece<'b>],
        most: usize,
        steps: &mut u32,
        chosen: &mut Vec<&'b Shared>,
    ) -> bool {
        if left == 0 {
            return true;
        }
        if most == 0 {
            return false;
        }
        let first = left & left.wrapping_neg();
        for (mask, term) in pieces.iter().filter(|(mask, _)| mask & first != 0) {
            if *steps == 0 {
                return false;
            }
            *steps -= 1;
            if most == 1 && left & !mask != 0 {
                continue;
            }
            chosen.push(term);
            if search(left & !mask, pieces, most - 1, steps, chosen) {
                return true;
            }
            chosen.pop();
        }
        false
    }
    if pieces.iter().fold(0, |all, (mask, _)| all | mask) & whole != whole {
        return None;
    }
    let mut steps = STEPS;
    (1..=MOST_JOINED).find_map(|most| {
        let mut chosen = Vec::new();
        search(whole, pieces, most, &mut steps, &mut chosen).then_some(chosen)
    })
}

/// A condition with an expression for each of its values.
fn choice(
    bank: &Bank,
    target: &Target,
    pieces: &[Piece<'_>],
    care: u128,
    depth: u32,
) -> Option<Shared> {
    if depth == 0 {
        return None;
    }
    let direct = |care: u128| pieces.iter().find(|(mask, _)| mask & care == care);
    let is_split = |mask: u128| mask & care != 0 && !mask & care != 0;
    let mut halves = Vec::new();
    for condition in bank.truths.iter().filter(|condition| is_split(condition.mask)) {
        let (yes, no) = (condition.mask & care, !condition.mask & care);
        match (direct(yes), direct(no)) {
            (Some((_, a)), Some((_, b))) => {
                return Some(term::choose(condition.term.clone(), (*a).clone(), (*b).clone()));
            }
            (Some((_, a)), None) => halves.push((condition, *a, no)),
            _ => {}
        }
    }
    // One choice is simple, and the other one is not.
    if depth == 1 {
        return None;
    }
    for (condition, known, rest) in halves.into_iter().take(MOST_CONDITIONS) {
        if let Some(other) = find(bank, target, rest, depth - 1) {
            return Some(term::choose(condition.term.clone(), known.clone(), other));
        }
    }
    None
}
