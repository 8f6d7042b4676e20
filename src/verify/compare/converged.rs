//! Results that depend on which lanes are converged (`activemask`, `shfl` and `vote` without
//! `.sync`) count as equal only if both programs have the same control flow and branch
//! alike; this file compares that.

use rustc_hash::FxHashMap;

use super::comparison::Comparison;
use crate::cfg::{BlockId, EdgeCondition, InstId};
use crate::isa::Opcode;
use crate::program::{Program, depends_on_convergence, same_divergence};
use crate::proof::Proof;
use crate::record::Event;

impl Comparison<'_, '_> {
    /// Checks that results which tell which lanes are converged (`activemask`) are the same: control
    /// flow has to be the same, block by block, with the same branches under the same conditions.
    pub(super) fn convergence(&mut self) {
        let sensitive = |program: &Program<'_, '_>, event: &Event| {
            depends_on_convergence(&program.flow.insts[event.inst])
        };
        // Instructions whose results count as the same. One that the rewritten program leaves out is
        // not missed.
        let mut pairs = Vec::new();
        let mut numbers: FxHashMap<InstId, &Event> = FxHashMap::default();
        for event in &self.before.events {
            numbers.entry(event.inst).or_insert(event);
        }
        for event in self.after.events.iter().filter(|event| sensitive(self.rewritten, event)) {
            let matched = self.alignment.matched[event.inst];
            let partner = matched.and_then(|matched| numbers.get(&matched));
            pairs.extend(partner.map(|&partner| (partner, event)));
        }
        let Some(&(first, second)) = pairs.first() else { return };
        let (line, inst) = (first.inst, second.inst);
        let different = |this: &mut Self| {
            let reason = "the lanes that meet at an `activemask` may be others".to_owned();
            this.unknown(inst, Some(line), reason);
        };
        let same_places = pairs.iter().all(|(a, b)| a.block == b.block);
        let paths = |program: &Program<'_, '_>| -> Vec<Vec<(BlockId, Option<bool>)>> {
            let condition = |condition| match condition {
                EdgeCondition::Always => None,
                EdgeCondition::Predicate(_, when) => Some(when),
                EdgeCondition::Index => Some(true),
            };
            let blocks = program.flow.block_ids().map(|id| program.flow.block(id));
            blocks
                .map(|b| b.successors.iter().map(|e| (e.to, condition(e.condition))).collect())
                .collect()
        };
        let indexed =
            self.original.flow.insts.iter().any(|inst| inst.ast.form.opcode == Opcode::Brx);
        if !same_places || paths(self.original) != paths(self.rewritten) || indexed {
            return different(self);
        }
        for block in self.rewritten.flow.block_ids() {
            let pair = (self.before.branches[block], self.after.branches[block]);
            let same = match pair {
                (Some(a), Some(b)) => {
                    let place = self.place(block);
                    self.prove(&place, a, b, &[]) == Proof::Equal
                }
                (a, b) => a == b,
            };
            if !same {
                return different(self);
            }
        }
    }

    /// Checks that branches which may take lanes into different iterations do it alike in both
    /// programs; otherwise facts about the original's lanes do not hold for the lanes at the shuffles.
    pub(super) fn branches(&mut self) {
        if self.warp.shuffles == 0 {
            return;
        }
        for apart in &self.rewritten.flow.temporal_divergence {
            let partner = same_divergence(self.original, self.rewritten, self.alignment, apart);
            let (Some(block), Some(partner)) = (apart.branch, partner.and_then(|p| p.branch))
            else {
                continue;
            };
            let inst = self.rewritten.flow.block(block).end.before();
            let pair = (self.before.branches[partner], self.after.branches[block]);
            if pair.0 != pair.1 {
                self.unknown(
                    inst,
                    None,
                    "the lanes of a warp may diverge in another way".to_owned(),
                );
            }
        }
    }
}
