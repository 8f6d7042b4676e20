//! What the rewritten program loads must be what the original loads too.

use rustc_hash::FxHashMap;

use super::comparison::Comparison;
use super::conditions;
use super::execution::Load;
use super::proof::Proof;
use super::symbols::Terms;
use crate::expr::TermId;

impl Comparison<'_, '_> {
    /// A load of the rewritten program must read what the original reads too, or it may fault where
    /// that does not.
    pub(super) fn loads(&mut self) {
        let mut alike: FxHashMap<TermId, Vec<&Load>> = FxHashMap::default();
        for load in &self.before.loads {
            alike.entry(load.address).or_default().push(load);
        }
        for load in &self.after.loads {
            // The same load under the same condition, as almost all are.
            let same = |one: &&&Load| {
                (one.condition, one.space, one.bytes) == (load.condition, load.space, load.bytes)
                    && self.original.loop_of(one.block) == self.rewritten.loop_of(load.block)
            };
            let alike = alike.get(&load.address).map_or(&[][..], Vec::as_slice);
            self.terms.arena.charge(1 + alike.len() as u64 / 8);
            if alike.iter().any(|one| same(&one)) {
                continue;
            }
            let around = self.rewritten.loop_of(load.block);
            let literals = conditions::literals(&mut self.terms.arena, load.condition);
            self.terms.arena.charge(4 * self.before.loads.len() as u64);
            let candidates: Vec<TermId> = self
                .before
                .loads
                .iter()
                .filter(|one| {
                    let arena = &mut self.terms.arena;
                    let within =
                        arena.constant_difference(load.address, one.address).is_some_and(|ahead| {
                            let bytes = i64::from(load.bytes);
                            // Aligned as a part of what is aligned.
                            ahead % bytes == 0
                                && (0..=i64::from(one.bytes) - bytes).contains(&ahead)
                        });
                    within && one.space == load.space && self.original.loop_of(one.block) == around
                })
                .map(|one| one.condition)
                .collect();
            let implied = |terms: &mut Terms, condition: TermId| {
                let needed = conditions::literals(&mut terms.arena, condition);
                conditions::hold(&terms.arena, &needed, &literals)
            };
            if candidates.iter().any(|&condition| implied(self.terms, condition)) {
                continue;
            }
            let place = self.place(load.block);
            let always = self.terms.arena.boolean(true);
            let shown = candidates.iter().any(|&condition| {
                self.prove(&place, condition, always, &[load.condition]) == Proof::Equal
            });
            if !shown {
                let reason =
                    "reads an address of which it is not shown that the original reads it, \
                              too: it may fault"
                        .to_owned();
                self.unknown(load.inst, None, reason);
            }
        }
    }
}
