//! Loads that deliver the same value: the terms that have to be equal for that, once each reads from the oldest version
//! of memory with the same bytes.

use rustc_hash::FxHashMap;

use super::query::{Effort, Prover};
use super::question::{Claim, Question};
use crate::expr::{Comparison, Node, TermId};
use crate::ptx::StateSpace;
use crate::record::{Accessed, StoreRecord, before_stores, unmarked};
use crate::solver::Judgement;
use crate::terms::{Function, Terms, Truth, conditions, disjoint};

/// The most low bits by which accesses are distinguished: strides of unrolled loops over wide elements.
const MAX_LOW_BITS: u8 = 7;

/// The most selections between versions, one within another.
const MAX_NESTED: u32 = 256;

/// The most paths between versions that are looked into for one load.
const MAX_PATHS: u32 = 64;

/// The most facts with which selections between versions of memory are still looked into.
const MAX_KNOWN: usize = 512;

impl Prover {
    /// The claims by which two loads from global or shared memory deliver the same: equal addresses,
    /// and equal versions, once each is the oldest that holds the same bytes. A load from memory that
    /// the original promises to be read-only is of every version.
    pub(crate) fn load_congruence(
        &mut self,
        at: &mut Question<'_, '_, '_>,
        (a, b): Claim,
    ) -> Option<Vec<(TermId, TermId)>> {
        let known = at.known;
        let ((f, x), (g, y)) = (at.terms.loaded(a)?, at.terms.loaded(b)?);
        if f == g && f.space == StateSpace::Generic {
            let operands = (x.to_vec(), y.to_vec());
            return self.generic_congruence(at, (&operands.0, &operands.1), a);
        }
        if f != g || !f.is_shared_by_lanes() {
            return None;
        }
        let ((v, address), (w, other)) = ((x[0], x[1]), (y[0], y[1]));
        let mut pairs = Vec::new();
        if address != other {
            pairs.push((address, other));
        }
        let read_only = [v, w].into_iter().any(|v| at.terms.arena.constant_value(v) == Some(0));
        let ((mine, marked), (theirs, too)) = (unmarked(at.terms, v), unmarked(at.terms, w));
        if v != w && !read_only && (marked || too) {
            // The memory that another lane reads: see `Function::OtherLanesMemory`.
            let stores = &self.stores;
            let base = |terms: &mut Terms, version| {
                let base = before_stores(terms, stores, version);
                conditions::simplify(&mut terms.arena, base, known)
            };
            let (mine, theirs) = (base(at.terms, mine), base(at.terms, theirs));
            if mine != theirs {
                pairs.push((mine, theirs));
            }
        } else if v != w && !read_only {
            let bytes = u32::from(at.terms.arena.width(a)) / 8;
            // One may be older than the other: stores in front of both are of no interest.
            let is_generic = false;
            let v = self.oldest(at, (v, w), Accessed { address, bytes, is_generic });
            let w = self.oldest(at, (w, v), Accessed { address: other, bytes, is_generic });
            if v != w {
                pairs.push((v, w));
            }
        }
        Some(pairs)
    }

    /// The same for loads outside of global memory: generic addresses are compared with generic ones.
    fn generic_congruence(
        &mut self,
        at: &mut Question<'_, '_, '_>,
        (x, y): (&[TermId], &[TermId]),
        value: TermId,
    ) -> Option<Vec<(TermId, TermId)>> {
        let (&[v, w, address, thread], &[other_v, other_w, other, other_thread]) = (x, y) else {
            return None;
        };
        let bytes = u32::from(at.terms.arena.width(value)) / 8;
        let is_generic = true;
        let mut pairs = vec![(address, other), (thread, other_thread)];
        for (mine, theirs) in [(v, other_v), (w, other_w)] {
            let mine = self.oldest(at, (mine, theirs), Accessed { address, bytes, is_generic });
            let theirs =
                self.oldest(at, (theirs, mine), Accessed { address: other, bytes, is_generic });
            pairs.push((mine, theirs));
        }
        pairs.retain(|(mine, theirs)| mine != theirs);
        Some(pairs)
    }

    /// Two parts of loads as narrower loads: of as many bytes as the smaller load has, or as both parts
    /// need. A load delivers the same bytes as narrower loads from the same version of memory.
    pub(crate) fn narrowed(terms: &mut Terms, (a, b): Claim) -> Option<(TermId, TermId)> {
        let (mine, theirs) = (part_of_load(terms, a)?, part_of_load(terms, b)?);
        let bits = terms.arena.width(a);
        // The bytes that the part is in.
        let within = |low: u8| (low % 8, (low % 8 + bits).div_ceil(8) * 8);
        let (low, own) = within(mine.low);
        let loads = matches!(own, 8 | 16 | 32) && within(theirs.low) == (low, own);
        let both_narrow = [&mine, &theirs].iter().all(|part| part.bits == own);
        if !loads || both_narrow || mine.space != theirs.space {
            return None;
        }
        let narrow = |terms: &mut Terms, part: &Part| {
            let address = terms.arena.add_constant(part.address, u64::from(part.low) / 8);
            terms.apply(Function::load(part.space, own), &[part.version, address], own)
        };
        // (Which bits of these bytes it is does not matter, so long as they are the same.)
        Some((narrow(terms, &mine), narrow(terms, &theirs)))
    }

    /// Whether a store does not alias a load by tests of their distance; registers that keep their
    /// distance are replaced in `known`.
    fn disjoint(
        &mut self,
        terms: &mut Terms,
        store: &StoreRecord,
        Accessed { address, bytes, .. }: Accessed,
        known: &[TermId],
    ) -> bool {
        let ahead = terms.arena.sub(store.address, address);
        if self.differ_in_low_bits(terms, ahead, (store.bytes, bytes)) || terms.is_apart(ahead) {
            return true;
        }
        let ahead = self.induction.apply(terms, ahead);
        disjoint(&mut terms.arena, ahead, (store.bytes, bytes), known)
    }

    /// Whether the low bits of a distance between two accesses are those of no distance at which they overlap: an index
    /// that starts at 1 and grows by 4 is never 0, however often it wraps around. The first access is `first` bytes long
    /// and `ahead` bytes ahead of the second, which is `second` bytes long.
    fn differ_in_low_bits(
        &mut self,
        terms: &mut Terms,
        ahead: TermId,
        (first, second): (u32, u32),
    ) -> bool {
        let key = (ahead, first, second);
        if let Some(&differ) = self.differing_low_bits.get(&key) {
            return differ;
        }
        let differ = (2..=MAX_LOW_BITS).rev().any(|bits| {
            let low = self.low_bits.of(terms, ahead, bits);
            terms.arena.constant_value(low).is_some_and(|low| {
                // They overlap from `1 - first` to `second - 1`; the differences of the low bits are those modulo 2^bits.
                let overlap = 1 - i64::from(first)..i64::from(second);
                overlap.into_iter().all(|distance| distance.rem_euclid(1 << bits) != low as i64)
            })
        });
        self.differing_low_bits.insert(key, differ);
        differ
    }

    /// The store that made a version, if its address can be compared with that of a load.
    fn made(&self, version: TermId, loaded: Accessed) -> Option<StoreRecord> {
        let stores = if loaded.is_generic { &self.generic_stores } else { &self.stores };
        stores.get(&version).copied()
    }

    /// Steps over stores that are shown not to write the loaded bytes, as far as `enough`: first with facts of all
    /// paths, each store once, then on each path with the facts of that path.
    fn oldest(
        &mut self,
        at: &mut Question<'_, '_, '_>,
        (version, enough): (TermId, TermId),
        loaded: Accessed,
    ) -> TermId {
        let known = at.known;
        let mut older = FxHashMap::default();
        let applied = self.induction.apply_all(at.terms, known);
        older.insert(enough, enough);
        let version =
            self.oldest_on_all_paths(at.terms, version, loaded, &applied, &mut older, MAX_NESTED);
        self.oldest_on_path(at, (version, enough), loaded, &mut { MAX_PATHS })
    }

    /// The oldest version by facts of all paths; `older` has those that were found before, and one that is old enough.
    fn oldest_on_all_paths(
        &mut self,
        terms: &mut Terms,
        start: TermId,
        loaded: Accessed,
        known: &[TermId],
        older: &mut FxHashMap<TermId, TermId>,
        depth: u32,
    ) -> TermId {
        if let Some(&found) = older.get(&start) {
            return found;
        }
        let Some(depth) = depth.checked_sub(1) else { return start };
        let mut version = start;
        while let Some(record) = self.made(version, loaded) {
            if let Some(&found) = older.get(&version) {
                version = found;
                break;
            }
            terms.arena.charge(2);
            if !self.disjoint(terms, &record, loaded, known) {
                break;
            }
            version = record.before;
        }
        if let Node::IfThenElse(condition, a, b) = *terms.arena.node(version) {
            let a = self.oldest_on_all_paths(terms, a, loaded, known, older, depth);
            let b = self.oldest_on_all_paths(terms, b, loaded, known, older, depth);
            version = terms.arena.if_then_else(condition, a, b);
        }
        older.insert(start, version);
        version
    }

    /// The oldest version where `known` holds, by cases; `paths` paths may still be looked into.
    fn oldest_on_path(
        &mut self,
        at: &mut Question<'_, '_, '_>,
        (mut version, enough): (TermId, TermId),
        loaded: Accessed,
        paths: &mut u32,
    ) -> TermId {
        if version == enough {
            return version;
        }
        let known = at.known;
        let applied = match self.made(version, loaded).is_some() {
            true => self.induction.apply_all(at.terms, known),
            false => Vec::new(),
        };
        while let Some(record) = self.made(version, loaded) {
            let no_alias = self.disjoint(at.terms, &record, loaded, &applied)
                || self.does_not_alias(at, &record, loaded);
            if !no_alias {
                return version;
            }
            version = record.before;
            if version == enough {
                return version;
            }
        }
        let Node::IfThenElse(condition, a, b) = *at.terms.arena.node(version) else {
            return version;
        };
        // Logic alone may decide the condition.
        if let Ok(mut truth) = Truth::of(&mut at.terms.arena, known)
            && let Some(holds) = truth.value(&mut at.terms.arena, condition)
        {
            let side = if holds { a } else { b };
            return self.oldest_on_path(at, (side, enough), loaded, paths);
        }
        // Each selection adds facts, which bounds how deep selections are looked into.
        let left = paths.checked_sub(2).filter(|_| known.len() <= MAX_KNOWN);
        let Some(left) = left else { return version };
        *paths = left;
        let negated = at.terms.arena.not(condition);
        let mut side = |this: &mut Self, at: &mut Question<'_, '_, '_>, side, holds| {
            let mut more = known.to_vec();
            more.extend(conditions::literals(&mut at.terms.arena, holds));
            conditions::add_remaining(&mut at.terms.arena, &mut more);
            this.flags.add_to(&mut more);
            this.oldest_on_path(&mut at.under(&more), (side, enough), loaded, paths)
        };
        let a = side(self, at, a, condition);
        let b = side(self, at, b, negated);
        at.terms.arena.if_then_else(condition, a, b)
    }

    /// Whether a store is shown to leave the loaded bytes alone.
    fn does_not_alias(
        &mut self,
        at: &mut Question<'_, '_, '_>,
        record: &StoreRecord,
        Accessed { address, bytes, .. }: Accessed,
    ) -> bool {
        let arena = &mut at.terms.arena;
        let width = arena.width(address);
        let (ahead, behind) =
            (arena.sub(address, record.address), arena.sub(record.address, address));
        let (stored, read) = (
            arena.constant(u64::from(record.bytes), width),
            arena.constant(u64::from(bytes), width),
        );
        // Modulo 2^64: neither access starts within the other.
        let after = arena.compare(Comparison::UnsignedLessEqual, stored, ahead);
        let before = arena.compare(Comparison::UnsignedLessEqual, read, behind);
        let no_alias = arena.and(after, before);
        let always = arena.boolean(true);
        let effort = self.effort;
        if effort == Effort::Values {
            self.effort = Effort::Search;
        }
        let judged = self.ask(at, (no_alias, always));
        self.effort = effort;
        judged == Judgement::Proved
    }
}

/// Some bits of a load's value.
struct Part {
    space: StateSpace,
    version: TermId,
    address: TermId,
    /// Width of the load in bits.
    bits: u8,
    /// The first of the bits.
    low: u8,
}

/// The part of a load that a term is; all of it, if it is a load.
fn part_of_load(terms: &Terms, term: TermId) -> Option<Part> {
    let (load, low) = match *terms.arena.node(term) {
        Node::Extract(load, low) => (load, low),
        _ => (term, 0),
    };
    let (function, operands) = terms.loaded(load)?;
    if !function.is_shared_by_lanes() {
        return None;
    }
    let (version, address) = (operands[0], operands[1]);
    Some(Part { space: function.space, version, address, bits: terms.arena.width(load), low })
}
