//! Whether fewer instructions may compute a collective: its members, its users, and the instructions to remove.

use rustc_hash::FxHashSet;

use super::chain::{Chain, Chains};
use super::counted::CountedLoop;
use super::form::{Form, Predicate};
use super::members::{Place, elsewhere, has_all_members};
use super::network::{Collective, Computes, Repeats, network_of};
use super::obstacle::Obstacle;
use super::users::Users;
use super::uses::{behind, readers};
use super::value::{LANES, Operator};
use crate::cfg::{Arg, Flow, InstId, RegisterId};
use crate::emulate::definitions;
use crate::isa::Opcode;

/// The evaluated code around a network.
pub(super) struct Around<'a> {
    /// The chain that it stands in.
    pub chain: &'a mut Chain,
    /// The repeats of that chain.
    pub repeats: &'a Repeats,
    /// The loop that it is done by.
    pub counted: Option<&'a CountedLoop>,
}

/// Decides about a collective.
pub(super) fn decide(
    place: &Place<'_, '_, '_>,
    chains: &mut Chains<'_, '_, '_>,
    around: &mut Around<'_>,
    one: &mut Collective,
) {
    one.form = form(place, chains, around, one);
    // The last lane of a prefix holds all lanes combined.
    if let (Computes::Prefix(operator), Err(Obstacle::NoInstruction(_))) = (one.computes, &one.form)
    {
        let computes = Computes::Reduction(operator);
        let last = Collective { computes, exact: 1 << (LANES - 1), ..one.clone() };
        let form = form(place, chains, around, &last);
        if form.is_ok() {
            *one = Collective { form, ..last };
        }
    }
    if one.computes == Computes::Duplicate {
        one.network = vec![one.result];
    }
    if one.form.is_ok() {
        one.removed = match around.counted {
            Some(counted) => counted.insts.clone().filter(|at| *at != one.result).collect(),
            None => removed(place.flow, one),
        };
    }
}

fn form(
    place: &Place<'_, '_, '_>,
    chains: &mut Chains<'_, '_, '_>,
    around: &mut Around<'_>,
    one: &Collective,
) -> Result<Form, Obstacle> {
    let found = instruction(place, around, one)?;
    let (chain, counted) = (&mut *around.chain, around.counted);
    let insts = &place.flow.insts;
    let is_read = |register: RegisterId| {
        register != one.register
            && counted.is_none()
            && readers(place.flow, behind(place.flow, one.result), register, None)
                .is_none_or(|readers| !readers.is_empty())
    };
    if definitions(&insts[one.result]).into_iter().any(is_read) {
        return Err(Obstacle::NoInstruction("the predicate of a shuffle"));
    }
    let mut network = one.network.clone();
    if let Form::Move(from, _) = found
        && let Some(at) = chain.written_before(one.result, from)
    {
        let other = network_of(chain, at, None);
        network.extend(other.ok_or(Obstacle::NoInstruction("a network of that size"))?);
    }
    for at in network.into_iter().filter(|at| insts[*at].ast.form.opcode == Opcode::Shfl) {
        if insts[at].guard.is_some() {
            return Err(Obstacle::Guarded((place.line)(at)));
        }
        let is_partial = match counted {
            Some(counted) => counted.partial.contains(&at),
            None => !has_all_members(chains, chain, at),
        };
        if is_partial && !planted!(Bug::CollectiveOfSome) {
            return Err(Obstacle::Mask((place.line)(at)));
        }
    }
    if !place.is_kernel {
        return Err(Obstacle::Function);
    }
    let begins = counted.map_or(one.network[0], |counted| counted.insts.start);
    if let Some(at) = elsewhere(place, chain, (begins, counted.is_some()))
        .filter(|_| !planted!(Bug::CollectiveElsewhere))
    {
        return Err(Obstacle::Divergent((place.line)(at)));
    }
    if one.exact != u32::MAX && !planted!(Bug::CollectiveForAll) {
        let start = match counted {
            Some(counted) => Some((counted.exit, place.flow.block(counted.exit).first)),
            None => behind(place.flow, one.result),
        };
        let first = readers(place.flow, start, one.register, None);
        let mut users = Users { chains, chain };
        let outside = users.outside((one.result, one.register), first, one.exact);
        if let Ok(Some(reader)) | Err(reader) = outside {
            return Err(Obstacle::Lanes((place.line)(reader)));
        }
    }
    Ok(found)
}

/// The instructions that compute it, members and users left aside.
fn instruction(
    place: &Place<'_, '_, '_>,
    around: &Around<'_>,
    one: &Collective,
) -> Result<Form, Obstacle> {
    let none = |what| Err(Obstacle::NoInstruction(what));
    match one.computes {
        Computes::Duplicate => match around.repeats.of(one.result) {
            Some((writer, from)) if place.flow.visible(from, one.result) => {
                Ok(Form::Move(from, writer))
            }
            _ => none("a value whose register cannot be named here"),
        },
        Computes::Reduction(operator) if one.of_predicates && one.lanes == LANES as u32 => {
            match (operator, predicate(place, around, one)) {
                (Operator::Sum, Ok(predicate)) => Ok(Form::Count(predicate)),
                (Operator::And, Ok(predicate)) => Ok(Form::Vote { predicate, all: true }),
                (Operator::Or, Ok(predicate)) => Ok(Form::Vote { predicate, all: false }),
                _ => Ok(Form::Redux(operator)),
            }
        }
        Computes::Reduction(operator) if one.upper.is_some() => Ok(Form::Wide(operator)),
        Computes::Reduction(operator) => Ok(Form::Redux(operator)),
        Computes::Prefix(Operator::Sum) if one.of_predicates && one.lanes == LANES as u32 => {
            predicate(place, around, one).map(Form::PrefixCount)
        }
        Computes::Prefix(_) => none("a value not made of one predicate by `selp`"),
    }
}

/// The predicate that selects the combined value, 0 or 1, if its register still holds it at the place of the result.
fn predicate(
    place: &Place<'_, '_, '_>,
    around: &Around<'_>,
    one: &Collective,
) -> Result<Predicate, Obstacle> {
    let steps = &around.chain.steps;
    let made = match around.counted {
        Some(counted) => steps
            .iter()
            .filter(|(at, step)| {
                let mut results = step.results.iter();
                **at < counted.insts.start && results.any(|(result, _)| *result == one.source)
            })
            .map(|(at, _)| *at)
            .max(),
        None => steps.get(&one.sender).and_then(|step| {
            step.reads.iter().find(|(read, _)| *read == one.source).and_then(|(_, from)| *from)
        }),
    };
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
    let end = around.counted.map_or(one.result, |counted| counted.insts.start);
    let is_written = |at: &&InstId| {
        **at > made && **at < end && definitions(&place.flow.insts[**at]).contains(register)
    };
    // (Something stands in front of a loop: what has made the value.)
    let in_front = around.counted.map_or(one.result, |counted| counted.insts.start.before());
    let places = [in_front, one.result];
    match steps.keys().filter(is_written).min() {
        Some(&at) => Err(Obstacle::Overwritten((place.line)(at))),
        None if !places.iter().all(|at| place.flow.visible(*register, *at)) => {
            Err(Obstacle::NoInstruction("a predicate that cannot be named here"))
        }
        None => Ok(Predicate { register: *register, negated }),
    }
}

/// The instructions of a network, its last one left aside, whose results nobody else reads.
fn removed(flow: &Flow<'_, '_>, one: &Collective) -> Vec<InstId> {
    let mut removed: FxHashSet<InstId> = FxHashSet::default();
    for &at in one.network.iter().rev().filter(|at| **at != one.result) {
        let is_unread = definitions(&flow.insts[at]).into_iter().all(|register| {
            readers(flow, behind(flow, at), register, Some(one.result)).is_some_and(|readers| {
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
