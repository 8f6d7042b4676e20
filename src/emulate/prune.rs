//! Branches that only go one way: tried on samples first, proved by the solver then.
//!
//! Starting the solver costs more than emulating a kernel, so it is only asked about a condition that
//! came out the same in every sample that satisfies the path.

use rustc_hash::{FxHashMap, FxHashSet};

use super::machine::Machine;
use super::symbols::{SymbolInfo, SymbolKind};
use crate::expr::{Evaluator, Facts, SymbolId, TermId, mask, neighbour};
use crate::solver::Answer;

/// Assignments tried.
const SAMPLES: u64 = 192;

/// A path that fewer samples satisfy says nothing about the branch.
const ENOUGH: usize = 24;

/// Every so many samples the symbols are near a constant of the condition.
const NEAR: u64 = 4;

/// At most so many terms of a condition are searched for constants.
const MAX_TERMS: usize = 64;

/// A condition and facts that are made of more terms are not evaluated on samples.
const MAX_SAMPLED: usize = 2048;

/// At most so many branches of a function are put before the solver.
const MAX_BRANCHES: u32 = 16;

impl Machine<'_, '_, '_> {
    /// The condition as a constant, if the facts decide it.
    pub(super) fn prune(&mut self, facts: &Facts, condition: TermId) -> TermId {
        let terms = facts.predicates().iter().copied().chain([condition]);
        if self.arena.is_nearly_spent() || self.arena.are_larger_than(terms, MAX_SAMPLED) {
            let what = "budget: not asked whether this branch is always taken or never";
            self.approximations.push((self.at, what.to_owned()));
            return condition;
        }
        let Some(value) = self.sampled(facts, condition) else { return condition };
        if self.pruned >= MAX_BRANCHES {
            return condition;
        }
        self.pruned += 1;
        let constant = self.arena.boolean(value);
        let names = &self.symbols;
        let claim = (condition, constant);
        match self.solver.prove_equal(&self.arena, names, claim, facts.predicates()) {
            Answer::Proved => constant,
            _ => condition,
        }
    }

    /// The one value that the condition has in all samples that satisfy the facts.
    fn sampled(&self, facts: &Facts, condition: TermId) -> Option<bool> {
        let constants = self.constants(condition);
        let (mut outcome, mut satisfying) = (None, 0);
        for round in 0..SAMPLES {
            let near = if round % NEAR == 0 { &constants[..] } else { &[] };
            let mut known: FxHashMap<SymbolId, u64> = FxHashMap::default();
            let mut evaluator = Evaluator::new(&self.arena, |symbol, _| {
                let info = self.symbols.info(symbol);
                *known.entry(symbol).or_insert_with(|| sample(round, symbol, info, near))
            })
            .with_results_near(near);
            let mut predicates = facts.predicates().iter();
            if !predicates.all(|&predicate| evaluator.value(predicate) != 0) {
                continue;
            }
            let value = evaluator.value(condition) != 0;
            if *outcome.get_or_insert(value) != value {
                return None;
            }
            satisfying += 1;
        }
        outcome.filter(|_| satisfying >= ENOUGH)
    }

    /// The numbers that a term compares with: what decides it is likely near one of them.
    fn constants(&self, term: TermId) -> Vec<u64> {
        let (mut constants, mut open, mut seen) = (Vec::new(), vec![term], FxHashSet::default());
        while let Some(term) = open.pop() {
            if seen.len() >= MAX_TERMS {
                break;
            }
            if seen.insert(term) {
                constants.extend(self.arena.constant_value(term));
                open.extend(self.arena.operands(term));
            }
        }
        constants
    }
}

/// Numbers of all magnitudes, both signs, many small ones that are often equal to each other, and
/// where numbers are given, those and their neighbours.
fn sample(round: u64, symbol: SymbolId, info: &SymbolInfo, near: &[u64]) -> u64 {
    let mixed = (u64::from(symbol.0) + 1)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .wrapping_add(round.wrapping_mul(0xd1b5_4a32_d192_ed03));
    let mixed = (mixed ^ mixed >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = mixed ^ mixed >> 32;
    let value = match info.kind {
        SymbolKind::Tid(_) => mixed & 63,
        SymbolKind::LaneId => mixed & 31,
        // Grids may be so large that indices wrap around.
        SymbolKind::WarpUniform(ref name) if name.contains("ctaid") && mixed >> 62 == 0 => {
            1 + (mixed & 0x3fff_ffff)
        }
        SymbolKind::WarpUniform(_) => 1 + (mixed & 31),
        _ if !near.is_empty() => neighbour(near, mixed >> 8),
        // Each symbol has a magnitude of its own in each round.
        _ => match mixed >> 56 & 7 {
            0 => 0,
            1 | 2 => mixed & 7,
            3 => (mixed & 7).wrapping_neg(),
            4 => mixed & 0xfff,
            5 => mixed & 0xff_ffff,
            _ => mixed,
        },
    };
    value & mask(info.width)
}
