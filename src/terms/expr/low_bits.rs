//! Decides claims that depend on few low bits of the symbols, by trying all values of these bits.
//!
//! Whether an address is aligned, whether a square is 0 or 1 modulo 4, which byte of a word is meant: sums and products
//! carry upwards only, so the upper bits of an unknown index do not matter to such a claim.

use rustc_hash::FxHashMap;

use super::arena::Arena;
use super::bits::mask;
use super::node::{BinaryOp, Node, TermId, UnaryOp};
use super::walk::Walk;

/// The most bits of all symbols together.
const MAX_BITS: u32 = 12;

/// Whether two terms are equal for all values of the symbols, with the number of terms evaluated for that;
/// `None` if that depends on more bits, or if more than `most` terms would have to be evaluated.
pub(super) fn are_equal(arena: &Arena, (a, b): (TermId, TermId), most: u64) -> Option<(bool, u64)> {
    let mut walk = Walk::new(arena, [a, b].into_iter());
    let demanded = demanded(arena, walk.terms(), [a, b]);
    let bits = |symbol: &TermId| demanded.get(symbol).copied().unwrap_or(0);
    if walk.symbols().iter().map(|symbol| u32::from(bits(symbol))).sum::<u32>() > MAX_BITS {
        return None;
    }
    let bounds: Vec<(u64, u64)> = walk
        .symbols()
        .iter()
        .map(|symbol| {
            // As many values in a row as the bits have, so that each is among them.
            let range = arena.range(*symbol);
            (range.umin, range.umax.min(range.umin.saturating_add(mask_of(bits(symbol)))))
        })
        .collect();
    let equal = walk.each(&bounds, most, |walk| walk.value(a) != walk.value(b))?;
    Some((equal, walk.evaluated))
}

/// All ones in `bits` bits; 0 for no bits.
fn mask_of(bits: u8) -> u64 {
    if bits == 0 { 0 } else { mask(bits) }
}

/// How many low bits of each term can matter to all bits of the roots.
fn demanded(arena: &Arena, terms: &[TermId], roots: [TermId; 2]) -> FxHashMap<TermId, u8> {
    let mut demanded: FxHashMap<TermId, u8> = FxHashMap::default();
    let demand = |demanded: &mut FxHashMap<TermId, u8>, term: TermId, bits: u8| {
        let bits = bits.min(arena.width(term));
        let known = demanded.entry(term).or_default();
        *known = bits.max(*known);
    };
    for root in roots {
        demand(&mut demanded, root, arena.width(root));
    }
    // Terms stand behind their operands.
    for &term in terms.iter().rev() {
        arena.charge(1);
        let bits = demanded.get(&term).copied().unwrap_or(0);
        let (node, width) = (arena.node(term), arena.width(term));
        if bits == 0 {
            continue;
        }
        let mut of = |term, bits| demand(&mut demanded, term, bits);
        let constant = |term| arena.constant_value(term);
        match *node {
            Node::Sum { ref addends, .. } => {
                for &(addend, coefficient) in addends {
                    of(addend, bits.saturating_sub(coefficient.trailing_zeros() as u8));
                }
            }
            Node::Product(_) | Node::Unary(UnaryOp::Not, _) => {
                arena.operands(term).into_iter().for_each(|operand| of(operand, bits));
            }
            Node::Binary(BinaryOp::And, a, b) => {
                for (x, y) in [(a, b), (b, a)] {
                    let kept = constant(y).unwrap_or(u64::MAX) & mask(bits);
                    of(x, 64 - kept.leading_zeros() as u8);
                }
            }
            Node::Binary(BinaryOp::Or | BinaryOp::Xor, a, b) => {
                of(a, bits);
                of(b, bits);
            }
            Node::Binary(BinaryOp::ShiftLeft, a, b) if constant(b).is_some() => of(a, bits),
            Node::Binary(BinaryOp::ShiftRight, a, b)
                if let Some(by) = constant(b)
                    && by < u64::from(width) =>
            {
                of(a, bits.saturating_add(by as u8));
            }
            Node::IfThenElse(c, a, b) => {
                of(c, 1);
                of(a, bits);
                of(b, bits);
            }
            Node::ZeroExtend(a) | Node::SignExtend(a) => of(a, bits),
            Node::Extract(a, low) => of(a, bits.saturating_add(low)),
            Node::Concatenate(a, b) => {
                of(b, bits);
                of(a, bits.saturating_sub(arena.width(b)));
            }
            _ => arena.operands(term).into_iter().for_each(|operand| of(operand, 64)),
        }
    }
    demanded
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;
    use crate::expr::{Comparison, Range, SymbolId};

    crate::unit_tests!(
        a_square_is_zero_or_one_modulo_four,
        what_is_decided_is_what_trying_all_values_finds
    );

    fn a_square_is_zero_or_one_modulo_four() {
        let mut arena = Arena::new();
        let x = arena.symbol(SymbolId(0), 32);
        let square = arena.mul(x, x);
        let low = arena.extract(square, 0, 2);
        let low = arena.zero_extend(low, 32);
        let (two, always) = (arena.constant(2, 32), arena.boolean(true));
        let below = arena.compare(Comparison::UnsignedLess, low, two);
        assert_eq!(are_equal(&arena, (below, always), 1000).map(|found| found.0), Some(true));
        let never = arena.not(below);
        assert_eq!(are_equal(&arena, (never, always), 1000).map(|found| found.0), Some(false));
        // The square itself is a matter of all bits.
        let below = arena.compare(Comparison::UnsignedLess, square, two);
        assert_eq!(are_equal(&arena, (below, always), 1000), None);
        assert_eq!(are_equal(&arena, (below, below), 1), None);
    }

    /// Random claims about symbols of few bits: each decision agrees with a search over all values.
    fn what_is_decided_is_what_trying_all_values_finds() {
        let mut seed = 5u64;
        let mut next = move |below: u64| {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        let mut answers = [0; 3];
        for _ in 0..8000 {
            let mut arena = Arena::new();
            let mut known = Vec::new();
            for number in 0..2 {
                let (low, size) = (next(64), next(256));
                let top = (low + size).min(255);
                known.push(arena.symbol_within(SymbolId(number), 8, Range::unsigned(low, top, 8)));
            }
            for _ in 0..6 {
                let (a, b) = (known[next(known.len() as u64) as usize], known[next(2) as usize]);
                let number = arena.constant(next(8), 8);
                known.push(match next(12) {
                    0 => arena.add(a, b),
                    1 => arena.mul(a, b),
                    2 => arena.scale(a, next(256)),
                    3 => arena.binary(BinaryOp::And, a, number),
                    4 => arena.binary(BinaryOp::Or, a, b),
                    5 => arena.binary(BinaryOp::ShiftRight, a, number),
                    6 => arena.binary(BinaryOp::ShiftLeft, a, number),
                    7 => {
                        let low = arena.extract(a, next(4) as u8, 4);
                        if next(2) == 0 {
                            arena.zero_extend(low, 8)
                        } else {
                            arena.sign_extend(low, 8)
                        }
                    }
                    8 => {
                        let (x, y) = (arena.extract(a, 0, 3), arena.extract(b, 0, 5));
                        arena.concatenate(x, y)
                    }
                    9 => {
                        let less = arena.compare(Comparison::UnsignedLess, a, number);
                        arena.if_then_else(less, a, b)
                    }
                    10 => arena.binary(BinaryOp::UnsignedRemainder, a, number),
                    _ => arena.add_constant(a, next(256)),
                });
            }
            let bits = 1 + next(4) as u8;
            let (x, y) = (known[known.len() - 1], known[next(known.len() as u64) as usize]);
            let (x, y) = (arena.extract(x, 0, bits), arena.extract(y, 0, bits));
            let y = if next(3) == 0 { arena.constant(0, bits) } else { y };
            let Some((equal, _)) = are_equal(&arena, (x, y), 1 << 20) else {
                answers[2] += 1;
                continue;
            };
            let of = |symbol: TermId| {
                let range = arena.range(symbol);
                range.umin..=range.umax
            };
            let pairs = of(known[0]).flat_map(|a| of(known[1]).map(move |b| [a, b]));
            let expected = pairs.into_iter().all(|values| {
                let value = |symbol: SymbolId, _| values[usize::from(symbol)];
                let mut evaluator = crate::expr::Evaluator::new(&arena, value);
                evaluator.value(x) == evaluator.value(y)
            });
            assert_eq!(equal, expected);
            answers[usize::from(equal)] += 1;
        }
        assert!(answers.iter().all(|&count| count > 100), "{answers:?}");
    }
}
