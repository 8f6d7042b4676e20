//! Conditions of branches: which paths exist, and the facts on them.
//!
//! In: the predicate at the end of each block. Out: for each block whether it is reached, the conditions that hold in
//! it, and the condition by which it branches. Search, intervals and order decide whether a condition is constant. z3
//! is not used: to start it costs more than to emulate a kernel, and in some five hundred public files it decided no
//! branch that these methods leave open.

use typed_index_collections::{TiVec, ti_vec};

use super::state::State;
use crate::cfg::{BlockId, Edge, EdgeCondition, Flow, PostDominators};
use crate::expr::{Arena, Facts, TermId};
use crate::solver::Solver;

/// How far up the dominator tree conditions are looked for that decide a branch.
const MAX_PATH: usize = 32;

/// Of more facts on an edge the rest is left out where several edges meet.
const MAX_SHARED: usize = 32;

/// The conditions of a block that more edges than this lead to are not stated as alternatives.
const MAX_ALTERNATIVES: usize = 8;

/// A condition and facts that are made of more terms are not evaluated on samples.
const MAX_SAMPLED: usize = 2048;

/// Facts about the blocks that have been visited.
pub(super) struct Branches {
    /// For each block, its facts beyond those of its immediate dominator.
    pub assumptions: TiVec<BlockId, Option<TermId>>,
    /// The condition by which each block branches, read at its end.
    pub conditions: TiVec<BlockId, Option<TermId>>,
    /// Which blocks can be reached.
    pub reachable: TiVec<BlockId, bool>,
    behind: PostDominators,
    /// Decides branches that the facts alone do not decide.
    solver: Solver,
}

impl Branches {
    /// No block has been visited.
    pub(super) fn new(flow: &Flow<'_, '_>) -> Branches {
        Branches {
            assumptions: ti_vec![None; flow.blocks.len()],
            conditions: ti_vec![None; flow.blocks.len()],
            reachable: ti_vec![false; flow.blocks.len()],
            behind: PostDominators::of(flow),
            solver: Solver::new(0, None).sized(flow.insts.len()),
        }
    }

    /// Whether lanes may go along an edge whose origin has been visited.
    pub(super) fn is_alive(&self, state: &State<'_, '_, '_>, edge: &Edge) -> bool {
        if !self.reachable[edge.from] {
            return false;
        }
        let condition = self.conditions[edge.from];
        match (edge.condition, condition.and_then(|c| state.arena.constant_value(c))) {
            (EdgeCondition::Predicate(_, taken), Some(value)) => taken == (value != 0),
            _ => true,
        }
    }

    /// The facts of a block beyond those of its immediate dominator: what holds on every edge into it. Facts are about
    /// values, not about registers, so those on the edges into a loop hold in all its iterations.
    pub(super) fn assume(&mut self, state: &mut State<'_, '_, '_>, incoming: &[Edge]) {
        let (flow, block) = (state.flow, state.block);
        // (Lanes enter a cycle of several entries by edges whose facts are not known yet.)
        if flow.loops.is_irreducible_entry(block) {
            return;
        }
        let known = match incoming {
            [] => None,
            [edge] => {
                let known = self.along(state, edge);
                known.predicates().to_vec().into_iter().reduce(|a, b| state.arena.and(a, b))
            }
            several => self.joined(state, several),
        };
        self.assumptions[block] =
            known.filter(|&known| state.arena.constant_value(known).is_none());
    }

    /// The facts behind several edges into the block: those that hold on all of them, and that one of the edges was taken
    /// where lanes may have left the function or a loop on another way from the block's immediate dominator.
    fn joined(&self, state: &mut State<'_, '_, '_>, incoming: &[Edge]) -> Option<TermId> {
        let (flow, block) = (state.flow, state.block);
        let each: Vec<Facts> = incoming.iter().map(|edge| self.along(state, edge)).collect();
        let shared = shared(&mut state.arena, &each);
        let one = if self.behind.follows_dominator(flow, block) {
            None
        } else {
            alternatives(&mut state.arena, &shared, &each)
        };
        shared.predicates().iter().copied().chain(one).reduce(|a, b| state.arena.and(a, b))
    }

    /// The facts on an edge into the block, beyond those of the block's immediate dominator.
    fn along(&self, state: &mut State<'_, '_, '_>, edge: &Edge) -> Facts {
        let (flow, top) = (state.flow, state.flow.dominators.immediate(state.block));
        let mut facts = Facts::default();
        if let EdgeCondition::Predicate(_, taken) = edge.condition
            && let Some(condition) = self.conditions[edge.from]
        {
            let holds = if taken { condition } else { state.arena.not(condition) };
            facts.add(&state.arena, holds);
        }
        let below = flow.dominators.chain(edge.from).take_while(|&at| Some(at) != top);
        for at in below.take(MAX_PATH) {
            state.arena.charge(1);
            if let Some(known) = self.assumptions[at] {
                facts.add(&state.arena, known);
            }
        }
        facts
    }

    /// Reads the predicate that the block branches on, at its end.
    pub(super) fn branch(&mut self, state: &mut State<'_, '_, '_>) {
        let block = state.block;
        let successors = &state.flow.block(block).successors;
        let register = successors.iter().find_map(|edge| match edge.condition {
            EdgeCondition::Predicate(register, _) => Some(register),
            _ => None,
        });
        self.conditions[block] = match register {
            Some(register) => {
                let condition = state.read(register);
                Some(self.decided(state, block, condition))
            }
            // An indexed branch goes its own way in every lane, as far as is known.
            None if successors.len() > 1 => Some(state.unknown(1)),
            None => None,
        };
    }

    /// A condition that the path to the block decides, as a constant: the edge that it rules out is
    /// never taken.
    fn decided(
        &mut self,
        state: &mut State<'_, '_, '_>,
        block: BlockId,
        condition: TermId,
    ) -> TermId {
        let mut facts = Facts::default();
        for at in state.flow.dominators.chain(block).take(MAX_PATH) {
            state.arena.charge(1);
            if let Some(known) = self.assumptions[at] {
                facts.add(&state.arena, known);
            }
        }
        let negated = state.arena.not(condition);
        match () {
            () if facts.contain(&state.arena, condition) => state.arena.boolean(true),
            () if facts.contain(&state.arena, negated) => state.arena.boolean(false),
            () => self.prune(state, &facts, condition),
        }
    }

    /// The condition as a constant, if the facts decide it.
    fn prune(&mut self, state: &mut State<'_, '_, '_>, facts: &Facts, condition: TermId) -> TermId {
        let terms = facts.predicates().iter().copied().chain([condition]);
        if state.arena.is_nearly_spent() || state.arena.are_larger_than(terms, MAX_SAMPLED) {
            let what = "budget: not asked whether this branch is always taken or never";
            state.approximate(what.to_owned());
            return condition;
        }
        let constants = [false, true].map(|value| state.arena.boolean(value));
        match self.solver.known_value(&state.arena, condition, constants, facts.predicates()) {
            Some(value) => constants[usize::from(value)],
            None => condition,
        }
    }
}

/// The facts that hold on each of several edges.
fn shared(arena: &mut Arena, each: &[Facts]) -> Facts {
    let mut shared = each[0].clone();
    for own in &each[1..] {
        let both = [(&shared, own), (own, &shared)].map(|(one, other)| {
            let literals = one.literals(arena).filter(|&one| other.decide(arena, one));
            literals.take(MAX_SHARED).collect::<Vec<_>>()
        });
        shared = Facts::default();
        for (term, holds) in both.concat() {
            let fact = if holds { term } else { arena.not(term) };
            if !shared.contain(arena, fact) {
                shared.add(arena, fact);
            }
        }
        if shared.predicates().is_empty() {
            break;
        }
    }
    shared
}

/// The disjunction of the facts on several edges, without the `shared` ones; `None` if it says nothing.
fn alternatives(arena: &mut Arena, shared: &Facts, each: &[Facts]) -> Option<TermId> {
    if each.len() > MAX_ALTERNATIVES {
        return None;
    }
    let mut ways: Vec<Vec<TermId>> = Vec::new();
    for facts in each {
        let literals = facts.literals(arena).filter(|&one| !shared.decide(arena, one));
        let literals: Vec<_> = literals.take(MAX_SHARED).collect();
        let fact = |(term, holds)| if holds { term } else { arena.not(term) };
        ways.push(literals.into_iter().map(fact).collect());
    }
    // `a or (not a and b)` is `a or b`.
    for at in 0..ways.len() {
        for other in 0..ways.len() {
            if let ([alone], true) = (&ways[other][..], other != at) {
                let mut fails = Facts::default();
                let negation = arena.not(*alone);
                fails.add(arena, negation);
                ways[at].retain(|&term| !fails.contain(arena, term));
            }
        }
    }
    let ways = ways.into_iter().map(|way| way.into_iter().reduce(|a, b| arena.and(a, b)));
    let ways: Option<Vec<TermId>> = ways.collect();
    ways?.into_iter().reduce(|a, b| arena.or(a, b))
}
