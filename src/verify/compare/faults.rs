//! Every byte that the rewritten program loads must be loaded by the original too, or the rewritten
//! program might fault where the original does not: the original reads each byte under a
//! condition that holds, and the address is aligned. Or another lane that is at the place reads the byte
//! (`loads_by_other_lanes`).

use rustc_hash::{FxHashMap, FxHashSet};

use super::comparison::Comparison;
use crate::expr::TermId;
use crate::proof::{LowBits, Proof};
use crate::record::{Load, Place, at_entry};
use crate::terms::{Kind, Terms, conditions};
use crate::witness::reachable::symbols as symbols_of;

/// A load of the original near one of the rewritten program: its first byte and its end within the
/// latter's bytes, and the condition under which it is performed.
type Near = (i64, i64, TermId);

/// No load of the original was found that reads the bytes.
const MAY_FAULT: &str = "reads an address that the original is not shown to read: it may fault";

/// Only the loads of the lane itself were considered in the original.
const UNORDERED: &str = "reads an address that this lane is not shown to read in the original: it may fault. \
     A read by another lane of the warp suffices only if the whole warp waits (`bar.warp.sync`) in front of the load \
     and behind it, with no store in between: else that lane may store there at the same time";

/// Whether a term has another one in it.
fn mentions(terms: &Terms, term: TermId, part: TermId) -> bool {
    let (mut work, mut seen) = (vec![term], FxHashSet::default());
    while let Some(next) = work.pop() {
        if next == part {
            return true;
        }
        if seen.insert(next) {
            terms.arena.charge(1);
            work.extend(terms.arena.operands(next));
        }
    }
    false
}

impl Comparison<'_, '_> {
    /// Checks that each load of the rewritten program reads bytes that the original reads too;
    /// otherwise it might fault where the original does not.
    pub(super) fn loads(&mut self) {
        let mut alike: FxHashMap<TermId, Vec<&Load>> = FxHashMap::default();
        for load in &self.before.loads {
            alike.entry(load.address).or_default().push(load);
        }
        for load in &self.after.loads {
            // It is the same load under the same condition, as almost all are.
            let same = |one: &&&Load| {
                (one.condition, one.space, one.bytes) == (load.condition, load.space, load.bytes)
                    && self.original.loop_of(one.block) == self.rewritten.loop_of(load.block)
            };
            let alike = alike.get(&load.address).map_or(&[][..], Vec::as_slice);
            self.terms.arena.charge(1 + alike.len() as u64 / 8);
            if alike.iter().any(|one| same(&one)) {
                continue;
            }
            let by_lane = &self.warp.prover.by_lane;
            let (lane, thread) = (by_lane.lane, by_lane.terms.thread);
            let has = |part: Option<TermId>| {
                part.is_some_and(|part| mentions(self.terms, load.address, part))
            };
            let (by_lane, by_thread) = (has(lane), has(thread));
            let read = match by_lane {
                true => self.is_read_by_other_lanes(load) || self.is_covered(load),
                false => {
                    self.is_covered(load)
                        || self.is_read_at_an_offset(load)
                        || by_thread && self.is_read_by_other_lanes(load)
                }
            };
            if !read {
                // (Other lanes were not looked at then.)
                let alone = self.warp.reconverged.iter().any(|one| one.block == load.block)
                    && self.lacks_wait(load);
                let reason = match alone {
                    true => UNORDERED.to_owned(),
                    false if self.misaligned.contains(&load.inst) => self.says_alignment(load),
                    false => MAY_FAULT.to_owned(),
                };
                self.unknown(load.inst, None, reason);
            }
        }
    }

    /// Whether loads of the original read all bytes that a load of the rewritten program reads,
    /// whenever that load is performed.
    fn is_covered(&mut self, load: &Load) -> bool {
        let literals = conditions::literals(&mut self.terms.arena, load.condition);
        self.terms.arena.charge(4 * self.before.loads.len() as u64);
        let near = self.near(load);
        let implied = |terms: &mut Terms, condition: TermId| {
            let needed = conditions::literals(&mut terms.arena, condition);
            conditions::hold(&terms.arena, &needed, &literals)
        };
        // One load that reads all bytes, aligned as a part of an aligned access.
        let bytes = i64::from(load.bytes);
        let whole = |near: &&Near| near.0 <= 0 && near.1 >= bytes && near.0 % bytes == 0;
        let known: Vec<bool> = near.iter().map(|one| implied(self.terms, one.2)).collect();
        if near.iter().zip(&known).any(|(one, known)| *known && whole(&one)) {
            return true;
        }
        let place = self.place(load.block);
        if near.iter().filter(whole).any(|one| self.runs_whenever(&place, one.2, load)) {
            return true;
        }
        // Several loads that read the bytes together, or loads of a following loop in its first
        // iteration.
        let mut parts: Vec<(Near, bool)> = near.into_iter().zip(known).collect();
        if self.are_enough(&place, load, parts.clone()) {
            return true;
        }
        let first = self.near_first(load);
        if first.is_empty() {
            return false;
        }
        parts.extend(first.into_iter().map(|near| (near, false)));
        self.are_enough(&place, load, parts)
    }

    /// Whether some loads read all bytes together, and the address of `load` is aligned.
    fn are_enough(&mut self, place: &Place, load: &Load, mut parts: Vec<(Near, bool)>) -> bool {
        let (bytes, mut reached) = (i64::from(load.bytes), 0);
        let single = |near: &Near| near.0 <= 0 && near.1 >= bytes && near.0 % bytes == 0;
        let mut aligned = false;
        parts.sort_by_key(|((from, to, _), _)| (*from, *to));
        for (near, known) in parts {
            let (from, to, condition) = near;
            if from <= reached
                && to > reached
                && (known || self.runs_whenever(place, condition, load))
            {
                reached = to;
                // It is a part of an aligned access.
                aligned |= single(&near);
            }
        }
        let fits = aligned || reached >= bytes && self.is_aligned(place, load);
        if reached >= bytes && !fits {
            self.misaligned.insert(load.inst);
        }
        reached >= bytes && fits
    }

    /// The original's loads of the same space and loop that read a byte of `load`.
    fn near(&mut self, load: &Load) -> Vec<Near> {
        let around = self.rewritten.loop_of(load.block);
        let bytes = i64::from(load.bytes);
        let mut found = Vec::new();
        for one in &self.before.loads {
            if one.space != load.space || self.original.loop_of(one.block) != around {
                continue;
            }
            let arena = &mut self.terms.arena;
            let Some(from) = arena.constant_difference(one.address, load.address) else { continue };
            let to = from.saturating_add(i64::from(one.bytes));
            if from < bytes && to > 0 {
                found.push((from, to, one.condition));
            }
        }
        found
    }

    /// The original's loads in the first iteration of the loops that follow: they are performed if the
    /// loop is entered and their condition holds for the values that it is entered with.
    fn near_first(&mut self, load: &Load) -> Vec<Near> {
        let (around, bytes) = (self.rewritten.loop_of(load.block), i64::from(load.bytes));
        let mut found = Vec::new();
        for one in &self.before.loads {
            let Some(id) = self.original.loop_of(one.block) else { continue };
            let inner = &self.original.flow.loops.get(id);
            let Some(record) = &self.before.loops[id] else { continue };
            if inner.parent != around || one.space != load.space || self.original.irreducible {
                continue;
            }
            let address = at_entry(self.terms, record, one.address);
            let arena = &mut self.terms.arena;
            let Some(from) = arena.constant_difference(address, load.address) else { continue };
            let to = from.saturating_add(i64::from(one.bytes));
            if from < bytes && to > 0 {
                let first = at_entry(self.terms, record, one.condition);
                found.push((from, to, self.terms.arena.and(record.entry, first)));
            }
        }
        found
    }

    fn runs_whenever(&mut self, place: &Place, condition: TermId, load: &Load) -> bool {
        let always = self.terms.arena.boolean(true);
        self.prove(place, condition, always, &[load.condition]) == Proof::Equal
    }

    /// Whether a load's address is a multiple of its bytes (PTX ISA, "Addresses as Operands": a vector is
    /// aligned as a whole).
    pub(super) fn is_aligned(&mut self, place: &Place, load: &Load) -> bool {
        self.is_aligned_if(place, load, &[])
    }

    /// Why an access is not shown to be aligned, and which parameters' alignment would suffice.
    pub(super) fn says_alignment(&mut self, load: &Load) -> String {
        let bytes = u64::from(load.bytes);
        let base = format!(
            "accesses {bytes} bytes at once: its address is not shown to be a multiple of {bytes}"
        );
        let symbols = &self.terms.symbols;
        let mut pointers: Vec<(String, u64)> = symbols_of(self.terms, &[load.address])
            .into_iter()
            .filter_map(|symbol| match &symbols.info(symbol).kind {
                Kind::Parameter { name, offset: 0, bits: 64 } => Some((name.clone(), bytes)),
                _ => None,
            })
            .collect();
        pointers.sort_unstable();
        let place = self.place(load.block);
        if pointers.is_empty() || !self.is_aligned_if(&place, load, &pointers) {
            return base;
        }
        let names: Vec<String> = pointers.iter().map(|(name, _)| format!("`{name}`")).collect();
        let options: Vec<String> =
            pointers.iter().map(|(name, _)| format!("--assume-aligned {name}:{bytes}")).collect();
        format!(
            "{base}. It is if {} is one (assume it with `{}`)",
            names.join(" and "),
            options.join(" ")
        )
    }

    /// The same if parameters are multiples of these numbers.
    fn is_aligned_if(&mut self, place: &Place, load: &Load, also: &[(String, u64)]) -> bool {
        let bytes = u64::from(load.bytes);
        if !bytes.is_power_of_two() {
            return false;
        }
        if bytes == 1 {
            return true;
        }
        let bits = bytes.trailing_zeros() as u8;
        let known = conditions::literals(&mut self.terms.arena, load.condition);
        let aligned = [&self.original.aligned[..], also].concat();
        let values = LowBits::new(self.terms, &[self.before, self.after], &aligned)
            .under(self.terms, &known);
        let low = values.of(self.terms, load.address, bits);
        let zero = self.terms.arena.constant(0, bits);
        self.prove(place, low, zero, &[load.condition]) == Proof::Equal
    }
}
