//! Whether fewer instructions may compute a collective: its members, its users, and the instructions to remove.

use rustc_hash::FxHashSet;

use super::chain::{Chain, Chains};
use super::form::{Form, Predicate};
use super::lanes::Users;
use super::network::{Collective, Computes, Repeats, network_of};
use super::obstacle::Obstacle;
use super::uses::{readers, readers_before};
use super::value::{LANES, Operator};
use crate::cfg::{Arg, BlockId, EdgeCondition, Flow, Inst, InstId, RegisterId};
use crate::emulate::definitions;
use crate::isa::{Opcode, Qualifier};

/// The function, and facts that the analysis needs.
pub struct Place<'p, 'm, 's> {
    /// Its control flow.
    pub flow: &'p Flow<'m, 's>,
    /// Whether it is a kernel: a function may be called by some lanes of a warp.
    pub is_kernel: bool,
    /// Whether lanes that are together at a block's end take the same branch.
    pub is_uniform: &'p dyn Fn(BlockId) -> bool,
    /// The line of an instruction.
    pub line: &'p dyn Fn(InstId) -> u32,
}

/// Decides about a collective.
pub(super) fn decide(
    place: &Place<'_, '_, '_>,
    chains: &mut Chains<'_, '_, '_>,
    (chain, repeats): (&mut Chain, &Repeats),
    one: &mut Collective,
) {
    if one.form == Err(Obstacle::OneInstruction) {
        return;
    }
    one.form = form(place, chains, (chain, repeats), one);
    // The last lane of a prefix holds all lanes combined.
    if let (Computes::Prefix(operator), Err(Obstacle::NoInstruction(_))) = (one.computes, &one.form)
    {
        let computes = Computes::Reduction(operator);
        let last = Collective { computes, exact: 1 << (LANES - 1), ..one.clone() };
        let form = form(place, chains, (chain, repeats), &last);
        if form.is_ok() {
            *one = Collective { form, ..last };
        }
    }
    if one.computes == Computes::Duplicate {
        one.network = vec![one.result];
    }
    if one.form.is_ok() {
        one.removed = removed(place.flow, one);
    }
}

fn form(
    place: &Place<'_, '_, '_>,
    chains: &mut Chains<'_, '_, '_>,
    (chain, repeats): (&mut Chain, &Repeats),
    one: &Collective,
) -> Result<Form, Obstacle> {
    let found = instruction(place, (chain, repeats), one)?;
    let insts = &place.flow.insts;
    let is_read = |register: RegisterId| {
        register != one.register
            && readers(place.flow, one.result, register).is_none_or(|readers| !readers.is_empty())
    };
    if definitions(&insts[one.result]).into_iter().any(is_read) {
        return Err(Obstacle::NoInstruction("the predicate of a shuffle"));
    }
    let mut network = one.network.clone();
    if let Form::Move(from, _) = found {
        network.extend(
            chain
                .written_before(one.result, from)
                .map(|at| network_of(chain, at, None))
                .unwrap_or_default(),
        );
    }
    for at in network.into_iter().filter(|at| insts[*at].ast.form.opcode == Opcode::Shfl) {
        if insts[at].guard.is_some() {
            return Err(Obstacle::Guarded((place.line)(at)));
        }
        if !has_all_members(chains, chain, place.flow, at) && !planted!(Bug::CollectiveOfSome) {
            return Err(Obstacle::Mask((place.line)(at)));
        }
    }
    if !place.is_kernel {
        return Err(Obstacle::Function);
    }
    if let Some(at) = elsewhere(place, chains, chain, one.network[0])
        .filter(|_| !planted!(Bug::CollectiveElsewhere))
    {
        return Err(Obstacle::Divergent((place.line)(at)));
    }
    if one.exact != u32::MAX && !planted!(Bug::CollectiveForAll) {
        let mut users = Users { chains, chain };
        let outside = users.outside(one.result, one.register, one.exact);
        if let Ok(Some(reader)) | Err(reader) = outside {
            return Err(Obstacle::Lanes((place.line)(reader)));
        }
    }
    Ok(found)
}

/// The instructions that compute it, members and users left aside.
fn instruction(
    place: &Place<'_, '_, '_>,
    (chain, repeats): (&Chain, &Repeats),
    one: &Collective,
) -> Result<Form, Obstacle> {
    let none = |what| Err(Obstacle::NoInstruction(what));
    match one.computes {
        Computes::Duplicate => match repeats.of(one.result) {
            Some((writer, from)) if place.flow.visible(from, one.result) => {
                Ok(Form::Move(from, writer))
            }
            _ => none("a value whose register cannot be named here"),
        },
        Computes::Broadcast => none("a broadcast faster than a shuffle"),
        Computes::Reduction(_) if one.lanes < LANES as u32 => Err(Obstacle::Group(one.lanes)),
        Computes::Reduction(operator) if one.of_predicates => {
            match (operator, predicate(place, chain, one)) {
                (Operator::Sum, Ok(predicate)) => Ok(Form::Count(predicate)),
                (Operator::And, Ok(predicate)) => Ok(Form::Vote { predicate, all: true }),
                (Operator::Or, Ok(predicate)) => Ok(Form::Vote { predicate, all: false }),
                _ => Ok(Form::Redux(operator)),
            }
        }
        Computes::Reduction(Operator::FloatSum) | Computes::Prefix(Operator::FloatSum) => {
            Err(Obstacle::Rounding)
        }
        Computes::Reduction(operator) => Ok(Form::Redux(operator)),
        Computes::Prefix(Operator::Sum) if one.of_predicates && one.lanes == LANES as u32 => {
            predicate(place, chain, one).map(Form::PrefixCount)
        }
        Computes::Prefix(_) => none("a prefix of numbers"),
    }
}

/// The predicate that selects the combined value, 0 or 1, if its register still holds it at the place of the result.
fn predicate(
    place: &Place<'_, '_, '_>,
    chain: &Chain,
    one: &Collective,
) -> Result<Predicate, Obstacle> {
    let step = chain.steps.get(&one.sender);
    let from = step.and_then(|step| step.reads.iter().find(|(read, _)| *read == one.source));
    let made = from.and_then(|(_, from)| *from);
    let none = Obstacle::NoInstruction("a value not made of one predicate by `selp`");
    let Some(made) = made else { return Err(none) };
    let inst = &place.flow.insts[made];
    let bit = |arg: &Arg<'_>| match arg {
        Arg::Constant(value) => value.as_integer(),
        _ => None,
    };
    let (Opcode::Selp, [_, a, b, Arg::Register(register)], None) =
        (inst.ast.form.opcode, &inst.args[..], inst.guard)
    else {
        return Err(none);
    };
    let negated = match (bit(a), bit(b)) {
        (Some(1), Some(0)) => false,
        (Some(0), Some(1)) => true,
        _ => return Err(none),
    };
    let is_written = |at: &&InstId| {
        **at > made && **at < one.result && definitions(&place.flow.insts[**at]).contains(register)
    };
    match chain.insts.iter().find(is_written) {
        Some(&at) => Err(Obstacle::Overwritten((place.line)(at))),
        None if !place.flow.visible(*register, one.result) => {
            Err(Obstacle::NoInstruction("a predicate that cannot be named here"))
        }
        None => Ok(Predicate { register: *register, negated }),
    }
}

/// Whether the member mask of a shuffle is the constant of all lanes.
fn has_all_members(
    chains: &Chains<'_, '_, '_>,
    chain: &Chain,
    flow: &Flow<'_, '_>,
    at: InstId,
) -> bool {
    match flow.insts[at].args.last() {
        Some(Arg::Constant(value)) => {
            value.as_integer().is_some_and(|value| value as u32 == u32::MAX)
        }
        Some(Arg::Register(register)) => {
            let from = chain.steps[&at].reads.iter().find(|(read, _)| read == register);
            let table = match from {
                Some((_, Some(from))) => {
                    let results = &chain.steps[from].results;
                    results.iter().find(|(result, _)| result == register).map(|(_, table)| table)
                }
                _ => chain.before.get(register),
            };
            let is_full = |value: &super::value::ValueId| {
                chains.values.constant_of(*value) == Some(u64::from(u32::MAX))
            };
            table.is_some_and(|table| table.iter().all(is_full))
        }
        _ => false,
    }
}

/// Whether an instruction is executed by the lanes of a warp together, whose number its mask says, or may lead to one.
fn is_of_warp(inst: &Inst<'_, '_>) -> bool {
    let form = &inst.ast.form;
    let is_block =
        matches!(form.opcode, Opcode::Bar | Opcode::Barrier) && !form.has(Qualifier::Warp);
    form.has(Qualifier::Sync) && !is_block || form.opcode == Opcode::Call
}

/// Whether all threads of the block wait for each other at an instruction: the barrier names no number of threads.
fn is_of_block(inst: &Inst<'_, '_>) -> bool {
    let form = &inst.ast.form;
    matches!(form.opcode, Opcode::Bar | Opcode::Barrier)
        && !form.has_any(&[Qualifier::Warp, Qualifier::Arrive, Qualifier::Red])
        && inst.args.len() <= 1
}

/// A warp instruction that lanes may execute while others of their warp execute the chain: lanes that have been together
/// since the last warp instruction part at a branch, and those that do not come to the chain come to that instruction
/// first. (A shuffle with the mask of all lanes waits for all: PTX ISA, "shfl.sync".)
fn elsewhere(
    place: &Place<'_, '_, '_>,
    chains: &Chains<'_, '_, '_>,
    chain: &Chain,
    first_of_network: InstId,
) -> Option<InstId> {
    let flow = place.flow;
    let waits_at = |at: InstId| {
        let inst = &flow.insts[at];
        let by_warp = is_of_warp(inst) && has_all_members(chains, chain, flow, at);
        inst.guard.is_none() && (by_warp || is_of_block(inst))
    };
    // Lanes that have waited for each other in the chain itself are together behind.
    if chain.insts.iter().take_while(|at| **at < first_of_network).any(|at| waits_at(*at)) {
        return None;
    }
    let own: FxHashSet<BlockId> = chain.blocks.iter().copied().collect();
    // The first instruction of a block at which lanes wait, and whether only those of the warp do.
    let waits = |block: BlockId| {
        let mut insts = flow.block(block).instructions();
        insts.find_map(|at| match &flow.insts[at] {
            inst if is_of_block(inst) && inst.guard.is_none() => Some((at, false)),
            inst => is_of_warp(inst).then_some((at, true)),
        })
    };
    let mut above: FxHashSet<BlockId> = FxHashSet::default();
    let first = chain.blocks[0];
    let mut work: Vec<BlockId> =
        flow.block(first).predecessors.iter().map(|edge| edge.from).collect();
    while let Some(block) = work.pop() {
        if above.insert(block) && !own.contains(&block) && waits(block).is_none() {
            work.extend(flow.block(block).predecessors.iter().map(|edge| edge.from));
        }
    }
    let mut above: Vec<BlockId> = above.into_iter().collect();
    above.sort_unstable();
    let parts = |block: &BlockId| {
        let successors = &flow.block(*block).successors;
        let branches = successors.iter().any(|edge| edge.condition != EdgeCondition::Always);
        successors.len() > 1 && branches && !(place.is_uniform)(*block)
    };
    let mut seen: FxHashSet<BlockId> = FxHashSet::default();
    let mut work: Vec<BlockId> = Vec::new();
    for block in above.into_iter().filter(parts) {
        work.extend(flow.block(block).successors.iter().map(|edge| edge.to));
    }
    while let Some(block) = work.pop() {
        if own.contains(&block) || !seen.insert(block) {
            continue;
        }
        match waits(block) {
            Some((at, true)) => return Some(at),
            Some((_, false)) => {}
            None => work.extend(flow.block(block).successors.iter().map(|edge| edge.to)),
        }
    }
    None
}

/// The instructions of a network, its last one left aside, whose results nobody else reads.
fn removed(flow: &Flow<'_, '_>, one: &Collective) -> Vec<InstId> {
    let mut removed: FxHashSet<InstId> = FxHashSet::default();
    for &at in one.network.iter().rev().filter(|at| **at != one.result) {
        let is_unread = definitions(&flow.insts[at]).into_iter().all(|register| {
            readers_before(flow, at, register, Some(one.result)).is_some_and(|readers| {
                readers.iter().all(|reader| *reader == one.result || removed.contains(reader))
            })
        });
        if is_unread {
            removed.insert(at);
        }
    }
    let mut removed: Vec<InstId> = removed.into_iter().collect();
    removed.sort_unstable();
    removed
}
