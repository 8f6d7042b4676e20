//! The cost of taking a load's value from another load's registers.

use crate::cost::Request;
use crate::emulate::KernelTrace;
use crate::patterns::finder::{Finder, Weighed};
use crate::patterns::group::Price;
use crate::reuse::{LegalReuse, Limit, Load, Piece, Refusal};
use crate::strategies::StrategyName;

/// Instructions beside the shuffle and the load that the paper's code needs for a load: the bound of
/// the corner case, the move of the received value, a share of the checks.
const PAPER_EXTRA: u32 = 3;

/// Instructions of a comparison of addresses: a difference and a comparison of 64 bits take two each, and the
/// load is still issued.
const COMPARISON: u32 = 5;

/// The price of a legal reuse, if it takes fewer cycles than the load.
///
/// # Errors
/// It takes more, or the assembler does the same.
pub(super) fn weigh(
    finder: &mut Finder<'_, '_, '_, '_>,
    trace: &mut KernelTrace,
    load: &Load,
    name: StrategyName,
    legal_reuse: &LegalReuse,
) -> Result<Option<Price>, Refusal> {
    if !finder.is_weighed() {
        return Ok(None);
    }
    if name == StrategyName::Reuse
        && let Some(line) = finder.legality.folded(trace, legal_reuse, load)
    {
        return Err(Refusal::AssemblerDoesIt(line));
    }
    let request = finder.request(trace, load);
    let costs = &finder.options.costs;
    let cost_before = costs.load(&request) + costs.instructions(1);
    let moves: u32 = legal_reuse.pieces.iter().map(Piece::instructions).sum();
    let comparison = match legal_reuse.guards.address_delta {
        Some(_) => costs.instructions(COMPARISON),
        None => 0.0,
    };
    let rows = &legal_reuse.guards.same_index;
    let words: u32 = rows.iter().map(|claim| if claim.low { 32 } else { claim.bits.into() }).sum();
    let comparison =
        comparison + costs.shuffle(words) + costs.instructions(COMPARISON * rows.len() as u32);
    let mut limit = None;
    let cost_after = comparison
        + match name {
            StrategyName::Paper => {
                let corner = Request { lanes: legal_reuse.delta.unsigned_abs(), ..request };
                let corner = if legal_reuse.delta == 0 { 0.0 } else { costs.load(&corner) };
                // (The load needs a move of the received value in any case.)
                let assembled = legal_reuse.pieces.iter().filter(|p| p.whole().is_none());
                let extra: u32 = assembled.map(Piece::instructions).sum();
                if !costs.allow_shuffles(&request) && legal_reuse.delta != 0 {
                    limit = Some(Limit::SharedPipe);
                }
                costs.shuffle(32 * legal_reuse.words())
                    + corner
                    + costs.instructions(PAPER_EXTRA + 1 + extra)
            }
            _ => costs.instructions(moves),
        };
    // Where lanes have to be asked, the load is performed for some: half of the time, as nobody knows how
    // often that is.
    let runtime_checked = u32::from(legal_reuse.guards.source_executed.is_some())
        + legal_reuse.guards.no_alias_checks.len() as u32;
    let cost_after = match runtime_checked {
        0 => cost_after,
        _ => {
            cost_after
                + costs.load(&request) / 2.0
                + costs.instructions(PAPER_EXTRA * runtime_checked)
        }
    };
    // Addresses are compared in front of every such load, and nobody has shown that this is worth it
    // where the first-level cache serves the load.
    let is_compared = legal_reuse.guards.address_delta.is_some() || !rows.is_empty();
    if is_compared && !costs.allow_shuffles(&request) {
        limit = limit.or(Some(Limit::Comparison));
    }
    let weighed = Weighed::new(cost_after, cost_before).limited(limit).of(&request);
    finder.pays(name, weighed).map(Some).map_err(Refusal::DoesNotPay)
}
