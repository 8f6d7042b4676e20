//! What integer arithmetic makes of poison in its sources.
//!
//! In: an operation, its sources, and their poison. Out: a superset of the bits of its result that depend on poison. Carries
//! only go up, so the bits of a sum below all poison are determined, and so are those of a product as far as the other
//! factor has zeros; a comparison, minimum or maximum is determined if it is the same for the least and the greatest values.

use super::Poison;
use crate::interp::program::rare::Cell;
use crate::interp::registers::{Dependence, LANES, Mask, Registers, Slots, WarpOp, lanes};

/// The first bit that is set; 64 if none is.
fn first(bits: u64) -> u32 {
    bits.trailing_zeros()
}

/// All bits from one on.
fn from(bit: u32) -> u64 {
    u64::MAX.checked_shl(bit).unwrap_or(0)
}

impl Poison {
    /// The bits of an operation's result that may depend on poison, by lane.
    pub(super) fn integers(
        &mut self,
        (op, slots): (&WarpOp, &Slots),
        sources: &[Cell],
        mask: Mask,
        registers: &Registers,
    ) -> [u64; LANES] {
        let same = matches!(sources, [a, b, ..] if a == b);
        let tries = match op.dependence {
            Dependence::Monotone(negative) => Some(negative),
            // The difference of a number and itself; sums of other poison differ.
            Dependence::Sum if same => Some(0),
            _ => None,
        };
        if let Some(negative) = tries {
            let tried = self.tried((op, slots), sources, (mask, negative), registers);
            return tried.map(|differing| if differing == 0 { 0 } else { u64::MAX });
        }
        let mut found = [u64::MAX; LANES];
        for lane in lanes(mask) {
            let mut numbers = [(0, 0); 3];
            for (number, &cell) in numbers.iter_mut().zip(sources) {
                let bits = self.bits(cell, lane);
                let value = registers.get(cell.0, cell.1, lane) & !bits;
                *number = (value, bits);
            }
            found[lane] = match op.dependence {
                Dependence::Sum => from(first(numbers.iter().fold(0, |all, n| all | n.1))),
                Dependence::Product => from(first_of_product(numbers).min(first(numbers[2].1))),
                Dependence::HighProduct if first_of_product(numbers) >= 2 * u64::BITS => {
                    from(first(numbers[2].1))
                }
                Dependence::Equality if same => 0,
                Dependence::Equality => {
                    let [a, b, _] = numbers;
                    if (a.0 ^ b.0) & !(a.1 | b.1) == 0 { u64::MAX } else { 0 }
                }
                _ => u64::MAX,
            };
        }
        found
    }
}

/// The first bit of a product that may depend on poison in its factors, which are given by their determined bits and by their
/// poison; at least 128 if none does.
fn first_of_product([a, b, _]: [(u64, u64); 3]) -> u32 {
    let one = |poison: u64, factor: (u64, u64)| match (poison, factor) {
        (0, _) | (_, (0, 0)) => 2 * u64::BITS,
        _ => first(poison) + first(factor.0 | factor.1),
    };
    one(a.1, b).min(one(b.1, a))
}
