//! The values that enter loops and go round them: proved equal for each register and window, and in
//! the same way where ways meet in cycles of several entries.

use rustc_hash::FxHashMap;

use super::comparison::Comparison;
use crate::cfg::{BlockId, LoopId, RegisterId};
use crate::expr::TermId;
use crate::verify::proof::Proof;
use crate::verify::record::{Assumed, Cut, Round, at_entry, at_latch, is_of_header};

impl Comparison<'_, '_> {
    /// Proves the values equal that enter loops and go round them; returns the registers for which
    /// that fails.
    pub fn loops(
        &mut self,
        carried: &FxHashMap<(LoopId, RegisterId), Assumed>,
    ) -> Vec<(LoopId, RegisterId)> {
        let mut apart = Vec::new();
        let loops = &self.original.flow.loops;
        for index in 0..self.before.loops.len() {
            let id = LoopId(index as u32);
            let header = self.rewritten.flow.loops.get(id).header;
            let inst = self.rewritten.flow.block(header).first;
            let (before, after) = match (&self.before.loops[index], &self.after.loops[index]) {
                (None, None) => continue,
                (Some(before), Some(after)) => (before, after),
                _ => {
                    self.unknown(
                        inst,
                        None,
                        "a loop that only one of the two can reach".to_owned(),
                    );
                    continue;
                }
            };
            let outside = self.iteration(self.rewritten.flow.loops.get(id).parent);
            let inside = self.place(header);
            for (what, place, pair) in [
                ("a loop is entered", &outside, (before.entry, after.entry)),
                ("a loop goes on", &inside, (before.again, after.again)),
            ] {
                let proof = self.prove(place, pair.0, pair.1, &[]);
                self.check((proof, pair), inst, None, place, || {
                    format!("the condition under which {what}")
                });
            }
            for round in &after.rounds {
                self.terms.arena.charge(1 + before.rounds.len() as u64 / 8);
                let partner = before.rounds.iter().find(|one| one.symbol == round.symbol);
                let assumed = round.register.and_then(|register| carried.get(&(id, register)));
                let partner = match (assumed, partner) {
                    // What is assumed of the header has to hold where the loop is entered and comes
                    // round.
                    (Some(Assumed { value, .. }), _)
                        if !is_of_header(self.terms, loops, (id, before), *value) =>
                    {
                        apart.extend(round.register.map(|register| (id, register)));
                        continue;
                    }
                    (Some(Assumed { value, .. }), _) => Round {
                        initial: at_entry(self.terms, before, *value),
                        latch: at_latch(self.terms, before, *value),
                        ..*round
                    },
                    (None, Some(partner)) => *partner,
                    (None, None) => continue,
                };
                // Only where a flag is true, if it has any.
                let flags = assumed.map_or(&[][..], |assumed| &assumed.when);
                let flags = after
                    .rounds
                    .iter()
                    .filter(|flag| flag.register.is_some_and(|register| flags.contains(&register)));
                let mut when: Vec<(TermId, TermId)> =
                    flags.map(|flag| (flag.initial, flag.latch)).collect();
                if when.is_empty() {
                    let always = self.terms.arena.boolean(true);
                    when.push((always, always));
                }
                let mut came_round = Proof::Equal;
                for (first, later) in when {
                    if self.terms.arena.constant_value(first) != Some(0) {
                        let known = [after.entry, first];
                        came_round = self.prove(&outside, partner.initial, round.initial, &known);
                    }
                    if came_round == Proof::Equal {
                        let known = [after.again, later];
                        came_round = self.prove(&inside, partner.latch, round.latch, &known);
                    }
                    if came_round != Proof::Equal {
                        break;
                    }
                }
                match (came_round, round.register) {
                    (Proof::Equal, _) => {}
                    (_, Some(register)) => apart.push((id, register)),
                    (_, None) => {
                        self.unknown(inst, None, "memory differs at the head of a loop".to_owned());
                    }
                }
            }
        }
        apart
    }

    /// Proves the values equal that come together where ways meet; returns the registers for which
    /// that fails.
    pub fn cuts(&mut self) -> Vec<(LoopId, RegisterId)> {
        let (before, after) = (&self.before.cuts, &self.after.cuts);
        let mut apart = Vec::new();
        let entry = self.rewritten.flow.block(BlockId(0)).first;
        if before.len() != after.len() {
            self.unknown(entry, None, "ways meet at different places in the two".to_owned());
            return apart;
        }
        let (olds, news) = (numbered(before), numbered(after));
        for (index, (old, new)) in before.iter().zip(after).enumerate() {
            let inst = self.rewritten.flow.block(new.block).first;
            let id = LoopId((self.original.flow.loops.loops.len() + index) as u32);
            let roots = |numbers: &FxHashMap<BlockId, usize>, cut: &Cut| -> Vec<Option<usize>> {
                cut.ways.iter().map(|(root, ..)| numbers.get(root).copied()).collect()
            };
            if roots(&olds, old) != roots(&news, new) {
                self.unknown(inst, None, "different ways lead here in the two".to_owned());
                continue;
            }
            for ((_, when, a), (root, condition, b)) in old.ways.iter().zip(&new.ways) {
                let place = self.place(*root);
                // The facts of the cut that the way starts from hold all along it.
                let proof = self.prove(&place, *when, *condition, &[]);
                let what = || "the condition of a way here".to_owned();
                self.check((proof, (*when, *condition)), inst, None, &place, what);
                for (position, &(register, symbol)) in new.symbols.iter().enumerate() {
                    let Some(partner) = old.symbols.iter().position(|one| one.1 == symbol) else {
                        continue;
                    };
                    let proof = self.prove(&place, a[partner], b[position], &[*condition]);
                    match (proof, register) {
                        (Proof::Equal, _) => {}
                        (_, Some(register)) => apart.push((id, register)),
                        (_, None) => {
                            self.unknown(inst, None, "memory differs where ways meet".to_owned());
                        }
                    }
                }
            }
        }
        apart.sort_unstable();
        apart.dedup();
        apart
    }
}

/// The places where ways meet, numbered.
pub(super) fn numbered(cuts: &[Cut]) -> FxHashMap<BlockId, usize> {
    cuts.iter().enumerate().map(|(number, cut)| (cut.block, number)).collect()
}
