//! The cycles of collectives: of the instructions that are there, and of those that take their place.

use super::ordered::ordered;
use crate::cfg::{Flow, InstId};
use crate::collective::{Collective, Form};
use crate::cost::Costs;
use crate::isa::Opcode;
use crate::isa::limits::WARP_SIZE;
use crate::patterns::finder::{Finder, Weighed, hundredths};
use crate::patterns::group::Price;
use crate::reuse::Unprofitable;
use crate::strategies::StrategyName;

/// Instructions of the test that lanes are consecutive in `%tid.x`, and of the branches on it.
const TEST: u32 = 10;

/// Whether it takes fewer cycles than the removed instructions.
pub(super) fn weigh(
    finder: &Finder<'_, '_, '_, '_>,
    flow: &Flow<'_, '_>,
    collective: &Collective,
) -> Result<Option<Price>, Unprofitable> {
    let costs = &finder.options.costs;
    let cost_before: f64 = match &collective.in_loop {
        Some(one) => {
            let each: f64 = one.insts.clone().map(|at| cycles(costs, flow, at)).sum();
            f64::from(one.iterations) * each
        }
        None => {
            let removed = collective.removed.iter().chain([&collective.result]);
            removed.map(|at| cycles(costs, flow, *at)).sum()
        }
    };
    let test = match collective.needs_consecutive {
        true => costs.instructions(TEST) + costs.version_cycles,
        false => 0.0,
    };
    let constants = collective.in_loop.as_ref().map_or(0, |one| one.constants.len());
    let forms: f64 = collective.parts().filter_map(|part| instead(costs, part)).sum();
    let cost_after = test + forms + costs.instructions(constants as u32);
    if !finder.is_weighed() {
        return Ok(Some(Price {
            cost_after: hundredths(cost_after),
            cost_before: hundredths(cost_before),
        }));
    }
    finder.pays(StrategyName::Collective, Weighed::new(cost_after, cost_before)).map(Some)
}

/// The cycles of the instructions that compute a collective.
fn instead(costs: &Costs, one: &Collective) -> Option<f64> {
    Some(match one.form.as_ref().ok()? {
        Form::Redux(_) => reduction(costs, one.lanes),
        Form::Ordered(operator) => {
            let around = ordered(*operator).instructions() - 1;
            reduction(costs, one.lanes) + costs.instructions(around)
        }
        Form::Wide(_) => 2.0 * reduction(costs, one.lanes),
        Form::Count(_) => costs.vote_cycles + costs.popc_cycles + costs.instructions(2),
        Form::PrefixCount(_) => costs.vote_cycles + costs.popc_cycles + costs.instructions(4),
        Form::Vote { .. } => costs.vote_cycles + costs.instructions(2),
        Form::Move(..) => costs.instructions(1),
    })
}

/// The cycles of `redux.sync` in groups of lanes. Groups are served one behind the other, as ptxas 13.5 writes it: three
/// instructions for the mask and one that opens the divergent part; then for each group `WARPSYNC.EXCLUSIVE`, `REDUX`, a move
/// from the uniform register and `BSYNC`. Before sm_90 a `REDUX.OR` of the masks comes first, and a call in each group.
fn reduction(costs: &Costs, lanes: u32) -> f64 {
    if lanes == WARP_SIZE {
        return costs.redux_cycles + costs.instructions(1);
    }
    let groups = WARP_SIZE / lanes;
    let (first, around, each) = match costs.architecture {
        90.. => (0.0, 4, 4),
        _ => (costs.redux_cycles, 7, 10),
    };
    let of_group = costs.redux_cycles + costs.instructions(each);
    first + costs.instructions(around) + f64::from(groups) * of_group
}

/// The cycles of an instruction of a network.
fn cycles(costs: &Costs, flow: &Flow<'_, '_>, at: InstId) -> f64 {
    match flow.insts[at].ast.form.opcode {
        Opcode::Shfl => costs.shuffle_cycles + costs.instructions(1),
        // Between registers of one size the assembler leaves it out.
        Opcode::Mov => 0.0,
        _ => costs.instructions(1),
    }
}
