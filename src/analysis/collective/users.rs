//! Which lanes use a result: under which predicates its readers are executed.

use rustc_hash::FxHashSet;

use super::chain::{Chain, Chains};
use super::uses::{behind, block_of, readers};
use super::value::LANES;
use crate::cfg::{BlockId, EdgeCondition, InstId, RegisterId};
use crate::emulate::{Effect, definitions, effect};

/// How many results of results are followed.
const MAX_FOLLOWED: usize = 64;

/// Finds the lanes that use results.
pub(super) struct Users<'u, 'f, 'm, 's> {
    /// The values of registers.
    pub chains: &'u mut Chains<'f, 'm, 's>,
    /// The chain that the result is computed in.
    pub chain: &'u mut Chain,
}

impl Users<'_, '_, '_, '_> {
    /// A reader of a result, or of a value computed from it, that lanes outside of `exact` may execute; `Err` if it is
    /// not known who reads the result. `first` are the readers of the result itself.
    pub(super) fn outside(
        &mut self,
        (inst, register): (InstId, RegisterId),
        first: Option<Vec<InstId>>,
        exact: u32,
    ) -> Result<Option<InstId>, InstId> {
        let mut first = Some(first);
        let mut seen: FxHashSet<(InstId, RegisterId)> = FxHashSet::default();
        let mut work = vec![(inst, register)];
        while let Some((inst, register)) = work.pop() {
            if !seen.insert((inst, register)) {
                continue;
            }
            if seen.len() > MAX_FOLLOWED {
                return Err(inst);
            }
            let known = first.take();
            let found = known.unwrap_or_else(|| {
                readers(self.chains.flow, behind(self.chains.flow, inst), register, None)
            });
            for reader in found.ok_or(inst)? {
                if self.executing(reader) & !exact == 0 {
                    continue;
                }
                let other = &self.chains.flow.insts[reader];
                if effect(other) != Effect::Pure
                    || other.guard.is_some_and(|(guard, _)| guard == register)
                {
                    return Ok(Some(reader));
                }
                work.extend(definitions(other).into_iter().map(|result| (reader, result)));
            }
        }
        Ok(None)
    }

    /// The lanes that may execute an instruction, by bits.
    fn executing(&mut self, inst: InstId) -> u32 {
        let mut lanes = u32::MAX;
        if let Some((predicate, negated)) = self.chains.flow.insts[inst].guard {
            lanes &= self.lanes_where(inst, predicate, !negated);
        }
        let mut block = block_of(self.chains.flow, inst);
        while let Some(here) = block {
            let above = self.chains.flow.dominators.immediate(here);
            if let ([edge], Some(above)) = (&self.chains.flow.block(here).predecessors[..], above)
                && edge.from == above
                && let EdgeCondition::Predicate(predicate, when) = edge.condition
            {
                let end = self.chains.flow.block(above).end.before();
                lanes &= self.lanes_where(end, predicate, when);
            }
            block = above;
        }
        lanes
    }

    /// The lanes in which a predicate may have a value where an instruction reads it.
    fn lanes_where(&mut self, at: InstId, predicate: RegisterId, value: bool) -> u32 {
        let table = match self.is_at_end(at, predicate) {
            true => Some(*self.chains.of(self.chain, predicate)),
            false => self.chains.invariant(predicate),
        };
        let Some(table) = table else { return u32::MAX };
        let possible = |lane: &usize| {
            self.chains.values.constant_of(table[*lane]).is_none_or(|known| (known != 0) == value)
        };
        (0..LANES).filter(possible).fold(0, |lanes, lane| lanes | 1u32 << lane)
    }

    /// Whether an instruction reads the chain's last value of a register: it stands behind the chain, or at its end,
    /// and the register has no other value there.
    fn is_at_end(&self, at: InstId, register: RegisterId) -> bool {
        let Some((written, _)) = self.chain.written.get(&register) else { return false };
        let Some(last) = self.chain.blocks.last() else { return false };
        let behind = |block: BlockId| self.chains.flow.dominators.dominates(*last, block);
        self.chains.single(register) == Some(*written)
            && *written < at
            && block_of(self.chains.flow, at).is_some_and(behind)
    }
}
