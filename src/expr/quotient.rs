//! What is known of quotients and remainders without dividing: what small dividends come to.
//!
//! A division is expensive for a solver. An index that was checked against `n` is its own remainder by
//! `n`, though, and one that is a little larger is by `n` less, which is how periodic neighbours are
//! found: said as facts, order alone decides.

use rustc_hash::FxHashSet;

use super::arena::{Arena, BinaryOp, Comparison, Node, TermId};

/// So many divisions of one claim are told of.
const MAX_DIVISIONS: usize = 8;

/// Nothing is told of claims that are larger than this many terms.
const MAX_TERMS: usize = 2048;

/// A division of integers of one width.
#[derive(Clone, Copy, Debug)]
pub struct Division {
    /// The quotient or the remainder.
    pub result: TermId,
    /// What is divided.
    pub dividend: TermId,
    /// By what.
    pub divisor: TermId,
    /// Whether both are read as signed.
    pub signed: bool,
    /// Whether the result is the remainder.
    pub remainder: bool,
}

impl Division {
    /// Two facts that hold for all values, of a result that is the quotient or remainder where the
    /// divisor is not zero. `0 <= a < b`: quotient 0, remainder `a`; `0 <= a - b < b` without wrapping
    /// around: 1 and `a - b`.
    pub fn small(self, arena: &mut Arena) -> [TermId; 2] {
        let Division { result, dividend: a, divisor: b, signed, remainder } = self;
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
}

/// Facts about the divisions in some terms by divisors that are no constants, which hold for all values.
pub fn small_dividends(arena: &mut Arena, roots: [TermId; 2]) -> Vec<TermId> {
    let (mut found, mut seen) = (Vec::new(), FxHashSet::default());
    let mut work = roots.to_vec();
    while let Some(term) = work.pop() {
        if !seen.insert(term) {
            continue;
        }
        arena.charge(1);
        if seen.len() > MAX_TERMS {
            return Vec::new();
        }
        found.extend(division(arena, term));
        work.extend(arena.operands(term));
    }
    found.sort_unstable_by_key(|division| division.result);
    found.truncate(MAX_DIVISIONS);
    found.into_iter().flat_map(|division| division.small(arena)).collect()
}

fn division(arena: &Arena, result: TermId) -> Option<Division> {
    let &Node::Binary(op, dividend, divisor) = arena.node(result) else { return None };
    let (signed, remainder) = match op {
        BinaryOp::UnsignedDivide => (false, false),
        BinaryOp::UnsignedRemainder => (false, true),
        BinaryOp::SignedDivide => (true, false),
        BinaryOp::SignedRemainder => (true, true),
        _ => return None,
    };
    let unknown = arena.constant_value(divisor).is_none();
    unknown.then_some(Division { result, dividend, divisor, signed, remainder })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::{Evaluator, SymbolId};

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
                let division = Division { result, dividend: a, divisor: b, signed, remainder };
                division.small(&mut arena)
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
