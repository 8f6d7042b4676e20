//! The least or greatest number of single precision by `redux.sync` of integers.

use crate::collective::{Operator, Order};
use crate::ptx::write::{Code, op};
use crate::rewrite::Planner;

/// How integers stand for numbers of single precision.
pub(super) struct Ordered {
    greatest: bool,
    /// Whether a NaN is below all numbers, not above.
    nan_is_least: bool,
    flushes: bool,
}

impl Ordered {
    /// The instructions but for the reduction, moves left aside; an `and` with an `xor` is one.
    pub(super) fn instructions(&self) -> u32 {
        8 + 4 * u32::from(self.flushes) + 2 * u32::from(self.nan_is_least)
    }
}

/// How integers stand for the numbers that an operator combines.
pub(super) fn ordered(operator: Operator) -> Ordered {
    let greatest = matches!(operator, Operator::Max(_));
    let (propagates_nan, flushes) = match operator {
        Operator::Min(Order::Float { propagates_nan, flushes })
        | Operator::Max(Order::Float { propagates_nan, flushes }) => (propagates_nan, flushes),
        _ => (false, false),
    };
    Ordered { greatest, nan_is_least: greatest != propagates_nan, flushes }
}

impl Planner<'_, '_, '_, '_> {
    /// The least or greatest number, by integers in the order of the numbers: the bits of negative numbers but for the
    /// sign are inverted. NaNs are beyond all numbers, on the side that does not win unless NaNs do.
    pub(super) fn ordered(
        &mut self,
        order: &Ordered,
        (source, result, members): (&str, &str, &str),
        code: &mut Code,
    ) {
        let fresh = &mut self.plan.fresh;
        let (key, part, nan) = (fresh.word(), fresh.word(), fresh.predicate());
        let (sign, rest, infinity) = ("0x80000000", "0x7fffffff", "0x7f800000");
        code.put(op!(Mov.B32), &[&key, &source]);
        if order.flushes && !planted!(Bug::CollectiveUnflushed) {
            code.put(op!(And.B32), &[&part, &key, &infinity]);
            code.put(op!(Setp.Eq.U32), &[&nan, &part, &0]);
            code.put(op!(And.B32), &[&part, &key, &sign]);
            code.put(op!(Selp.B32), &[&key, &part, &key, &nan]);
        }
        let bound = if order.nan_is_least { sign } else { rest };
        code.put(op!(And.B32), &[&part, &key, &rest]);
        code.put(op!(Setp.Gt.U32), &[&nan, &part, &infinity]);
        code.put(op!(Shr.S32), &[&part, &key, &31]);
        code.put(op!(And.B32), &[&part, &part, &rest]);
        code.put(op!(Xor.B32), &[&key, &key, &part]);
        if !planted!(Bug::CollectiveNan) {
            code.put(op!(Selp.B32), &[&key, &bound, &key, &nan]);
        }
        let reduce = if order.greatest { op!(Redux.Sync.Max.S32) } else { op!(Redux.Sync.Min.S32) };
        code.put(reduce, &[&key, &key, &members]);
        code.put(op!(Shr.S32), &[&part, &key, &31]);
        code.put(op!(And.B32), &[&part, &part, &rest]);
        code.put(op!(Xor.B32), &[&part, &key, &part]);
        if order.nan_is_least {
            code.put(op!(Setp.Eq.S32), &[&nan, &key, &bound]);
            code.put(op!(Selp.B32), &[&part, &rest, &part, &nan]);
        }
        code.put(op!(Mov.B32), &[&result, &part]);
    }
}
