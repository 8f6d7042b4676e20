//! Recognises collectives: which results are a reduction or a prefix of the lanes' values.

use std::rc::Rc;

use super::chain::{Chain, Chains};
use super::classify::{Classified, are_bits, classify};
use super::evaluate;
use super::halves::wide_operator;
use super::legal::{Around, decide};
use super::looped::in_loop;
use super::members::Place;
use super::network::{Collective, Computes, Repeats, crosses, network_of, sent};
use super::obstacle::Obstacle;
use super::value::{LANES, Operator};
use super::wide::recognise_wide;
use crate::cfg::{Flow, InstId, RegisterId};
use crate::isa::Opcode;

/// The most shuffles of one network whose operands are tried as the combined value.
const MAX_SOURCES: usize = 16;

/// The most instructions of a network that is tried by itself: a shuffle and an operation for each lane.
const MAX_NETWORK: usize = 2 * LANES;

/// The collectives of a function, in program order. `consecutive` says whether the lanes of each warp are consecutive in
/// `%tid.x` and begin with a multiple of 32, where that is known.
pub fn collectives(place: &Place<'_, '_, '_>, consecutive: Option<bool>) -> Vec<Collective> {
    if let Some(consecutive) = consecutive {
        return may_be_replaced(search(place, consecutive).found);
    }
    let Searched { found: of_consecutive, depends } = search(place, true);
    if !depends {
        return may_be_replaced(of_consecutive);
    }
    // Collectives that need consecutive lanes are tested at run time.
    let mut found = search(place, false).found;
    for one in of_consecutive {
        let one = Collective { needs_consecutive: true, ..one };
        match found.iter_mut().find(|known| known.result == one.result) {
            Some(known)
                if matches!(known.form, Err(Obstacle::Lanes(_) | Obstacle::LoopKept(_)))
                    && one.form != known.form =>
            {
                *known = one
            }
            Some(_) => {}
            None => found.push(one),
        }
    }
    let of_loops = found.iter().filter_map(|one| one.in_loop.as_ref());
    let others = of_loops.flat_map(|in_loop| &in_loop.others).map(|one| one.result);
    let others: Vec<InstId> = others.collect();
    found.retain(|one| !others.contains(&one.result));
    found.sort_by_key(|one| one.result);
    may_be_replaced(found)
}

/// Without prefixes of numbers, which no instruction computes. (The last lane of one may hold a reduction.)
fn may_be_replaced(mut found: Vec<Collective>) -> Vec<Collective> {
    let is_count =
        |one: &Collective| one.computes == Computes::Prefix(Operator::Sum) && one.of_predicates;
    found.retain(|one| !matches!(one.computes, Computes::Prefix(_)) || is_count(one));
    found
}

/// The collectives that a search has found.
struct Searched {
    found: Vec<Collective>,
    /// Whether `%tid.x` was asked for: without it all is the same whether lanes are consecutive in it or not.
    depends: bool,
}

fn search(place: &Place<'_, '_, '_>, consecutive: bool) -> Searched {
    let mut chains = Chains::new(place.flow, consecutive);
    let mut found = Vec::new();
    for mut chain in chains.with_exchanges() {
        let mut here: Vec<Collective> = Vec::new();
        let repeats = Repeats::new(place.flow, &chain);
        for index in 0..chain.insts.len() {
            let at = chain.insts[index];
            if let Some(one) = recognise(place.flow, &mut chains, (&chain, &repeats), at) {
                here.push(one);
            }
        }
        let whole = maximal(here);
        for mut one in whole {
            let mut around = Around { chain: &mut chain, repeats: &repeats, counted: None };
            decide(place, &mut chains, &mut around, &mut one);
            found.push(one);
        }
    }
    for (chain, counted) in chains.counted_loops() {
        found.extend(in_loop(place, &mut chains, chain, &counted));
    }
    found.sort_by_key(|one| one.result);
    Searched { found, depends: chains.asked_for_thread }
}

/// Those that are no step of a larger one.
fn maximal(found: Vec<Collective>) -> Vec<Collective> {
    let is_step = |one: &Collective| {
        found.iter().any(|other| {
            let same = match (one.computes, other.computes) {
                (Computes::Reduction(a), Computes::Reduction(b)) => a == b,
                (Computes::Prefix(a), Computes::Prefix(b)) => a == b,
                (Computes::Reduction(a), Computes::Prefix(b)) => a == b && one.lanes < 32,
                _ => false,
            };
            same && other.result != one.result && other.network.contains(&one.result)
        })
    };
    let kept: Vec<bool> = found.iter().map(|one| !is_step(one)).collect();
    found.into_iter().zip(kept).filter(|(_, kept)| *kept).map(|(one, _)| one).collect()
}

/// The collective whose result an instruction writes.
fn recognise(
    flow: &Flow<'_, '_>,
    chains: &mut Chains<'_, '_, '_>,
    (chain, repeats): (&Chain, &Repeats),
    at: InstId,
) -> Option<Collective> {
    let step = chain.steps.get(&at).filter(|step| step.crosses)?;
    let form = &flow.insts[at].ast.form;
    if wide_operator(form).is_some() {
        return recognise_wide(flow, chains, chain, at);
    }
    let is_shuffle = form.opcode == Opcode::Shfl;
    let (register, table) = step.results.first().cloned()?;
    let is_selected = || table.iter().any(|value| chains.values.is_extremum(*value));
    let combines = evaluate::operator(form).is_some();
    if !(is_shuffle || combines || form.opcode == Opcode::Selp && is_selected()) {
        return None;
    }
    let repeated = repeats.of(at).filter(|_| is_shuffle);
    let whole = network_of(chain, at, None)?;
    let shuffles = whole.iter().filter(|inst| flow.insts[**inst].ast.form.opcode == Opcode::Shfl);
    // The operand may have come from other lanes itself.
    let mut found = None;
    for &shuffle in shuffles.take(MAX_SOURCES) {
        let (source, combined, from) = sent(flow, chain, shuffle)?;
        let network = network_of(chain, at, from)?;
        found = match repeated {
            Some(_) => Some((Computes::Duplicate, 32, u32::MAX)),
            None => match classify(chains, &combined, &table) {
                Some(_) if crosses(chain, from) => {
                    of_any_values(chains, chain, (source, from), &network, register)
                }
                whole => whole,
            },
        }
        .map(|classified| (classified, (source, shuffle), combined, network));
        if found.is_some() {
            break;
        }
    }
    let (classified, sent, combined, network) = found?;
    let of_predicates = are_bits(chains, &combined);
    let found = Collective::found(chain, classified, sent, (at, register), network);
    Some(Collective { of_predicates, ..found })
}

/// The operation of a network on unrelated source values, also where the chain's are related.
fn of_any_values(
    chains: &mut Chains<'_, '_, '_>,
    chain: &Chain,
    (source, writer): (RegisterId, Option<InstId>),
    network: &[InstId],
    result: RegisterId,
) -> Option<Classified> {
    if network.len() > MAX_NETWORK {
        return None;
    }
    let any = Rc::new(chains.values.fresh());
    let table = chains.evaluate_with(chain, network, ((source, writer), &any), result)?;
    classify(chains, &any, &table)
}
