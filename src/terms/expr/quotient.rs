//! Facts about quotients and remainders of small dividends, which hold without dividing.
//!
//! A division is expensive for a solver. But an index that was checked against `n` is its own
//! remainder by `n`, and the remainder of one that is a little larger is the index minus `n`, which is
//! how periodic neighbours are found. Once this is said as facts, order alone decides.

use rustc_hash::FxHashSet;

use super::arena::Arena;
use super::node::{BinaryOp, Comparison, Node, TermId};

/// The most divisions of one claim about which facts are given.
const MAX_DIVISIONS: usize = 8;

/// A claim that is larger than this many terms gets no facts.
const MAX_TERMS: usize = 2048;

/// A division of integers of one width.
#[derive(Clone, Copy, Debug)]
pub struct Division {
    /// The quotient or the remainder.
    pub result: TermId,
    /// The dividend.
    pub dividend: TermId,
    /// The divisor.
    pub divisor: TermId,
    /// Whether both are read as signed.
    pub signed: bool,
    /// Whether the result is the remainder.
    pub remainder: bool,
}

impl Division {
    /// Two facts that hold for all values of the operands, if the divisor is not zero. If `0 <= a <
    /// b`, the quotient is 0 and the remainder `a`; if `0 <= a - b < b` without wrapping around, they
    /// are 1 and `a - b`.
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

#[cfg(feature = "internals")]
mod tests {
    use super::*;
    use crate::expr::{Evaluator, SymbolId};

    crate::unit_tests!(what_is_said_holds_for_all_values);

    /// All values of a small width.
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
            // `any` stands for every value that the division may have: the facts have to name the
            // right one.
            let any = arena.symbol(SymbolId(2), WIDTH);
            let [shown, of_any] = [result, any].map(|result| {
                let division = Division { result, dividend: a, divisor: b, signed, remainder };
                division.small(&mut arena)
            });
            let mut told = 0;
            for (x, y, z) in
                (0..16).flat_map(|x| (1..16).flat_map(move |y| (0..16).map(move |z| (x, y, z))))
            {
                let value = |symbol: SymbolId, _| [x, y, z][usize::from(symbol)];
                let mut evaluator = Evaluator::new(&arena, value);
                assert!(shown.iter().all(|fact| evaluator.value(*fact) == 1), "{op:?} {x} {y}");
                told += u32::from(of_any.iter().any(|fact| evaluator.value(*fact) == 0));
            }
            assert!(told > 500, "{op:?}: {told}");
        }
    }
}
