//! Events: every event of the original must be one of the rewritten program, under the same condition
//! with the same operands, and there must be no others.

use rustc_hash::FxHashMap;

use super::comparison::Comparison;
use super::loops::numbered;
use crate::cfg::{BlockId, InstId};
use crate::expr::TermId;
use crate::isa::Opcode;
use crate::program::split::{Split, are_versions};
use crate::program::{Both, Role};
use crate::proof::Proof;
use crate::record::{Event, Execution, Place};

impl Comparison<'_, '_> {
    /// Matches the events of the two programs with each other.
    pub(super) fn pair_up(&mut self) {
        let mut open: Vec<bool> = vec![true; self.before.events.len()];
        let mut numbers: FxHashMap<InstId, usize> = FxHashMap::default();
        for (index, event) in self.before.events.iter().enumerate() {
            numbers.entry(event.inst).or_insert(index);
        }
        self.partners = self
            .after
            .events
            .iter()
            .map(|event| {
                let inst = self.alignment.matched[event.inst]?;
                let index = *numbers.get(&inst)?;
                std::mem::take(&mut open[index]).then_some(index)
            })
            .collect();
        let acts = |event: &&Event| !matches!(event.role, Role::Observe | Role::Leave);
        let exchanges = &self.warp.prover.exchanges;
        let splits = self.splits;
        for (event, open) in self.before.events.iter().zip(&mut open) {
            // (A copy of a part is the part's partner.)
            let is_whole = |split: &Split| split.copies.is_empty() && split.has(event.inst, false);
            *open &= !splits.iter().any(is_whole);
        }
        let exchanged = |inst: InstId| {
            self.warp.exchanges.iter().any(|one| one.stores.contains(&inst))
                || splits.iter().any(|split| split.has(inst, true))
        };
        let alone = self.after.events.iter().zip(&self.partners);
        let alone = alone.filter(|(event, p)| p.is_none() && !exchanged(event.inst));
        let missing = self.before.events.iter().zip(&open);
        let missing = missing.filter(|(event, open)| {
            **open && !exchanges.has(event.inst) && !self.unread.contains(&event.inst)
        });
        let unpaired = alone.map(|(event, _)| event).filter(acts).count()
            + missing.map(|(event, _)| event).filter(acts).count();
        let both = self.before.events.iter().chain(&self.after.events);
        self.pairs_up = unpaired == 0 || both.filter(acts).count() == 1;
        self.missing = open;
    }

    /// Proves that matched events are equal, one by one.
    pub(super) fn events(&mut self) {
        let (partners, missing) =
            (std::mem::take(&mut self.partners), std::mem::take(&mut self.missing));
        self.roots = (numbered(&self.before.cutpoints), numbered(&self.after.cutpoints));
        let mut last = 0;
        // The block of the last event, and what came before its first one.
        let mut entered: Option<(BlockId, usize)> = None;
        let mut other_way = 0;
        for (event, partner) in self.after.events.iter().zip(partners) {
            if self.is_settled() {
                return;
            }
            match entered {
                Some((block, _)) if block == event.block => {}
                // An event in one of two blocks that a branch leads to does not come behind events of the other one.
                Some((block, before))
                    if are_versions(self.rewritten, block, event.block) && block < event.block =>
                {
                    other_way = last;
                    last = before;
                    entered = Some((event.block, before));
                }
                _ => {
                    last = last.max(std::mem::take(&mut other_way));
                    entered = Some((event.block, last));
                }
            }
            match partner {
                None if self.warp.exchanges.iter().any(|one| one.stores.contains(&event.inst)) => {}
                None => match self.splits.iter().find(|split| split.has(event.inst, true)) {
                    Some(split) => last = self.in_order(split, event, last),
                    None => self.only_one(event, true),
                },
                Some(index) => {
                    if index < last {
                        let reason = "the two do this in different orders".to_owned();
                        self.unknown(event.inst, Some(self.before.events[index].inst), reason);
                    }
                    last = index;
                    let partner = &self.before.events[index];
                    self.event(partner, event);
                }
            }
        }
        for (event, missing) in self.before.events.iter().zip(missing) {
            if missing {
                self.only_one(event, false);
            }
        }
    }

    /// Checks that the original has a group of stores behind its event `last`; returns the group's last event, or its
    /// first if copies of the stores follow. (The group's values are compared separately.)
    fn in_order(&mut self, split: &Split, event: &Event, last: usize) -> usize {
        let of_group = |one: &Event| split.has(one.inst, false);
        let first = self.before.events.iter().position(of_group).unwrap_or(last);
        let end = self.before.events.iter().rposition(of_group).unwrap_or(first);
        if first < last && end != last {
            let original = self.before.events[first].inst;
            let reason = "the two do this in different orders".to_owned();
            self.unknown(event.inst, Some(original), reason);
        }
        if split.copies.is_empty() || first < last { end } else { first }
    }

    fn event(&mut self, before: &Event, after: &Event) {
        let (old, new) =
            (&self.original.flow.insts[before.inst], &self.rewritten.flow.insts[after.inst]);
        let words = |text: &str| text.split_whitespace().collect::<String>();
        let places = (self.original.loop_of(before.block), self.rewritten.loop_of(after.block));
        if words(old.ast.opcode.text) != words(new.ast.opcode.text)
            || before.operands.len() != after.operands.len()
            || places.0 != places.1
            || root_number(self.before, &self.roots.0, before)
                != root_number(self.after, &self.roots.1, after)
        {
            let reason =
                "the two differ here in the opcode, the number of operands or the loop".to_owned();
            return self.unknown(after.inst, Some(before.inst), reason);
        }
        let place = self.place(after.block);
        let exchanges = &self.warp.prover.exchanges;
        // An exchange of a whole warp is missed by nobody: what uses its result is compared.
        let a = match exchanges.has(before.inst)
            && exchanges.is_under_uniform(self.terms, before.condition, after.condition)
        {
            true => after.condition,
            false => self.left(before),
        };
        let b = after.condition;
        let what = || format!("the condition of `{}`", old.ast.opcode.text);
        let there = self.prove(&place, a, b, &[]);
        let happens = there == Proof::Equal;
        self.check((there, (a, b)), after.inst, Some(before.inst), &place, what);
        if happens {
            // This was proved where the rewritten program reaches the event; now it is proved that it
            // reaches it.
            let iteration = self.iteration(places.1);
            let reached = self.prove(&iteration, a, b, &[a]);
            self.check((reached, (a, b)), after.inst, Some(before.inst), &iteration, what);
        }
        for (number, (&a, &b)) in before.operands.iter().zip(&after.operands).enumerate() {
            let proof = self.prove(&place, a, b, &[after.condition]);
            self.exchanging |= self.warp.shuffles > 0
                && (before.role, number) == (Role::Store, 0)
                && proof != Proof::Equal;
            self.check((proof, (a, b)), after.inst, Some(before.inst), &place, || {
                match (before.role, number) {
                    (Role::Store, 0) => format!("the address of `{}`", old.ast.opcode.text),
                    (Role::Store, _) => format!("the value of `{}`", old.ast.opcode.text),
                    _ => format!("operand {number} of `{}`", old.ast.opcode.text),
                }
            });
        }
    }

    /// The condition under which the lane itself has to perform an event of the original.
    fn left(&mut self, event: &Event) -> TermId {
        let exchange = self.warp.exchanges.iter().find(|one| one.replaced.contains(&event.inst));
        let version = self
            .splits
            .iter()
            .find(|split| !split.copies.is_empty() && split.parts.contains(&event.inst))
            .and_then(|split| self.after.events.iter().find(|one| one.inst == split.vector));
        let block = exchange.map(|one| one.block).or(version.map(|vector| vector.block));
        let Some(instead) = block.and_then(|block| self.after.path[block]) else {
            return event.condition;
        };
        let not = self.terms.arena.not(instead);
        self.terms.arena.and(event.condition, not)
    }

    /// Reports an event that only one of the two programs has, unless it cannot happen.
    fn only_one(&mut self, event: &Event, in_rewritten: bool) {
        let program = if in_rewritten { "the rewritten" } else { "the original" };
        let inst = match in_rewritten {
            true => &self.rewritten.flow.insts[event.inst],
            false => &self.original.flow.insts[event.inst],
        };
        let opcode = inst.ast.opcode.text.to_owned();
        let harmless = [
            Opcode::Prefetch,
            Opcode::Prefetchu,
            Opcode::NanoSleep,
            Opcode::PmEvent,
            Opcode::ApplyPriority,
        ];
        let is_accounted_for = self.unread.contains(&event.inst)
            || self.warp.prover.exchanges.is_accounted_for(event.inst);
        if !in_rewritten && is_accounted_for {
            return;
        }
        if event.role == Role::Observe
            && (!in_rewritten || harmless.contains(&inst.ast.form.opcode))
        {
            return;
        }
        let lines = match in_rewritten {
            true => Both { original: None, rewritten: Some(event.inst) },
            false => Both { original: Some(event.inst), rewritten: None },
        };
        let place = match in_rewritten {
            true => self.place(event.block),
            false => Place::default(),
        };
        let never = self.terms.arena.boolean(false);
        let (before, after) = match in_rewritten {
            true => (never, event.condition),
            false => (event.condition, never),
        };
        let proof = self.prove(&place, before, after, &[]);
        let hint = self.warp.hints.iter().find(|(inst, _)| in_rewritten && *inst == event.inst);
        let hint = hint.map_or(String::new(), |(_, missing)| format!(": {missing}"));
        let what = format!("only {program} program has `{opcode}`{hint}");
        match proof {
            Proof::Equal => {}
            Proof::Differ(difference) if event.role == Role::Store => {
                let found = self.counterexample(&place, &difference, (before, after));
                self.problem(what, lines, found);
            }
            _ => self.problem(what, lines, None),
        }
    }
}

/// The number of the cutpoint that an event's condition is relative to.
fn root_number(
    execution: &Execution,
    numbers: &FxHashMap<BlockId, usize>,
    event: &Event,
) -> Option<usize> {
    numbers.get(&execution.root[event.block]).copied()
}
