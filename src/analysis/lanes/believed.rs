//! Uniform values that the trace does not know: results of votes, and indices that a warp shares, such as
//! `tid.x / 32`.

use super::alignment::Aligned;
use super::evaluate::{Context, Evaluator, Value};
use super::shape::{BlockShape, LANES};
use crate::cfg::Flow;
use crate::emulate::{Beliefs, KernelTrace, Uniformity};
use crate::expr::{BinaryOp, Node, TermId};

/// Lanes of a warp share bits from this one on.
const WARP_BITS: u8 = LANES.trailing_zeros() as u8;

/// Which symbols are uniform in blocks of this shape. `in_step`: if the lanes of a warp are in the same iteration of every
/// loop.
pub(crate) fn believed_uniformity(
    flow: &Flow<'_, '_>,
    trace: &KernelTrace,
    shape: BlockShape,
    aligned: &Aligned,
    in_step: bool,
) -> Uniformity {
    let mut beliefs = Beliefs { rows_are_short: !shape.is_linear(), in_step, ..Beliefs::default() };
    let plain = match beliefs.rows_are_short || in_step {
        true => trace.uniformity_under(flow, &beliefs),
        false => trace.uniformity.clone(),
    };
    if flow.loops.loops.is_empty() {
        return plain;
    }
    beliefs.symbols.extend(&trace.warp_wide);
    if let [warp] = shape.warps()[..] {
        let context = Context { trace, loops: &flow.loops, uniformity: &plain, shape };
        let mut evaluator = Evaluator::new(context, warp, None, aligned);
        let shared = |term: &TermId| {
            let is_candidate = match *trace.arena.node(*term) {
                Node::Extract(_, low) => low >= WARP_BITS,
                Node::Binary(op, ..) => is_quotient(op),
                _ => false,
            };
            is_candidate
                && matches!(evaluator.value(*term), Value::Known(value) if value.is_uniform())
        };
        beliefs.terms.extend(trace.arena.terms().filter(shared));
    }
    if beliefs.symbols.is_empty() && beliefs.terms.is_empty() {
        return plain;
    }
    trace.uniformity_under(flow, &beliefs)
}

fn is_quotient(op: BinaryOp) -> bool {
    matches!(
        op,
        BinaryOp::ShiftRight
            | BinaryOp::ArithmeticShiftRight
            | BinaryOp::UnsignedDivide
            | BinaryOp::SignedDivide
    )
}
