//! Networks of shuffles with branches between them, past which some lanes go (`if (lane < 31) x = f(x, received)`). They are
//! listed, and stay.

use rustc_hash::{FxHashMap, FxHashSet};

use super::chain::{Chain, Chains};
use super::members::Place;
use super::network::{Collective, Computes, Repeats};
use super::obstacle::Obstacle;
use super::value::Operator;
use crate::cfg::{BlockId, EdgeCondition, Flow, InstId};
use crate::emulate::{Effect, effect};

/// A straight line of code with blocks that are left out by some lanes.
struct Line {
    /// Its blocks in order.
    blocks: Vec<BlockId>,
    /// The blocks that some lanes leave out, each with the condition under which it is executed.
    under: FxHashMap<BlockId, EdgeCondition>,
}

/// A block that a branch leads past: the block, the condition under which it is executed, and the block behind it.
fn left_out(flow: &Flow<'_, '_>, branching: BlockId) -> Option<(BlockId, EdgeCondition, BlockId)> {
    let edges = &flow.block(branching).successors;
    let [one, other] = edges[..] else { return None };
    [(one, other), (other, one)].into_iter().find_map(|(into, past)| {
        let inner = flow.block(into.to);
        let is_plain = |at: InstId| {
            let inst = &flow.insts[at];
            inst.guard.is_none() && matches!(effect(inst), Effect::Pure | Effect::Control)
        };
        let is_alone = inner.predecessors.len() == 1
            && !inner.leaves
            && matches!(inner.successors[..], [edge] if edge.to == past.to)
            && flow.block(past.to).predecessors.len() == 2
            && branching < into.to
            && into.to < past.to
            && inner.instructions().all(is_plain);
        is_alone.then_some((into.to, into.condition, past.to))
    })
}

/// The line of code from a block on.
fn line(chains: &Chains<'_, '_, '_>, first: BlockId) -> Line {
    let mut line = Line { blocks: chains.blocks(first), under: FxHashMap::default() };
    while let Some(&last) = line.blocks.last()
        && let Some((inner, condition, behind)) = left_out(chains.flow, last)
    {
        line.under.insert(inner, condition);
        line.blocks.push(inner);
        line.blocks.extend(chains.blocks(behind));
    }
    line
}

/// The collectives that have a part which some lanes leave out; `recognise` finds those of a chain.
pub(super) fn with_branches<'f, 'm, 's>(
    place: &Place<'_, '_, '_>,
    chains: &mut Chains<'f, 'm, 's>,
    recognise: impl Fn(&mut Chains<'f, 'm, 's>, &Chain, &Repeats, InstId) -> Option<Collective>,
) -> Vec<Collective> {
    let flow = chains.flow;
    let (mut found, mut end) = (Vec::new(), BlockId(0));
    let mut straight: FxHashSet<BlockId> = FxHashSet::default();
    for block in flow.block_ids() {
        // Lines do not begin within another one, and the rest of one without branches has none either.
        if block < end || straight.contains(&block) || chains.is_full() {
            continue;
        }
        let line = line(chains, block);
        if line.under.is_empty() {
            straight.extend(line.blocks);
            continue;
        }
        end = BlockId(line.blocks.iter().map(|block| block.0 + 1).max().unwrap_or(0));
        let insts = |block: &BlockId| flow.block(*block).instructions();
        let shuffles = line.blocks.iter().flat_map(insts);
        if !shuffles.into_iter().any(|at| super::is_exchange(&flow.insts[at])) {
            continue;
        }
        let mut chain = Chain { blocks: line.blocks.clone(), ..Chain::default() };
        for block in &line.blocks {
            let under = match line.under.get(block) {
                Some(EdgeCondition::Predicate(register, value)) => {
                    Some((chains.of(&mut chain, *register), !value))
                }
                _ => None,
            };
            for at in insts(block) {
                chains.push_under(&mut chain, at, under.as_ref());
            }
        }
        let repeats = Repeats::new(flow, &chain);
        let all = chain.insts.iter().filter_map(|at| recognise(chains, &chain, &repeats, *at));
        for one in all.collect::<Vec<_>>() {
            let inner = |at: &InstId| line.under.keys().any(|block| insts(block).contains(at));
            let Some(at) = one.network.iter().copied().find(inner) else { continue };
            let branch = at_branch(flow, &line, at).unwrap_or(at);
            let obstacle = match one.computes {
                Computes::Reduction(Operator::FloatSum) => Obstacle::Rounding,
                Computes::Reduction(operator) if operator.is_compared() => Obstacle::Compared,
                _ => Obstacle::Branch((place.line)(branch)),
            };
            found.push(Collective { form: Err(obstacle), ..one });
        }
    }
    found
}

/// The branch past an instruction.
fn at_branch(flow: &Flow<'_, '_>, line: &Line, at: InstId) -> Option<InstId> {
    let inner = line.under.keys().find(|block| flow.block(**block).instructions().contains(&at))?;
    let from = flow.block(*inner).predecessors.first()?.from;
    flow.block(from).instructions().next_back()
}
