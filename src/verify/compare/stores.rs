//! Proves that a vector store is equivalent to the stores of its elements, and one store to several to the same bytes
//! (`split`).

use super::comparison::Comparison;
use crate::cfg::Inst;
use crate::expr::TermId;
use crate::program::split::Split;
use crate::proof::{Claim, Proof};
use crate::record::{Event, Load};

/// Bytes of an element that a store writes.
fn element_bytes(inst: &Inst<'_, '_>) -> u32 {
    inst.ast.form.types().last().map_or(0, |ty| ty.bits() / 8)
}

impl Comparison<'_, '_> {
    /// Proves each group of stores.
    pub(super) fn splits(&mut self, splits: &[Split]) {
        for split in splits {
            self.split(split);
        }
    }

    fn split(&mut self, split: &Split) {
        let (with_vector, with_parts) = match split.joined {
            true => (self.after, self.before),
            false => (self.before, self.after),
        };
        let vector = with_vector.events.iter().find(|event| event.inst == split.vector);
        let parts: Vec<&Event> = split
            .parts
            .iter()
            .filter_map(|part| with_parts.events.iter().find(|event| event.inst == *part))
            .collect();
        let Some(vector) = vector.filter(|_| parts.len() == split.parts.len()) else {
            // Both programs must be unable to reach this, or the comparison of conditions would be incomplete.
            let never = vector.is_none() && parts.is_empty();
            if !never {
                self.missing_part(split);
            }
            return;
        };
        if split.overwritten {
            return self.overwritten(split, vector, &parts);
        }
        let Some(&first) = parts.first() else { return self.missing_part(split) };
        let (insts, others) = match split.joined {
            true => (&self.rewritten.flow.insts, &self.original.flow.insts),
            false => (&self.original.flow.insts, &self.rewritten.flow.insts),
        };
        let inst = &insts[split.vector];
        let (element, space) = (element_bytes(inst), inst.ast.form.space());
        let sizes = parts.iter().map(|part| element_bytes(&others[part.inst]));
        // Elements may be words that hold several of the parts' elements.
        let (least, most) = (sizes.clone().min().unwrap_or(0), sizes.max().unwrap_or(0));
        if least == 0 || least != most || !element.is_multiple_of(least) {
            return self.unlike("the width", self.first_the_original(split, first, vector));
        }
        let values = self.in_elements(&vector.operands[1..], (element, least));
        if !self.parts_are_elements(split, (vector, &values), &parts, least) || !split.joined {
            return;
        }
        let whole = Load {
            inst: vector.inst,
            block: vector.block,
            condition: vector.condition,
            space,
            address: vector.operands[0],
            bytes: least * values.len() as u32,
        };
        let place = self.place(whole.block);
        if !self.is_aligned(&place, &whole) {
            let reason = self.says_alignment(&whole);
            self.unknown(vector.inst, Some(split.parts[0]), reason);
        }
    }

    /// Proves that the elements of some parts, of `bytes` bytes each, are the values of a vector store, each once.
    fn parts_are_elements(
        &mut self,
        split: &Split,
        (vector, values): (&Event, &[TermId]),
        parts: &[&Event],
        bytes: u32,
    ) -> bool {
        let mut free: Vec<usize> = (0..values.len()).collect();
        for part in parts {
            let pair = |of_part, of_vector| match split.joined {
                true => (of_part, of_vector),
                false => (of_vector, of_part),
            };
            let events = self.first_the_original(split, part, vector);
            if !self.both_happen(events, !split.copies.is_empty()) {
                return false;
            }
            for (number, &value) in part.operands[1..].iter().enumerate() {
                let skipped = number as u64 * u64::from(bytes);
                let own = self.terms.arena.add_constant(part.operands[0], skipped);
                let Some(at) = self.element(events, (own, vector), bytes, &free) else {
                    self.unlike("the address", events);
                    return false;
                };
                free.retain(|one| *one != at);
                if !self.is_same(events, pair(value, values[at])) {
                    return false;
                }
            }
        }
        if !free.is_empty() {
            self.missing_part(split);
        }
        free.is_empty()
    }

    /// A part of a group and the group's vector store, the original's event first.
    fn first_the_original<'e>(
        &self,
        split: &Split,
        part: &'e Event,
        vector: &'e Event,
    ) -> (&'e Event, &'e Event) {
        if split.joined { (part, vector) } else { (vector, part) }
    }

    /// The values of elements of `bytes` bytes as values of `least` bytes each, by address.
    fn in_elements(&mut self, values: &[TermId], (bytes, least): (u32, u32)) -> Vec<TermId> {
        if bytes == least {
            return values.to_vec();
        }
        let arena = &mut self.terms.arena;
        let bits = 8 * least;
        let places = (0..bytes / least).map(|at| (at * bits) as u8);
        let of_value = |value: &TermId| {
            let value = *value;
            places.clone().map(move |low| (value, low))
        };
        let parts: Vec<(TermId, u8)> = values.iter().flat_map(of_value).collect();
        parts.into_iter().map(|(value, low)| arena.extract(value, low, bits as u8)).collect()
    }

    /// Proves that a store is equivalent to several that write the same bytes, one after the other. (No effect that
    /// others can observe is between these, and the lane's own loads are compared.)
    fn overwritten(&mut self, split: &Split, last: &Event, parts: &[&Event]) {
        let words = |text: &str| text.split_whitespace().collect::<String>();
        let own = words(self.rewritten.flow.insts[last.inst].ast.opcode.text);
        let place = self.place(last.block);
        for (number, part) in (1..).zip(parts) {
            let events = (*part, last);
            let places = (self.original.loop_of(part.block), self.rewritten.loop_of(last.block));
            let opcode = words(self.original.flow.insts[part.inst].ast.opcode.text);
            if opcode != own || places.0 != places.1 || part.operands.len() != last.operands.len() {
                return self.missing_part(split);
            }
            if !self.both_happen(events, !split.copies.is_empty()) {
                return;
            }
            let (a, b) = (part.operands[0], last.operands[0]);
            if self.prove(&place, a, b, &[last.condition]) != Proof::Equal {
                return self.unlike("the address", events);
            }
            let values = part.operands[1..].iter().zip(&last.operands[1..]);
            if number == parts.len()
                && !values.into_iter().all(|(&a, &b)| self.is_same(events, (a, b)))
            {
                return;
            }
        }
    }

    /// Which element of a vector store, among those that are left, is stored at an address.
    fn element(
        &mut self,
        (old, new): (&Event, &Event),
        (own, vector): (TermId, &Event),
        bytes: u32,
        free: &[usize],
    ) -> Option<usize> {
        let places = (self.original.loop_of(old.block), self.rewritten.loop_of(new.block));
        let &base = vector.operands.first()?;
        if places.0 != places.1 || self.terms.arena.width(own) != self.terms.arena.width(base) {
            return None;
        }
        let place = self.place(new.block);
        let arena = &mut self.terms.arena;
        if let Some(offset) = arena.constant_difference(own, base) {
            let at = usize::try_from(offset).ok()?;
            let is_whole = at.is_multiple_of(bytes as usize);
            return Some(at / bytes as usize).filter(|at| is_whole && free.contains(at));
        }
        free.iter().copied().find(|&at| {
            let there = self.terms.arena.add_constant(base, at as u64 * u64::from(bytes));
            self.prove(&place, own, there, &[new.condition]) == Proof::Equal
        })
    }

    /// Proves that two stores happen under the same condition; of a `version` only where its block is reached.
    fn both_happen(&mut self, (old, new): (&Event, &Event), version: bool) -> bool {
        let place = self.place(new.block);
        let (mut a, b) = (old.condition, new.condition);
        if let Some(path) = self.after.path[new.block].filter(|_| version) {
            a = self.terms.arena.and(a, path);
        }
        let iteration = self.iteration(self.rewritten.loop_of(new.block));
        let same = self.prove(&place, a, b, &[]) == Proof::Equal
            && self.prove(&iteration, a, b, &[a]) == Proof::Equal;
        if !same {
            self.unlike("the condition", (old, new));
        }
        same
    }

    /// Proves that two stores store the same value.
    fn is_same(&mut self, (old, new): (&Event, &Event), (a, b): Claim) -> bool {
        let place = self.place(new.block);
        let proof = self.prove(&place, a, b, &[new.condition]);
        let same = proof == Proof::Equal;
        let opcode = self.original.flow.insts[old.inst].ast.opcode.text.to_owned();
        let what = || format!("the value of `{opcode}`");
        self.check((proof, (a, b)), new.inst, Some(old.inst), &place, what);
        same
    }

    fn unlike(&mut self, what: &str, (old, new): (&Event, &Event)) {
        let opcode = self.original.flow.insts[old.inst].ast.opcode.text;
        let reason = format!("{what} of `{opcode}` was not shown to be equal");
        self.unknown(new.inst, Some(old.inst), reason);
    }

    fn missing_part(&mut self, split: &Split) {
        let Some((new, old)) = split.ends() else { return };
        let reason = "only one of the two programs performs some of these stores".to_owned();
        self.unknown(new, Some(old), reason);
    }
}
