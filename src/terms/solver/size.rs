//! The size of a query before z3 gets it: z3 turns it into gates first, and does not look at its
//! resource limit meanwhile.

use rustc_hash::FxHashSet;

use super::translate::is_hard;
use crate::expr::{Arena, BinaryOp, Node, TermId, UnaryOp};

/// Gates of a query, roughly; `None` if there are more than `most`. `is_coarse` says that products and
/// quotients of unknowns are translated as symbols.
pub(super) fn gates(
    arena: &Arena,
    terms: impl IntoIterator<Item = TermId>,
    most: u64,
    is_coarse: bool,
) -> Option<u64> {
    let mut seen = FxHashSet::default();
    let mut work: Vec<TermId> = terms.into_iter().collect();
    let mut total = 0;
    while let Some(next) = work.pop() {
        if !seen.insert(next) {
            continue;
        }
        arena.charge(2);
        total += match is_coarse && is_hard(arena, next) {
            // The laws about such a symbol are comparisons.
            true => 4 * u64::from(arena.width(next)),
            false => of_node(arena, next),
        };
        if total > most {
            return None;
        }
        work.extend(arena.operands(next).into_iter().filter(|term| !seen.contains(term)));
    }
    Some(total)
}

/// The gates of one operation.
fn of_node(arena: &Arena, term: TermId) -> u64 {
    let width = u64::from(arena.width(term));
    let square = width * width;
    // A factor is added up once for each one bit of the constant that it is multiplied by.
    let by_constant = |value: u64| match value.count_ones().min((!value).count_ones() + 1) {
        0 | 1 => 0,
        ones => width * u64::from(ones),
    };
    match arena.node(term) {
        Node::Constant(_) | Node::Symbol(_) => 1,
        Node::Sum { addends, .. } => {
            addends.iter().map(|&(_, coefficient)| width + by_constant(coefficient)).sum()
        }
        Node::Product(factors) => {
            // A power takes as many multiplications as there are squarings and set bits.
            let powers = factors.iter().map(|&(_, exponent)| {
                u64::from(exponent.checked_ilog2().unwrap_or(0) + exponent.count_ones())
            });
            square * powers.sum::<u64>().saturating_sub(1)
        }
        Node::Unary(UnaryOp::PopulationCount | UnaryOp::LeadingZeros, _) => square,
        Node::Binary(op, _, divisor) => match op {
            BinaryOp::Multiply => square,
            BinaryOp::UnsignedMultiplyHigh | BinaryOp::SignedMultiplyHigh => 4 * square,
            BinaryOp::UnsignedDivide | BinaryOp::UnsignedRemainder => 3 * square,
            BinaryOp::SignedDivide | BinaryOp::SignedRemainder => 4 * square,
            BinaryOp::ShiftLeft | BinaryOp::ShiftRight | BinaryOp::ArithmeticShiftRight
                if arena.constant_value(*divisor).is_none() =>
            {
                8 * width
            }
            _ => width,
        },
        Node::Compare(_, a, _) => u64::from(arena.width(*a)),
        _ => width,
    }
}
