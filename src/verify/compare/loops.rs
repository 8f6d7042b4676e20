//! The loop-carried values: proved equal for each register and window where a loop is entered and at its back
//! edges; and in the same way at the cutpoints of cycles with several entries.

use rustc_hash::FxHashMap;

use super::comparison::Comparison;
use crate::cfg::{BlockId, InstId, LoopId};
use crate::expr::TermId;
use crate::proof::Proof;
use crate::record::{
    Assumed, Cutpoint, HeaderRegister, LoopRecord, LoopValue, Place, at_entry, at_latch,
    is_of_header,
};

/// A loop of both programs, and the places where its values are compared.
struct BothLoops<'c> {
    id: LoopId,
    /// The first instruction of the rewritten program's header.
    inst: InstId,
    before: &'c LoopRecord,
    after: &'c LoopRecord,
    /// In front of the loop.
    outside: Place,
    /// The header.
    inside: Place,
}

const DIFFERENT_PATHS: &str = "the two reach this place on different paths";

impl Comparison<'_, '_> {
    /// Proves the values equal that enter loops and that the back edges bring; returns the registers for which that
    /// fails.
    pub(super) fn loops(
        &mut self,
        carried: &FxHashMap<HeaderRegister, Assumed>,
    ) -> Vec<HeaderRegister> {
        let mut differ = Vec::new();
        let (all_before, all_after) = (self.before, self.after);
        for (id, before) in all_before.loops.iter_enumerated() {
            let header = self.rewritten.flow.loops.get(id).header;
            let inst = self.rewritten.flow.block(header).first;
            // (Evaluation enters and closes every loop, for a loop's header is reachable.)
            let (Some(before), Some(after)) = (before, &all_after.loops[id]) else {
                self.unknown(inst, None, DIFFERENT_PATHS.to_owned());
                continue;
            };
            let outside = self.iteration(self.rewritten.flow.loops.get(id).parent);
            let inside = self.place(header);
            let both = BothLoops { id, inst, before, after, outside, inside };
            self.loop_conditions(&both);
            for loop_value in &after.values {
                let assumed = loop_value
                    .register
                    .and_then(|register| carried.get(&HeaderRegister { id, register }));
                if self.is_same_in_each_iteration(&both, loop_value, assumed) {
                    continue;
                }
                match loop_value.register {
                    Some(register) => differ.push(HeaderRegister { id, register }),
                    None => {
                        self.unknown(inst, None, "memory differs at the head of a loop".to_owned());
                    }
                }
            }
        }
        differ
    }

    /// Proves that a loop is entered, and goes on, under the same condition in both programs.
    fn loop_conditions(&mut self, both: &BothLoops<'_>) {
        let BothLoops { inst, before, after, outside, inside, .. } = both;
        for (what, place, pair) in [
            ("a loop is entered", outside, (before.entry, after.entry)),
            ("a loop goes on", inside, (before.again, after.again)),
        ] {
            let proof = self.prove(place, pair.0, pair.1, &[]);
            self.check((proof, pair), *inst, None, place, || {
                format!("the condition under which {what}")
            });
        }
    }

    /// Proves by induction, at the loop's entry and at its back edges, that a register or window holds at the header,
    /// in each iteration, the original's value or the assumed one. True if the original has no counterpart to compare
    /// it with.
    fn is_same_in_each_iteration(
        &mut self,
        both: &BothLoops<'_>,
        loop_value: &LoopValue,
        assumed: Option<&Assumed>,
    ) -> bool {
        let BothLoops { id, before, after, outside, inside, .. } = both;
        self.terms.arena.charge(1 + before.values.len() as u64 / 8);
        let partner = match assumed {
            Some(Assumed { value, .. }) => {
                let loops = &self.original.flow.loops;
                if !is_of_header(self.terms, loops, (*id, before), *value) {
                    return false;
                }
                LoopValue {
                    initial: at_entry(self.terms, before, *value),
                    latch: at_latch(self.terms, before, *value),
                    ..*loop_value
                }
            }
            None => match before.values.iter().find(|one| one.symbol == loop_value.symbol) {
                Some(partner) => *partner,
                None => return true,
            },
        };
        // Only where a flag is true, if it has any.
        let flags = assumed.map_or(&[][..], |assumed| &assumed.when);
        let is_flag = |one: &&LoopValue| one.register.is_some_and(|one| flags.contains(&one));
        let flags = after.values.iter().filter(is_flag);
        let mut when: Vec<(TermId, TermId)> =
            flags.map(|flag| (flag.initial, flag.latch)).collect();
        if when.is_empty() {
            let always = self.terms.arena.boolean(true);
            when.push((always, always));
        }
        let mut proof = Proof::Equal;
        for (first, later) in when {
            if self.terms.arena.constant_value(first) != Some(0) {
                let known = [after.entry, first];
                proof = self.prove(outside, partner.initial, loop_value.initial, &known);
            }
            if proof == Proof::Equal {
                let known = [after.again, later];
                proof = self.prove(inside, partner.latch, loop_value.latch, &known);
            }
            if proof != Proof::Equal {
                break;
            }
        }
        proof == Proof::Equal
    }

    /// Proves the values equal that paths bring to each cutpoint; returns the registers for which that fails.
    pub(super) fn cutpoints(&mut self) -> Vec<HeaderRegister> {
        let (before, after) = (&self.before.cutpoints, &self.after.cutpoints);
        let mut differ = Vec::new();
        let entry = self.rewritten.flow.block(BlockId(0)).first;
        if before.len() != after.len() {
            self.unknown(entry, None, "paths meet at different places in the two".to_owned());
            return differ;
        }
        let (olds, news) = (numbered(before), numbered(after));
        for (index, (old, new)) in before.iter().zip(after).enumerate() {
            let inst = self.rewritten.flow.block(new.block).first;
            let id = LoopId((self.original.flow.loops.loops.len() + index) as u32);
            let roots =
                |numbers: &FxHashMap<BlockId, usize>, cutpoint: &Cutpoint| -> Vec<Option<usize>> {
                    cutpoint.paths.iter().map(|path| numbers.get(&path.from).copied()).collect()
                };
            if roots(&olds, old) != roots(&news, new) {
                self.unknown(inst, None, DIFFERENT_PATHS.to_owned());
                continue;
            }
            for (a, b) in old.paths.iter().zip(&new.paths) {
                let place = self.place(b.from);
                // The facts of the cutpoint that the path starts from hold all along it.
                let proof = self.prove(&place, a.condition, b.condition, &[]);
                let what = || "the condition of a way here".to_owned();
                self.check((proof, (a.condition, b.condition)), inst, None, &place, what);
                for (position, &(register, symbol)) in new.symbols.iter().enumerate() {
                    let Some(partner) = old.symbols.iter().position(|one| one.1 == symbol) else {
                        continue;
                    };
                    let proof = {
                        let (old, new) = (a.values[partner], b.values[position]);
                        self.prove(&place, old, new, &[b.condition])
                    };
                    match (proof, register) {
                        (Proof::Equal, _) => {}
                        (_, Some(register)) => differ.push(HeaderRegister { id, register }),
                        (_, None) => {
                            self.unknown(inst, None, "memory differs where ways meet".to_owned());
                        }
                    }
                }
            }
        }
        differ.sort_unstable();
        differ.dedup();
        differ
    }
}

/// The number of each cutpoint.
pub(super) fn numbered(cutpoints: &[Cutpoint]) -> FxHashMap<BlockId, usize> {
    cutpoints.iter().enumerate().map(|(number, cutpoint)| (cutpoint.block, number)).collect()
}
