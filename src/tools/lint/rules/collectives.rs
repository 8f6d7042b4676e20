//! `collective-possible`: joint computations of lanes by several shuffles that one instruction could replace.

use super::super::rule::{Level, Rule};
use super::super::subject::{Found, Subject};
use crate::cfg::InstId;
use crate::collective::{Collective, Computes, Obstacle, Operator, Place, collectives};
use crate::isa::Opcode;
use crate::ptx::FunctionKind;

/// The reductions and counts of a function that CUDA has a function for.
pub(super) fn possible(subject: &Subject<'_, '_, '_>) -> Vec<Found> {
    let (flow, trace) = (subject.flow, subject.trace);
    let line = |inst: InstId| subject.line(inst);
    let is_kernel = subject.function.kind == FunctionKind::Entry;
    let place = Place { flow, is_kernel, trace, line: &line };
    let found = collectives(&place, Some(true));
    let of = |whole: &Collective| -> Vec<Found> {
        let is_loop = whole.in_loop.is_some();
        whole.parts().filter_map(|one| finding(subject, one, is_loop)).collect()
    };
    found.iter().flat_map(of).collect()
}

fn finding(subject: &Subject<'_, '_, '_>, one: &Collective, is_loop: bool) -> Option<Found> {
    let is_in_loop = match &one.form {
        Ok(_) => is_loop,
        Err(Obstacle::LoopWork(_) | Obstacle::LoopValue(_) | Obstacle::LoopKept(_)) => true,
        Err(_) => return None,
    };
    if one.lanes != 32 || one.upper.is_some() {
        return None;
    }
    let (what, function) = match (one.computes, one.of_predicates) {
        (Computes::Reduction(Operator::Sum), true) => (
            "the number of lanes in which a condition holds",
            "__popc(__ballot_sync(mask, condition))",
        ),
        (Computes::Prefix(Operator::Sum), true) => (
            "the number of lanes up to the own one in which a condition holds",
            "__popc(__ballot_sync(mask, condition) & lanemask_le)",
        ),
        (Computes::Reduction(Operator::Or), true) => {
            ("whether a condition holds in any lane", "__any_sync(mask, condition)")
        }
        (Computes::Reduction(Operator::And), true) => {
            ("whether a condition holds in all lanes", "__all_sync(mask, condition)")
        }
        (Computes::Reduction(operator), _) if !operator.is_float() => match operator {
            Operator::Sum => ("the sum of a value over the warp", "__reduce_add_sync(mask, value)"),
            Operator::Min(_) => ("the least value of the warp", "__reduce_min_sync(mask, value)"),
            Operator::Max(_) => {
                ("the greatest value of the warp", "__reduce_max_sync(mask, value)")
            }
            Operator::And => ("the bits set in all lanes", "__reduce_and_sync(mask, value)"),
            Operator::Or => ("the bits set in some lane", "__reduce_or_sync(mask, value)"),
            _ => ("the exclusive or of the warp", "__reduce_xor_sync(mask, value)"),
        },
        _ => return None,
    };
    let is_shuffle = |at: &&InstId| subject.inst(**at).ast.form.opcode == Opcode::Shfl;
    let shuffles = one.network.iter().filter(is_shuffle).count();
    let how = match is_in_loop {
        true => "a loop of shuffles computes".to_owned(),
        false => format!("{shuffles} shuffles compute"),
    };
    let since = if function.starts_with("__reduce") { ", on sm_80 and newer" } else { "" };
    Some(Found {
        rule: Rule::CollectivePossible,
        level: Level::Note,
        inst: one.result,
        message: format!("{how} {what}"),
        label: None,
        help: format!("`{function}` does it in one or two instructions{since}"),
        waste: 0,
    })
}
