//! Branches that only go one way: looked for among samples first, proved by the solver then.
//!
//! Starting the solver costs more than emulating a kernel, so it is only asked about a condition for
//! which no values were found that make it come out the other way.

use super::machine::Machine;
use crate::expr::{Facts, TermId};

/// A condition and facts that are made of more terms are not evaluated on samples.
const MAX_SAMPLED: usize = 2048;

/// At most so many branches of a function are put before the solver.
pub(super) const MAX_BRANCHES: u32 = 16;

impl Machine<'_, '_, '_> {
    /// The condition as a constant, if the facts decide it.
    pub(super) fn prune(&mut self, facts: &Facts, condition: TermId) -> TermId {
        let terms = facts.predicates().iter().copied().chain([condition]);
        if self.arena.is_nearly_spent() || self.arena.are_larger_than(terms, MAX_SAMPLED) {
            let what = "budget: not asked whether this branch is always taken or never";
            self.approximations.push((self.at, what.to_owned()));
            return condition;
        }
        let constants = [false, true].map(|value| self.arena.boolean(value));
        let (arena, names) = (&self.arena, &self.symbols);
        match self.solver.settle(arena, names, condition, constants, facts.predicates()) {
            Some(value) => constants[usize::from(value)],
            None => condition,
        }
    }
}
