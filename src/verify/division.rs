//! What is known of quotients and remainders by divisors that are no constants, which are functions of
//! their operands elsewhere: what small dividends come to. An index that was checked against `n` is its
//! own remainder by `n`, and one that is a little larger is by `n` less, which is how periodic
//! neighbours are found. Of division by zero nothing is said (PTX ISA, "div", "rem").

use rustc_hash::FxHashSet;

use super::symbols::Terms;
use crate::expr::{Arena, Comparison, Node, TermId};
use crate::solver::Names;

/// So many divisions of one claim are told of.
const MAX_DIVISIONS: usize = 8;

/// Nothing is told of claims that are larger than this many terms.
const MAX_TERMS: usize = 2048;

/// A division of integers.
#[derive(Clone, Copy)]
struct Division {
    result: TermId,
    dividend: TermId,
    divisor: TermId,
    signed: bool,
    remainder: bool,
}

/// Facts about the divisions in some terms, which hold for all values. What stands inside of products
/// and other functions is left out, since these are symbols where the facts are used.
pub(super) fn facts(terms: &mut Terms, roots: impl Iterator<Item = TermId>) -> Vec<TermId> {
    let found = divisions(terms, roots);
    found.into_iter().flat_map(|division| small(&mut terms.arena, division)).collect()
}

/// `0 <= a < b`: quotient 0, remainder `a`; `0 <= a - b < b` without wrapping around: 1 and `a - b`.
fn small(arena: &mut Arena, division: Division) -> [TermId; 2] {
    let Division { result, dividend: a, divisor: b, signed, remainder } = division;
    let (less, at_most) = match signed {
        true => (Comparison::SignedLess, Comparison::SignedLessEqual),
        false => (Comparison::UnsignedLess, Comparison::UnsignedLessEqual),
    };
    let (zero, one) = (arena.constant(0, arena.width(a)), arena.constant(1, arena.width(a)));
    let rest = arena.sub(a, b);
    [(a, zero, zero), (rest, one, b)].map(|(left, quotient, least)| {
        let mut when = arena.compare(less, left, b);
        for (low, high) in [(zero, left), (least, a)] {
            let holds = arena.compare(at_most, low, high);
            when = arena.and(when, holds);
        }
        let then = arena.equal(result, if remainder { left } else { quotient });
        let not = arena.not(when);
        arena.or(not, then)
    })
}

/// The division that a term is. By a constant it is an operation that the solver knows.
fn division(terms: &Terms, result: TermId) -> Option<Division> {
    let Node::Apply(function, operands) = terms.arena.node(result) else { return None };
    let &[dividend, divisor] = &operands[..] else { return None };
    let (name, ty) = terms.symbols.function(*function).strip_suffix("#0")?.split_once('.')?;
    let remainder = match name {
        "div" => false,
        "rem" => true,
        _ => return None,
    };
    let (signed, bits) = match ty {
        "u16" => (false, 16),
        "s16" => (true, 16),
        "u32" => (false, 32),
        "s32" => (true, 32),
        "u64" => (false, 64),
        "s64" => (true, 64),
        _ => return None,
    };
    let whole = [result, dividend, divisor].into_iter().all(|one| terms.arena.width(one) == bits);
    whole.then_some(Division { result, dividend, divisor, signed, remainder })
}

/// The first divisions, in the order in which they were made.
fn divisions(terms: &Terms, roots: impl Iterator<Item = TermId>) -> Vec<Division> {
    let (mut found, mut seen) = (Vec::new(), FxHashSet::default());
    let mut work: Vec<TermId> = roots.collect();
    while let Some(term) = work.pop() {
        if !seen.insert(term) {
            continue;
        }
        terms.arena.charge(1);
        if seen.len() > MAX_TERMS {
            return Vec::new();
        }
        match terms.arena.node(term) {
            Node::Product(_) => continue,
            Node::Apply(..) => match division(terms, term) {
                Some(division) => found.push(division),
                None => continue,
            },
            _ => {}
        }
        work.extend(terms.arena.operands(term));
    }
    found.sort_unstable_by_key(|division| division.result);
    found.truncate(MAX_DIVISIONS);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::{BinaryOp, Evaluator, SymbolId};

    /// All values of a small width.
    #[test]
    fn what_is_said_holds_for_all_values() {
        const WIDTH: u8 = 4;
        let mut arena = Arena::new();
        let [a, b] = [0, 1].map(|number| arena.symbol(SymbolId(number), WIDTH));
        for (op, signed, remainder) in [
            (BinaryOp::UnsignedDivide, false, false),
            (BinaryOp::UnsignedRemainder, false, true),
            (BinaryOp::SignedDivide, true, false),
            (BinaryOp::SignedRemainder, true, true),
        ] {
            let result = arena.binary(op, a, b);
            // What any value may stand for: the facts have to tell it.
            let any = arena.symbol(SymbolId(2), WIDTH);
            let [shown, of_any] = [result, any].map(|result| {
                small(&mut arena, Division { result, dividend: a, divisor: b, signed, remainder })
            });
            let mut told = 0;
            for (x, y, z) in
                (0..16).flat_map(|x| (1..16).flat_map(move |y| (0..16).map(move |z| (x, y, z))))
            {
                let value = |symbol: SymbolId, _| [x, y, z][symbol.0 as usize];
                let mut evaluator = Evaluator::new(&arena, value);
                assert!(shown.iter().all(|fact| evaluator.value(*fact) == 1), "{op:?} {x} {y}");
                told += u32::from(of_any.iter().any(|fact| evaluator.value(*fact) == 0));
            }
            assert!(told > 500, "{op:?}: {told}");
        }
    }
}
