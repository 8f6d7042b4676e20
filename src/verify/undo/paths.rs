//! Threads whose path depends on an unknown value: both sides of the branch are evaluated up to the point of
//! reconvergence, and the condition selects between their results.
//!
//! Neither side may wait for other threads. An access on one side counts as an access on both, so no race is excluded by a
//! condition. An access that is conditional in the original must not become unconditional in the rewritten program, unless
//! it lies within an array of a known size.

use super::threads::{At, Block, MAX_DEPTH};
use crate::cfg::{BlockId, EdgeCondition, InstId, RegisterId};
use crate::expr::TermId;
use crate::program::results;

impl Block<'_, '_, '_, '_> {
    /// The condition under which the thread that is evaluated is where it is, if there is one.
    pub(super) fn condition(&mut self) -> Option<TermId> {
        let (first, rest) = self.conditions.split_first()?;
        Some(rest.iter().fold(*first, |all, one| self.values.arena.and(all, *one)))
    }

    /// Executes an instruction under a condition.
    pub(super) fn execute_if(&mut self, thread: u32, at: InstId, holds: TermId) -> Option<()> {
        let mut before = Vec::new();
        for register in results(&self.place.flow.insts[at]) {
            before.push((register, self.value(thread, register)?));
        }
        self.conditions.push(holds);
        self.execute(thread, at)?;
        self.conditions.pop();
        for (register, old) in before {
            self.choose(thread, register, (holds, old))?;
        }
        Some(())
    }

    /// Takes a thread from a branch on an unknown predicate to where both sides have met.
    pub(super) fn both_sides(&mut self, thread: u32, block: BlockId, holds: TermId) -> Option<()> {
        let join = self.place.behind.immediate(block)?;
        (self.conditions.len() < MAX_DEPTH).then_some(())?;
        let own = thread as usize;
        let before = self.registers[own].clone();
        let mut left = Vec::new();
        for side in [false, true] {
            let wanted = self.place.flow.block(block).successors.iter().find(|edge| {
                matches!(edge.condition, EdgeCondition::Predicate(_, wanted) if wanted == side)
            });
            self.registers[own].clone_from(&before);
            let condition = if side { holds } else { self.values.arena.not(holds) };
            self.conditions.push(condition);
            self.enter(thread, wanted?.to);
            while let At::Running(at, inst) = self.at[own]
                && at != join
            {
                self.step(thread, at, inst)?;
            }
            matches!(self.at[own], At::Running(..)).then_some(())?;
            self.conditions.pop();
            left.push(std::mem::take(&mut self.registers[own]));
        }
        let (taken, other) = (left.pop()?, left.pop()?);
        self.registers[own] = taken;
        let mut registers: Vec<RegisterId> = other.keys().copied().collect();
        registers.extend(self.registers[own].keys());
        registers.sort_unstable();
        registers.dedup();
        registers.retain(|register| self.place.live[join].contains(register));
        for register in registers {
            let old = match other.get(&register) {
                Some(term) => *term,
                // (It holds the same as in front of the branch.)
                None => match before.get(&register) {
                    Some(term) => *term,
                    None => self.first_value(thread, register)?,
                },
            };
            self.choose(thread, register, (holds, old))?;
        }
        Some(())
    }

    /// Gives a register the value of before unless a condition holds.
    fn choose(
        &mut self,
        thread: u32,
        register: RegisterId,
        (holds, before): (TermId, TermId),
    ) -> Option<()> {
        let now = self.value(thread, register)?;
        if now != before {
            let chosen = self.values.arena.if_then_else(holds, now, before);
            self.registers[thread as usize].insert(register, chosen);
        }
        Some(())
    }
}
