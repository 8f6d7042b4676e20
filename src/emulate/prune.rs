//! Branches that only go one way: looked for among samples first, proved by the solver then.
//!
//! Starting the solver costs more than emulating a kernel, so it is only asked about a condition for
//! which no values were found that make it come out the other way.

use super::machine::Machine;
use crate::expr::{Facts, TermId};

/// At most so many branches of a function are put before the solver.
pub(super) const MAX_BRANCHES: u32 = 16;

impl Machine<'_, '_, '_> {
    /// The condition as a constant, if the facts decide it.
    pub(super) fn prune(&mut self, facts: &Facts, condition: TermId) -> TermId {
        let constants = [false, true].map(|value| self.arena.boolean(value));
        let (arena, names) = (&self.arena, &self.symbols);
        match self.solver.settle(arena, names, condition, constants, facts.predicates()) {
            Some(value) => constants[usize::from(value)],
            None => condition,
        }
    }
}
