//! Collectives of values of 64 bits, which shuffles send by halves.

use super::chain::{Chain, Chains};
use super::classify::classify;
use super::halves::wide_operator;
use super::network::{Collective, Computes, crosses, network_of, sent};
use super::value::{Table, Value};
use crate::cfg::{Flow, InstId, RegisterId};
use crate::isa::Opcode;

/// A half that lanes send: the register, and the shuffle that sends it.
type Sent = (RegisterId, InstId);

/// The collective of 64 bits whose result an instruction writes.
pub(super) fn recognise_wide(
    flow: &Flow<'_, '_>,
    chains: &mut Chains<'_, '_, '_>,
    chain: &Chain,
    at: InstId,
) -> Option<Collective> {
    wide_operator(&flow.insts[at].ast.form)?;
    let (register, table) = chain.steps.get(&at)?.results.first().cloned()?;
    let network = network_of(chain, at, None)?;
    let (whole, low, high) = halves(flow, chains, chain, &network)?;
    let [lower, upper] = [false, true].map(|upper| {
        let half = |value| chains.values.half(value, upper);
        let (source, result) =
            (whole.map(half), table.map(|value| chains.values.half(value, upper)));
        classify(chains, &source, &result)
    });
    let classified = lower.filter(|_| lower == upper)?;
    if !matches!(classified, (Computes::Reduction(_), ..)) {
        return None;
    }
    let found = Collective::found(chain, classified, low, (at, register), network);
    Some(Collective { upper: Some(high), ..found })
}

/// The values of 64 bits that the first shuffles of a network send, with the lower half and the upper one.
fn halves(
    flow: &Flow<'_, '_>,
    chains: &Chains<'_, '_, '_>,
    chain: &Chain,
    network: &[InstId],
) -> Option<(Table, Sent, Sent)> {
    let (mut whole, mut found) = (None, [None, None]);
    let is_shuffle = |at: &&InstId| flow.insts[**at].ast.form.opcode == Opcode::Shfl;
    for &shuffle in network.iter().filter(is_shuffle) {
        let (source, table, from) = sent(flow, chain, shuffle)?;
        let half = |lane: usize| match chains.values.get(table[lane]) {
            Value::Half(of, upper) => Some((*of, *upper)),
            _ => None,
        };
        let Some((_, upper)) = half(0).filter(|_| !crosses(chain, from)) else { continue };
        let mut of = *table;
        let mut lanes = of.iter_mut().enumerate();
        let are_halves = lanes.all(|(lane, value)| match half(lane) {
            Some((of, other)) if other == upper => {
                *value = of;
                true
            }
            _ => false,
        });
        if are_halves && *whole.get_or_insert(of) == of {
            found[usize::from(upper)].get_or_insert((source, shuffle));
        }
    }
    let [low, high] = found;
    Some((whole?, low?, high?))
}
