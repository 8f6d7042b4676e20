//! The collectives that a counted loop has computed when it ends. Either the whole loop is replaced, or nothing of it.

use super::chain::{Chain, Chains};
use super::classify::{are_bits, classify};
use super::counted::CountedLoop;
use super::legal::{Around, decide};
use super::members::Place;
use super::network::{Collective, InLoop, Repeats, network_of};
use super::obstacle::Obstacle;
use super::uses::readers;
use super::value::Table;
use crate::cfg::{InstId, InstRange, RegisterId};
use crate::isa::Opcode;
use crate::ptx::ScalarType;

/// The collectives of a loop that is evaluated to its end: one that has the others beside it if all may be replaced, and
/// each by itself with the obstacle otherwise.
pub(super) fn in_loop(
    place: &Place<'_, '_, '_>,
    chains: &mut Chains<'_, '_, '_>,
    mut chain: Chain,
    counted: &CountedLoop,
) -> Vec<Collective> {
    let left = chain.written.iter().filter(|(_, (at, _))| counted.insts.contains(at));
    let mut left: Vec<(InstId, RegisterId)> =
        left.map(|(register, (at, _))| (*at, *register)).collect();
    left.sort_unstable();
    let behind = (counted.exit, place.flow.block(counted.exit).first);
    let (mut found, mut constants, mut obstacle) = (Vec::new(), Vec::new(), None);
    for (at, register) in left {
        let readers = readers(place.flow, Some(behind), register, None);
        if readers.as_ref().is_some_and(Vec::is_empty) {
            continue;
        }
        let table = chains.of(&mut chain, register);
        if let Some(value) = constant(place, chains, register, &table) {
            constants.push((register, value));
        } else if let Some(one) = recognise(place, chains, (&chain, counted), (at, register)) {
            found.push(one);
        } else if !planted!(Bug::CollectiveTemporary) {
            let reader = readers.and_then(|readers| readers.first().copied());
            obstacle.get_or_insert(Obstacle::LoopValue((place.line)(reader.unwrap_or(at))));
        }
    }
    let mut named = found.iter().flat_map(|one| [one.source, one.register]);
    let constant = constants.iter().map(|(register, _)| *register);
    if !named.by_ref().chain(constant).all(|register| is_named(place, counted, register)) {
        obstacle
            .get_or_insert(Obstacle::NoInstruction("a value whose register cannot be named here"));
    }
    obstacle = counted.work.map(|at| Obstacle::LoopWork((place.line)(at))).or(obstacle);
    for one in &mut found {
        let repeats = &Repeats::default();
        let mut around = Around { chain: &mut chain, repeats, counted: Some(counted) };
        decide(place, chains, &mut around, one);
    }
    let kept = found.iter().find(|one| one.form.is_err()).map(|one| one.result);
    obstacle = obstacle.or(kept.map(|at| Obstacle::LoopKept((place.line)(at))));
    if let Some(obstacle) = obstacle {
        for one in found.iter_mut().filter(|one| one.form.is_ok()) {
            one.form = Err(obstacle.clone());
        }
        return found;
    }
    let mut found = found.into_iter();
    let Some(first) = found.next() else { return Vec::new() };
    let in_loop = Some(Box::new(InLoop {
        blocks: counted.blocks.clone(),
        insts: counted.insts.clone(),
        iterations: counted.iterations,
        is_behind_entry: counted.is_behind_entry,
        constants,
        others: found.collect(),
    }));
    vec![Collective { in_loop, ..first }]
}

/// Whether a register can be named in front of a loop and at its end.
fn is_named(place: &Place<'_, '_, '_>, counted: &CountedLoop, register: RegisterId) -> bool {
    let InstRange { start, end } = counted.insts;
    let in_front = InstId(start.0.saturating_sub(1));
    place.flow.visible_everywhere(register, &[in_front, end.before()])
}

/// The constant that a register holds in all lanes, if it can be written into it.
fn constant(
    place: &Place<'_, '_, '_>,
    chains: &Chains<'_, '_, '_>,
    register: RegisterId,
    table: &Table,
) -> Option<u32> {
    let ty = place.flow.registers[register].ty;
    let value = chains.values.constant_of(table[0])?;
    let is_one = table.iter().all(|one| *one == table[0]);
    let is_written = ty.bits() == 32 || ty == ScalarType::Pred;
    (is_one && is_written).then_some(value as u32)
}

/// The collective whose result a register holds behind a loop.
fn recognise(
    place: &Place<'_, '_, '_>,
    chains: &mut Chains<'_, '_, '_>,
    (chain, counted): (&Chain, &CountedLoop),
    (at, register): (InstId, RegisterId),
) -> Option<Collective> {
    let (_, table) = chain.written.get(&register)?;
    let network: Vec<InstId> = network_of(chain, at, None)?
        .into_iter()
        .filter(|at| counted.insts.contains(at) && chain.steps[at].crosses)
        .collect();
    let is_shuffle = |at: &&InstId| place.flow.insts[**at].ast.form.opcode == Opcode::Shfl;
    let sender = *network.iter().find(is_shuffle)?;
    let mut sources = counted.entered.iter();
    let ((source, sent), classified) = sources
        .find_map(|(source, sent)| Some(((*source, sent), classify(chains, sent, table)?)))?;
    let of_predicates = are_bits(chains, sent);
    let found = Collective::found(chain, classified, (source, sender), (at, register), network);
    Some(Collective { of_predicates, ..found })
}
