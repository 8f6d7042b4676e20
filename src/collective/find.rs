//! Recognises collectives: which results are a reduction, a prefix, a broadcast of the lanes' values.

use std::rc::Rc;

use super::chain::{Chain, Chains};
use super::evaluate;
use super::legal::{self, Place};
use super::network::{Collective, Computes, Repeats, network_of};
use super::obstacle::Obstacle;
use super::value::{LANES, Operator, Table, Value, Values};
use crate::cfg::{Arg, Flow, InstId, RegisterId};
use crate::isa::Opcode;

/// The most shuffles of one network whose operands are tried as the combined value.
const MAX_SOURCES: usize = 16;

/// The most instructions of a network that is tried by itself: a shuffle and an operation for each lane.
const MAX_NETWORK: usize = 2 * LANES;

/// The collectives of a function, in program order. `consecutive` says whether the lanes of each warp are consecutive in
/// `%tid.x` and begin with a multiple of 32, where that is known.
pub fn collectives(place: &Place<'_, '_, '_>, consecutive: Option<bool>) -> Vec<Collective> {
    if let Some(consecutive) = consecutive {
        return search(place, consecutive).found;
    }
    let Searched { found: of_consecutive, depends } = search(place, true);
    if !depends {
        return of_consecutive;
    }
    // Collectives that need consecutive lanes are tested at run time.
    let mut found = search(place, false).found;
    for one in of_consecutive {
        let one = Collective { needs_consecutive: true, ..one };
        match found.iter_mut().find(|known| known.result == one.result) {
            Some(known)
                if matches!(known.form, Err(Obstacle::Lanes(_))) && one.form != known.form =>
            {
                *known = one
            }
            Some(_) => {}
            None => found.push(one),
        }
    }
    found.sort_by_key(|one| one.result);
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
            legal::decide(place, &mut chains, (&mut chain, &repeats), &mut one);
            found.push(one);
        }
    }
    let loops = chains.counted_loops();
    found.extend(
        loops.iter().flat_map(|(chain, sent)| in_loop(place.flow, &mut chains, chain, sent)),
    );
    found.sort_by_key(|one| one.result);
    Searched { found, depends: chains.asked_for_thread }
}

/// The collectives that a loop has computed when it ends.
fn in_loop(
    flow: &Flow<'_, '_>,
    chains: &mut Chains<'_, '_, '_>,
    chain: &Chain,
    sent: &Table,
) -> Vec<Collective> {
    let is_shuffle = |at: &&InstId| flow.insts[**at].ast.form.opcode == Opcode::Shfl;
    let Some(&sender) = chain.insts.iter().find(is_shuffle) else { return Vec::new() };
    let Some(Arg::Register(source)) = flow.insts[sender].args.get(1) else {
        return Vec::new();
    };
    let network: Vec<InstId> =
        chain.insts.iter().copied().filter(|at| chain.steps[at].crosses).collect();
    let mut found = Vec::new();
    for &at in &network {
        let Some((register, table)) = chain.steps[&at].results.first() else { continue };
        let is_last = chain.written.get(register).is_some_and(|(last, _)| *last == at);
        if !is_last || evaluate::operator(&flow.insts[at].ast.form).is_none() {
            continue;
        }
        let Some((computes, lanes, exact)) = classify(chains, sent, table) else { continue };
        found.push(Collective {
            computes,
            lanes,
            source: *source,
            sender,
            result: at,
            register: *register,
            network: network.clone(),
            exact,
            of_predicates: are_bits(chains, sent),
            needs_consecutive: false,
            form: Err(Obstacle::Loop),
            removed: Vec::new(),
        });
    }
    found
}

/// Whether each value of a table is 0 or 1 by a predicate.
fn are_bits(chains: &Chains<'_, '_, '_>, table: &Table) -> bool {
    table.iter().all(|value| match chains.values.get(*value) {
        Value::Choice(_, a, b) => {
            let bit = |value| chains.values.constant_of(value).filter(|value| *value < 2);
            matches!((bit(*a), bit(*b)), (Some(a), Some(b)) if a != b)
        }
        _ => false,
    })
}

/// Those that are no step of a larger one.
fn maximal(found: Vec<Collective>) -> Vec<Collective> {
    let is_step = |one: &Collective| {
        found.iter().any(|other| {
            let same = match (one.computes, other.computes) {
                // A broadcast of a reduction is the reduction.
                (Computes::Reduction(a), Computes::Reduction(b)) => a == b,
                (Computes::Prefix(a), Computes::Prefix(b)) => a == b,
                (Computes::Reduction(a), Computes::Prefix(b)) => a == b && one.lanes < 32,
                (Computes::Broadcast, Computes::Reduction(_)) => true,
                (Computes::Broadcast | Computes::Duplicate, _) => false,
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
    if form.opcode == Opcode::Redux {
        return one_instruction(flow, at);
    }
    let is_shuffle = form.opcode == Opcode::Shfl;
    if !is_shuffle && evaluate::operator(form).is_none() {
        return None;
    }
    let (register, table) = step.results.first().cloned()?;
    let repeated = repeats.of(at).filter(|_| is_shuffle);
    let whole = network_of(chain, at, None);
    let shuffles = whole.iter().filter(|inst| flow.insts[**inst].ast.form.opcode == Opcode::Shfl);
    // The operand may have come from other lanes itself.
    let mut found = None;
    for &shuffle in shuffles.take(MAX_SOURCES) {
        let (source, combined, from) = sent(flow, chain, shuffle)?;
        let network = network_of(chain, at, from);
        found = match repeated {
            Some(_) => Some((Computes::Duplicate, 32, u32::MAX)),
            None => match classify(chains, &combined, &table) {
                Some(_) if crosses(chain, from) => {
                    of_any_values(chains, chain, (source, from), &network, register)
                }
                whole => whole,
            },
        }
        .map(|(computes, lanes, exact)| {
            ((source, shuffle), combined, network, computes, lanes, exact)
        });
        if found.is_some() {
            break;
        }
    }
    let ((source, sender), combined, network, computes, lanes, exact) = found?;
    Some(Collective {
        computes,
        lanes,
        source,
        sender,
        result: at,
        register,
        network,
        exact,
        of_predicates: are_bits(chains, &combined),
        needs_consecutive: false,
        form: Err(Obstacle::NoInstruction("it")),
        removed: Vec::new(),
    })
}

/// Whether a result of an instruction may come from other lanes. Where a warp lacks lanes, the values of two lanes
/// that have exchanged theirs may then differ, so a network behind is looked at for itself.
fn crosses(chain: &Chain, writer: Option<InstId>) -> bool {
    let step = writer.and_then(|writer| chain.steps.get(&writer));
    step.is_some_and(|step| step.crosses)
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

/// A reduction that is one instruction already.
fn one_instruction(flow: &Flow<'_, '_>, at: InstId) -> Option<Collective> {
    let inst = &flow.insts[at];
    let [Arg::Register(register), Arg::Register(source), mask] = &inst.args[..] else {
        return None;
    };
    let lanes = match mask {
        Arg::Constant(value) => value.as_integer().map_or(32, |mask| (mask as u32).count_ones()),
        _ => 32,
    };
    Some(Collective {
        computes: Computes::Reduction(evaluate::redux(&inst.ast.form)?),
        lanes,
        source: *source,
        sender: at,
        result: at,
        register: *register,
        network: vec![at],
        exact: u32::MAX,
        of_predicates: false,
        needs_consecutive: false,
        form: Err(Obstacle::OneInstruction),
        removed: Vec::new(),
    })
}

/// The register that a shuffle sends, its table, and the instruction of the chain that has written it.
fn sent(
    flow: &Flow<'_, '_>,
    chain: &Chain,
    shuffle: InstId,
) -> Option<(RegisterId, Rc<Table>, Option<InstId>)> {
    let Some(Arg::Register(register)) = flow.insts[shuffle].args.get(1) else {
        return None;
    };
    let (_, from) = chain.steps[&shuffle].reads.iter().find(|(read, _)| read == register)?;
    let table = Rc::clone(chain.table(*register, *from)?);
    Some((*register, table, *from))
}

/// The operation, the number of its lanes, and the lanes that hold the result, by bits.
type Classified = (Computes, u32, u32);

/// The operation that gives the values of a table from those of another one.
fn classify(chains: &mut Chains<'_, '_, '_>, source: &Table, table: &Table) -> Option<Classified> {
    if let Some(lane) = (0..LANES).find(|lane| table.iter().all(|value| *value == source[*lane]))
        && source.iter().any(|value| *value != source[lane])
    {
        return Some((Computes::Broadcast, 32, u32::MAX));
    }
    let values = &mut chains.values;
    let is_rounded = table.iter().any(|value| matches!(values.get(*value), Value::Rounded(..)));
    let (source, table) = match is_rounded {
        true => (
            &source.map(|value| values.unrounded(value)),
            &table.map(|value| values.unrounded(value)),
        ),
        false => (source, table),
    };
    let operators: Vec<Operator> = {
        let mut operators: Vec<Operator> = Vec::new();
        for value in table {
            if let Value::Fold(operator, _) = values.get(*value)
                && !operators.contains(operator)
            {
                operators.push(*operator);
            }
        }
        operators
    };
    let mut partial = None;
    for operator in operators {
        // (The last lane is in each group that is looked for, in some lane of the table.)
        let last = source[LANES - 1];
        if !table.iter().any(|value| values.may_have(operator, *value, last)) {
            continue;
        }
        let all = values.reduction(operator, source, 0..LANES);
        let exact = (0..LANES).filter(|lane| table[*lane] == all);
        let exact = exact.fold(0, |bits, lane| bits | 1u32 << lane);
        if exact == u32::MAX {
            return Some((Computes::Reduction(operator), 32, exact));
        }
        let up_to = |values: &mut Values, lane| values.reduction(operator, source, 0..lane + 1);
        if (1..LANES).all(|lane| table[lane] == up_to(values, lane))
            && (table[0] == source[0] || operator.is_float())
        {
            return Some((Computes::Prefix(operator), 32, u32::MAX));
        }
        for size in [16, 8, 4, 2] {
            let group = |lane: usize| lane / size * size..lane / size * size + size;
            let mut of_group = |lane: usize| values.reduction(operator, source, group(lane));
            if (0..LANES).all(|lane| table[lane] == of_group(lane)) {
                let lanes = if planted!(Bug::CollectiveStep) { 32 } else { size as u32 };
                return Some((Computes::Reduction(operator), lanes, u32::MAX));
            }
        }
        if exact != 0 {
            partial.get_or_insert((Computes::Reduction(operator), 32, exact));
        }
    }
    partial
}
