//! Operations are tried on numbers: sums, products and relations show in a few results.

use crate::algebra::Comparison;
use crate::interp::registers::{File, LANES, Registers, Slot, Slots, WarpOp};

/// What an operation on integers does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Tried {
    /// The sum of its sources with these factors.
    Sum([i8; 3]),
    /// The product of the first two, and the third added.
    Product,
    /// The first one times a power of 2.
    Shift,
    And,
    Or,
    /// A relation, and whether it is one of signed integers.
    Relation(Comparison, bool),
    /// Something else.
    Other,
}

/// The result of an operation on known sources.
pub(crate) fn run_once(op: &WarpOp, sources: &[u64]) -> u64 {
    use typed_index_collections::ti_vec;
    let mut registers = Registers {
        preds: ti_vec![0; 6],
        w32: ti_vec![[0; LANES]; 6],
        w64: ti_vec![[0; LANES]; 6],
    };
    let slots = Slots { d: [Slot(4), Slot(5)], s: [Slot(0), Slot(1), Slot(2), Slot(3)] };
    for (at, (file, &bits)) in op.s.iter().zip(sources).enumerate() {
        if let Some(file) = *file {
            registers.set(file, slots.s[at], 0, bits);
        }
    }
    (op.run)(&mut registers, &slots, 1);
    op.d[0].map_or(0, |file| registers.get(file, slots.d[0], 0))
}

/// Tries an operation.
pub(super) fn tried(op: &WarpOp, sources: usize) -> Tried {
    const A: u32 = 0x9e37_79b9;
    const B: u32 = 0x7f4a_7c15;
    const C: u32 = 0x2545_f491;
    let run = |sources: [u32; 3]| run_once(op, &sources.map(u64::from)[..op.sources()]) as u32;
    if op.d[0] == Some(File::Pred) {
        return relation(|a, b| run([a as u32, b as u32, 0]) != 0, 32)
            .filter(|_| sources == 2)
            .map_or(Tried::Other, |(comparison, signed)| Tried::Relation(comparison, signed));
    }
    let results = [[A, B, C], [B, C, A], [C, A, B], [1, 2, 4], [u32::MAX, 3, 5]];
    let is = |function: fn(u32, u32, u32) -> u32| {
        results.iter().all(|&[a, b, c]| run([a, b, c]) == function(a, b, c))
    };
    match sources {
        1 if is(|a, _, _| a.wrapping_neg()) => Tried::Sum([-1, 0, 0]),
        2 if is(|a, b, _| a.wrapping_add(b)) => Tried::Sum([1, 1, 0]),
        2 if is(|a, b, _| a.wrapping_sub(b)) => Tried::Sum([1, -1, 0]),
        3 if is(|a, b, c| a.wrapping_add(b).wrapping_add(c)) => Tried::Sum([1, 1, 1]),
        2 if is(|a, b, _| a.wrapping_mul(b)) => Tried::Product,
        3 if is(|a, b, c| a.wrapping_mul(b).wrapping_add(c)) => Tried::Product,
        2 if is(|a, b, _| a & b) => Tried::And,
        2 if is(|a, b, _| a | b) => Tried::Or,
        2 if is(|a, b, _| a.unbounded_shl(b)) => Tried::Shift,
        _ => Tried::Other,
    }
}

/// The relation of two integers of `bits` bits that an operation is, and whether it is one of signed integers.
pub(crate) fn relation(holds: impl Fn(u64, u64) -> bool, bits: u32) -> Option<(Comparison, bool)> {
    let comparison = match (holds(1, 2), holds(2, 2), holds(2, 1)) {
        (true, false, false) => Comparison::Lt,
        (true, true, false) => Comparison::Le,
        (false, false, true) => Comparison::Gt,
        (false, true, true) => Comparison::Ge,
        (false, true, false) => Comparison::Eq,
        (true, false, true) => Comparison::Ne,
        _ => return None,
    };
    // Of half the bits both would be equal.
    let half = 1 << (bits / 2);
    let is_wide = holds(2 * half + 1, half + 1) == holds(2, 1) && holds(1, half + 1) == holds(1, 2);
    let signed = match comparison {
        Comparison::Eq | Comparison::Ne => true,
        _ => holds(u64::MAX >> (64 - bits), 1) == holds(1, 2),
    };
    is_wide.then_some((comparison, signed))
}
