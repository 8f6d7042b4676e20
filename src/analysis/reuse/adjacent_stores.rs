//! Stores of consecutive bytes by one lane, for which one vector store can stand.
//!
//! In: the trace of one function. Out: [`AdjacentStores`] groups, each with the conditions on parameters under which the
//! vector's address is aligned in every lane, or with the [`Refusal`] that keeps the stores apart. The vector stands in
//! the place of the last store. All stores of a group stand in one block under one guard predicate, without a gap
//! between their bytes, so the vector writes no byte that they do not write. Between the first and the last there are
//! only arithmetic and loads of other bytes: nothing that could notice that a store is performed later.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::alignment::Multiple;
use super::eligible::{Load, MAX_ADDRESS, OWN_REGISTERS};
use super::legality::Legality;
use super::refusal::Refusal;
use super::stored_value::StoredValue;
use super::vector_group::{MAX_APART, vector_exists, whole_members};
use crate::bytes::ByteRange;
use crate::cfg::{Arg, Base, BlockId, InstId, RegisterId};
use crate::emulate::{Effect, KernelTrace, definitions, effect};
use crate::isa::{Modifier, Qualifier};
use crate::loops::is_observed;
use crate::ptx::{ScalarType, StateSpace};

/// One value that is stored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StoredElement {
    /// The store's instruction.
    pub inst: InstId,
    /// The value.
    pub value: StoredValue,
    /// Whether an instruction between the store and the vector writes the value's register.
    pub overwritten: bool,
}

/// A store that takes part.
#[derive(Clone, Debug)]
pub struct PlainStore {
    /// The store seen as an access; it has no elements.
    pub access: Load,
    /// The type of each element.
    pub ty: ScalarType,
    /// The values, by address.
    pub values: SmallVec<[StoredValue; 4]>,
    /// The number of the store among all stores of the function.
    ordinal: usize,
    /// Bytes from the address of the run's first store to this one's.
    ahead: i64,
}

impl PlainStore {
    /// The bytes that it writes, from the address of the run's first store on.
    fn range(&self) -> ByteRange {
        ByteRange::new(self.ahead, self.access.bytes as u64)
    }

    /// Whether another store is the next one of the function.
    pub fn is_followed_by(&self, next: &PlainStore) -> bool {
        self.ordinal + 1 == next.ordinal
    }
}

/// Stores that one vector store can stand for.
#[derive(Clone, Debug)]
pub struct AdjacentStores {
    /// The stores in program order; the vector stands in the place of the last.
    pub members: Vec<PlainStore>,
    /// The block that they stand in.
    pub block: BlockId,
    /// The values by address.
    pub elements: Vec<StoredElement>,
    /// Bytes from the last member's address to each member's, in program order.
    pub distances: Vec<i64>,
    /// Bytes from the last member's address to the vector's.
    pub offset: i64,
    /// Bytes of the vector.
    pub bytes: i64,
    /// Bits of the registers that hold the values.
    pub register_bits: u32,
    /// Conditions on parameters, each to be a multiple of a number; empty if alignment is proved.
    pub multiples: SmallVec<[Multiple; 2]>,
    /// Whether the vector stands in a version of the code whose test asks for the conditions, too.
    pub is_covered: bool,
    /// Whether that test compares addresses, too.
    pub asks_distance: bool,
    /// Why the stores stay, if they have to.
    pub refusal: Option<Refusal>,
}

/// Consecutive stores of a block whose addresses differ by constants.
type Run = Vec<PlainStore>;

/// An element of a run: bytes from the first store's address, and the store's place in the run.
type At = (i64, usize, StoredValue);

/// The loads that are performed together with a load, wherever that is; `None` if that is not known.
pub(super) type Together<'t> = &'t dyn Fn(InstId) -> Option<Vec<InstId>>;

impl Legality<'_, '_, '_> {
    /// The groups that the function's stores fall into, in program order.
    pub fn adjacent_stores(
        &mut self,
        trace: &mut KernelTrace,
        together: Together<'_>,
    ) -> Vec<AdjacentStores> {
        if self.options.strict || self.is_irreducible() {
            return Vec::new();
        }
        let (mut runs, mut parted): (Vec<Run>, Vec<AdjacentStores>) = Default::default();
        let stores = self.plain_stores(trace);
        for store in stores.iter().cloned() {
            if trace.arena.is_nearly_spent() {
                break;
            }
            self.add_stored_part(trace, &mut runs, store, &mut parted);
        }
        let mut found = parted;
        let at: FxHashMap<InstId, usize> =
            trace.accesses.iter().enumerate().map(|(index, one)| (one.inst, index)).collect();
        for run in runs.iter().filter(|run| run.len() > 1) {
            if let Some(other) = self.stored_again(trace, run, &stores) {
                let refusal = self.parted(&self.flow().insts[other]);
                found.push(refused(trace, run.clone(), refusal));
                continue;
            }
            self.split_stores(trace, run, (&at, together), &mut found);
        }
        found.sort_by_key(|group| group.members[0].access.inst);
        found
    }

    /// Whether some cycle has several entries: no proof follows stores of one program that are several in the other there.
    pub fn is_irreducible(&self) -> bool {
        let flow = self.flow();
        flow.block_ids().any(|block| flow.loops.is_irreducible_entry(block))
    }

    /// The weak stores to global memory at registers' addresses, in program order.
    pub fn plain_stores(&self, trace: &KernelTrace) -> Vec<PlainStore> {
        let mut stores: Vec<usize> = (0..trace.accesses.len())
            .filter(|&index| trace.accesses[index].effect == Effect::Store)
            .collect();
        stores.sort_by_key(|&index| trace.accesses[index].inst);
        let numbered = stores.into_iter().enumerate();
        numbered.filter_map(|(ordinal, index)| self.vector_part(trace, index, ordinal)).collect()
    }

    /// A weak store at a register's address.
    fn vector_part(&self, trace: &KernelTrace, index: usize, ordinal: usize) -> Option<PlainStore> {
        let access = &trace.accesses[index];
        let inst = &self.flow().insts[access.inst];
        let form = &inst.ast.form;
        let (ty, address) = (access.ty?, access.address?);
        let generic = access.space == StateSpace::Generic;
        let plain = matches!(inst.args.first(), Some(Arg::Memory { base: Base::Register(_), rest, .. })
            if rest.is_empty());
        let own =
            |register: RegisterId| self.flow().registers[register].name.starts_with(OWN_REGISTERS);
        let fits = (generic || access.space == StateSpace::Global)
            && access.strong.is_none()
            && !inst.guard.is_some_and(|(register, _)| own(register))
            && !inst.pragma
            && inst.args.len() == 2
            && plain
            && !form.has(Qualifier::L2CacheHint)
            && !form.modifiers().contains(&Modifier::Unknown)
            && matches!(ty.bits(), 8 | 16 | 32 | 64)
            && trace.arena.width(address) == 64
            && !trace.arena.are_larger_than([address], MAX_ADDRESS)
            && !self.is_version(access.block);
        if !fits {
            return None;
        }
        let single = std::slice::from_ref(&inst.args[1]);
        let stored = match &inst.args[1] {
            Arg::Vector(elements) => elements,
            _ => single,
        };
        let values = stored.iter().map(|value| self.element_value(value, ty));
        let load = Load {
            access: index,
            inst: access.inst,
            address,
            elements: Default::default(),
            bytes: i64::from(access.bytes()),
            guard: inst.guard,
            generic,
        };
        Some(PlainStore {
            access: load,
            ty,
            values: values.collect::<Option<_>>()?,
            ordinal,
            ahead: 0,
        })
    }

    /// The value of an operand; a register may be wider than the bits that are stored (PTX ISA, "Operand Size
    /// Exceeding Instruction-Type Size").
    fn element_value(&self, value: &Arg<'_>, ty: ScalarType) -> Option<StoredValue> {
        let bits = ty.bits();
        self.stored_value(value, ty, |width| matches!(width, 16 | 32 | 64) && width >= bits)
    }

    /// A store of the block that writes bytes of a run, too. (Which of them a store of the other program stands for would
    /// be open in a proof.)
    fn stored_again(
        &self,
        trace: &mut KernelTrace,
        run: &Run,
        stores: &[PlainStore],
    ) -> Option<InstId> {
        let block = |trace: &KernelTrace, one: &PlainStore| trace.accesses[one.access.access].block;
        let first = &run[0];
        let of_run = run.iter().map(|one| one.access.inst);
        let (start, end) = (of_run.clone().min()?, of_run.max()?);
        for store in stores {
            let inst = store.access.inst;
            if block(trace, store) != block(trace, first) || (start..=end).contains(&inst) {
                continue;
            }
            trace.arena.charge(4);
            let (to, from) = (store.access.address, first.access.address);
            let Some(ahead) = trace.arena.constant_difference(to, from) else { continue };
            let own = ByteRange::new(ahead, store.access.bytes as u64);
            if run.iter().any(|one| one.range().meets(own)) {
                return Some(inst);
            }
        }
        None
    }

    /// Adds a store to the last run, or begins another one.
    fn add_stored_part(
        &mut self,
        trace: &mut KernelTrace,
        runs: &mut Vec<Run>,
        store: PlainStore,
        parted: &mut Vec<AdjacentStores>,
    ) {
        trace.arena.charge(8);
        let joined = runs.last().and_then(|run| self.distance_in(trace, run, &store));
        let Some(ahead) = joined else { return runs.push(vec![store]) };
        let run = runs.last_mut().unwrap_or_else(|| unreachable!("a run was found"));
        let last = run.last().map_or(InstId(0), |one| one.access.inst);
        let store = PlainStore { ahead, ..store };
        match self.parts(trace, last, &store) {
            None => run.push(store),
            Some(refusal) => {
                let touches = |one: &&PlainStore| {
                    one.ahead + one.access.bytes == ahead || ahead + store.access.bytes == one.ahead
                };
                if let Some(one) = run.iter().find(touches) {
                    parted.push(refused(trace, vec![one.clone(), store.clone()], refusal));
                }
                runs.push(vec![PlainStore { ahead: 0, ..store }]);
            }
        }
    }

    /// Bytes from a run's first store to a store that may be in it, checked for everything but the code between.
    fn distance_in(&self, trace: &mut KernelTrace, run: &Run, store: &PlainStore) -> Option<i64> {
        let (first, last) = (&run[0], run.last()?);
        let block = |one: &PlainStore| trace.accesses[one.access.access].block;
        let alike = block(first) == block(store)
            && last.is_followed_by(store)
            && first.ty.bits() == store.ty.bits()
            && first.access.guard == store.access.guard
            && self.same_modifiers(&first.access, &store.access);
        if !alike {
            return None;
        }
        let arena = &mut trace.arena;
        let ahead = arena.near_difference(store.access.address, first.access.address)?;
        let own = ByteRange::new(ahead, store.access.bytes as u64);
        (ahead.abs() < MAX_APART && !run.iter().any(|one| one.range().meets(own))).then_some(ahead)
    }

    /// Why nothing that stands before a store may be performed behind it, back to the instruction `last`.
    pub fn parts(&self, trace: &KernelTrace, last: InstId, store: &PlainStore) -> Option<Refusal> {
        let flow = self.flow();
        let between = &flow.insts[last.next()..store.access.inst];
        trace.arena.charge(between.len() as u64);
        let guard = store.access.guard.map(|(register, _)| register);
        let stands_out = |inst: &&crate::cfg::Inst<'_, '_>| {
            let effect = effect(inst);
            let observes = inst.args.iter().any(is_observed);
            let told = match planted!(Bug::StoresOverFences) {
                true => matches!(effect, Effect::Control | Effect::Call | Effect::Opaque),
                false => !matches!(effect, Effect::Pure | Effect::Load),
            };
            told || observes || guard.is_some_and(|guard| definitions(inst).contains(&guard))
        };
        if let Some(inst) = between.iter().find(stands_out) {
            return Some(self.parted(inst));
        }
        let plain = planted!(Bug::StoresOverFences)
            || self.side_effect_free(trace).but_for_stores(last, store.access.inst);
        (!plain).then(|| self.parted(&flow.insts[store.access.inst]))
    }

    /// The refusal of stores that an instruction between them keeps apart.
    pub fn parted(&self, inst: &crate::cfg::Inst<'_, '_>) -> Refusal {
        let line = self.source.line(inst.ast.span.start);
        Refusal::StoresParted(inst.ast.opcode.text.to_owned(), line)
    }

    /// Splits a run into vectors that are aligned.
    fn split_stores(
        &mut self,
        trace: &mut KernelTrace,
        run: &Run,
        noted: (&FxHashMap<InstId, usize>, Together<'_>),
        found: &mut Vec<AdjacentStores>,
    ) {
        let size = i64::from(run[0].ty.bits() / 8);
        let mut elements: Vec<At> = Vec::new();
        for (at, store) in run.iter().enumerate() {
            let values = store.values.iter().zip(0..);
            elements.extend(values.map(|(value, index)| (store.ahead + index * size, at, *value)));
        }
        elements.sort_by_key(|(ahead, at, _)| (*ahead, *at));
        let mut taken = vec![false; run.len()];
        let mut refusal = None;
        let mut modulus = self.options.widest_vector;
        while modulus > size {
            let count = (modulus / size) as usize;
            if vector_exists(count, size, 32) {
                self.take_vectors(
                    trace,
                    run,
                    (&elements, count),
                    noted,
                    (&mut taken, &mut refusal),
                    found,
                );
            }
            modulus /= 2;
        }
        let left: Vec<PlainStore> = run
            .iter()
            .zip(&taken)
            .filter(|(_, taken)| !**taken)
            .map(|(one, _)| one.clone())
            .collect();
        if let Some(refusal) = refusal.filter(|_| left.len() > 1) {
            found.push(refused(trace, left, refusal));
        }
    }

    /// Takes the vectors of `count` elements.
    fn take_vectors(
        &mut self,
        trace: &mut KernelTrace,
        run: &Run,
        (elements, count): (&[At], usize),
        noted: (&FxHashMap<InstId, usize>, Together<'_>),
        (taken, refusal): (&mut [bool], &mut Option<Refusal>),
        found: &mut Vec<AdjacentStores>,
    ) {
        let size = i64::from(run[0].ty.bits() / 8);
        let bytes = size * count as i64;
        let base = self.remainder_of(trace, run[0].access.address, bytes);
        for window in elements.windows(count) {
            trace.arena.charge(count as u64);
            let start = window[0].0;
            let whole = window[count - 1].0 - start == bytes - size;
            let Some(members) = members(run, window, taken).filter(|_| whole) else { continue };
            let register_bits = self.register_bits(run, window);
            let exists = |bits: &u32| vector_exists(count, size, *bits);
            let Some(register_bits) = register_bits.filter(exists) else { continue };
            let Some((base, multiples)) = &base else {
                refusal.get_or_insert(Refusal::NotAligned(bytes as u32));
                continue;
            };
            if (base + start).rem_euclid(bytes) != 0 {
                continue;
            }
            // A branch more would part lanes that something asks about.
            if self.observes_lanes && !multiples.is_empty() {
                continue;
            }
            let stores: Vec<PlainStore> = members.iter().map(|&at| run[at].clone()).collect();
            if let Err(reason) = self.may_all_be_later(trace, &stores, noted) {
                refusal.get_or_insert(reason);
                continue;
            }
            members.iter().for_each(|&at| taken[at] = true);
            let multiples = multiples.clone();
            let vector = self.vector(trace, run, window, stores);
            found.push(AdjacentStores { register_bits, multiples, ..vector });
        }
    }

    /// Whether no load notices that stores are performed in the place of the last of them.
    fn may_all_be_later(
        &mut self,
        trace: &mut KernelTrace,
        stores: &[PlainStore],
        (at, together): (&FxHashMap<InstId, usize>, Together<'_>),
    ) -> Result<(), Refusal> {
        let flow = self.flow();
        let (first, last) = (stores[0].access.inst, stores[stores.len() - 1].access.inst);
        trace.arena.charge(u64::from(last.since(first)));
        for inst in first.next().to(last) {
            if effect(&flow.insts[inst]) != Effect::Load || planted!(Bug::StoresOverLoads) {
                continue;
            }
            let parted = || self.parted(&flow.insts[inst]);
            for load in together(inst).ok_or_else(parted)? {
                // (Its register would be written before the vector reads it.)
                if load > last {
                    return Err(parted());
                }
                let before = stores.iter().filter(|store| store.access.inst < load);
                for store in before {
                    let index = at.get(&load).copied();
                    if !index.is_some_and(|index| is_apart(trace, index, &store.access)) {
                        return Err(parted());
                    }
                }
            }
        }
        Ok(())
    }

    /// Bits of the registers that hold the values of a window, if all are of one width: those of a vector are.
    fn register_bits(&self, run: &Run, window: &[At]) -> Option<u32> {
        let bits = |value: &StoredValue| match value {
            StoredValue::Register(register) => Some(self.flow().registers[*register].ty.bits()),
            StoredValue::Bits(_) => None,
        };
        let mut widths = window.iter().filter_map(|(_, _, value)| bits(value));
        let Some(first) = widths.next() else { return Some(run[0].ty.bits().max(16)) };
        widths.all(|width| width == first).then_some(first)
    }

    fn vector(
        &self,
        trace: &KernelTrace,
        run: &Run,
        window: &[At],
        members: Vec<PlainStore>,
    ) -> AdjacentStores {
        let last = &members[members.len() - 1];
        let insts = &self.flow().insts;
        let element = |(_, at, value): &At| {
            let inst = run[*at].access.inst;
            let between = &insts[inst.next()..last.access.inst.max(inst.next())];
            let overwritten = match value {
                StoredValue::Register(register) => {
                    between.iter().any(|inst| definitions(inst).contains(register))
                }
                StoredValue::Bits(_) => false,
            };
            StoredElement { inst, value: *value, overwritten }
        };
        AdjacentStores {
            is_covered: false,
            asks_distance: false,
            block: trace.accesses[last.access.access].block,
            elements: window.iter().map(element).collect(),
            distances: members.iter().map(|one| one.ahead - last.ahead).collect(),
            offset: window[0].0 - last.ahead,
            bytes: window.len() as i64 * i64::from(last.ty.bits() / 8),
            register_bits: 0,
            multiples: SmallVec::new(),
            refusal: None,
            members,
        }
    }
}

/// The stores of a window, in program order, if these are two at least, are there as a whole, follow each other, and
/// none is in a vector already.
fn members(run: &Run, window: &[At], taken: &[bool]) -> Option<SmallVec<[usize; 4]>> {
    let members = whole_members(window, taken, |at| run[at].values.len())?;
    (members[members.len() - 1] - members[0] + 1 == members.len()).then_some(members)
}

/// Whether a load certainly reads none of the bytes that a store writes.
pub fn is_apart(trace: &mut KernelTrace, index: usize, store: &Load) -> bool {
    let load = &trace.accesses[index];
    let (bytes, read_only) = (load.bytes(), load.read_only);
    match load.space {
        StateSpace::Global | StateSpace::Generic => {}
        // A generic address may be of shared or local memory.
        StateSpace::Shared | StateSpace::Local => return load.strong.is_none() && !store.generic,
        _ => return load.strong.is_none(),
    }
    let (Some(address), None) = (load.address, load.strong) else { return false };
    if read_only {
        return true;
    }
    if trace.arena.width(address) != trace.arena.width(store.address) || bytes == 0 {
        return false;
    }
    let distance = trace.arena.constant_difference(address, store.address);
    let written = ByteRange::new(0, store.bytes as u64);
    distance.is_some_and(|distance| !written.meets(ByteRange::new(distance, bytes)))
}

/// Stores that stay as they are.
fn refused(trace: &KernelTrace, members: Vec<PlainStore>, refusal: Refusal) -> AdjacentStores {
    AdjacentStores {
        is_covered: false,
        asks_distance: false,
        block: trace.accesses[members[0].access.access].block,
        elements: Vec::new(),
        distances: Vec::new(),
        offset: 0,
        bytes: 0,
        register_bits: 0,
        multiples: SmallVec::new(),
        refusal: Some(refusal),
        members,
    }
}
