//! Loads of one block that wait for stores only because these might write the loaded bytes.
//!
//! In: the trace of one function. Out: [`Batched`] groups. The loads of a group stand behind stores of their block,
//! with nothing in between that orders memory accesses. If no store writes bytes that a load behind it reads, all of
//! them can be performed in front of the first store, in their order, and wait for memory together. Whether bytes meet
//! is a question about one lane, because weak accesses of several threads to the same bytes would be a data race (PTX
//! ISA, "Memory Consistency Model"). Where it is not proved, the distances of addresses are tested in front of the
//! block's loads, with the untouched statements on the other side. Registers that a loop does not write decide most of
//! these tests, so an assembler takes them out of the loop.

use crate::loops::{AddressStep, Steps, Sum, Sums, address_base, is_observed};
use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};

use super::adjacent_stores::{PlainStore, is_apart};
use super::alignment::Multiple;
use super::eligible::Load;
use super::legality::Legality;
use super::vector_group::VectorGroup;
use crate::bytes::ByteRange;
use crate::cfg::{Arg, Base, BlockId, InstId, InstRange, RegisterId};
use crate::emulate::{Access, Effect, KernelTrace, definitions, effect, mentions};
use crate::expr::TermId;
use crate::ptx::StateSpace;

/// The most loads that are performed together.
const MAX_MOVED: usize = 32;

/// The most stores that they are moved over.
const MAX_STORES: usize = 32;

/// The most loads, and the most stores, of code in which they stand in turns. (Each vector load is performed where its
/// first load stands, so that few registers are alive.)
const MAX_IN_TURNS: usize = 128;

/// The most distances that are tested.
const MAX_TESTS: usize = 16;

/// The most instructions that are copied.
const MAX_COPIES: usize = 64;

/// The most bytes between distances that one test excludes together.
const MAX_GAP: i64 = 64;

/// The largest constant of a distance.
const MAX_CONSTANT: i64 = 1 << 30;

/// Loads that are performed in front of stores.
#[derive(Clone, Debug)]
pub struct Batched {
    /// The block that they stand in.
    pub block: BlockId,
    /// Distances are tested in front of this instruction.
    pub test: InstId,
    /// The loads are performed in front of this store.
    pub place: InstId,
    /// The loads in program order.
    pub moved: Vec<MovedLoad>,
    /// Two versions of the code reach up to this instruction.
    pub end: InstId,
    /// They could reach up to this one: before it nothing orders memory accesses.
    pub limit: InstId,
    /// The vectors that the loads make, with each other and with loads in front of the first store.
    pub vectors: Vec<VectorGroup>,
    /// Conditions on parameters, each to be a multiple of a number, for these vectors and those of stores.
    pub multiples: Vec<Multiple>,
    /// The instructions that compute their addresses, in front of `place`.
    pub steps: Vec<AddressStep>,
    /// The instructions that compute parts of distances, in front of `test`.
    pub measured: Vec<AddressStep>,
    /// The distances that are tested.
    pub tests: Vec<Distance>,
    /// The same tests in front of the innermost loop around the block, if their outcome is the same in all iterations.
    pub in_front: Option<Vec<Distance>>,
    /// Whether some load and store have bases that the block does not derive from one value: an assembler knows the
    /// distance of those that it does.
    pub is_open: bool,
}

impl Batched {
    /// A group without loads.
    fn new(stretch: &Stretch, test: InstId, place: InstId) -> Batched {
        Batched {
            block: stretch.block,
            test,
            place,
            moved: Vec::new(),
            end: place,
            limit: stretch.range.end,
            vectors: Vec::new(),
            multiples: Vec::new(),
            steps: Vec::new(),
            measured: Vec::new(),
            tests: Vec::new(),
            in_front: None,
            is_open: false,
        }
    }

    /// How often stores wait for memory between the places where loads of the group stand, on average. Loads behind one wait
    /// wait together; `fetches` gives the share of warps for which a load fetches bytes that the cache does not have.
    pub fn waits(&self, mut fetches: impl FnMut(&MovedLoad) -> f64) -> f64 {
        let (mut waits, mut hits) = (0.0, None);
        for one in &self.moved {
            if one.waited {
                waits += hits.replace(1.0).map_or(0.0, |hits: f64| 1.0 - hits);
            }
            if let Some(hits) = &mut hits {
                *hits *= 1.0 - fetches(one);
            }
        }
        waits + hits.map_or(0.0, |hits| 1.0 - hits)
    }

    /// Whether the code gets a rewritten and an untouched version.
    pub fn has_versions(&self) -> bool {
        !self.tests.is_empty() || !self.multiples.is_empty()
    }
}

/// A load that is performed earlier.
#[derive(Clone, Debug)]
pub struct MovedLoad {
    /// The load.
    pub load: Load,
    /// The step that computes the base of its address; `None` if the register holds it at the place.
    pub base: Option<usize>,
    /// Whether a store has waited for a load between this one and the group's load before it.
    pub waited: bool,
    /// Bytes from the address of the nearest load in front of it to its own, of those that are a constant apart.
    pub apart: Option<u64>,
}

/// A sum of registers that has to lie outside of an interval.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Distance {
    /// The registers with their coefficients.
    pub parts: Vec<(Addend, i64)>,
    /// The least value, of 64 bits with a sign, that is excluded.
    pub least: i64,
    /// How many values above it are excluded, too.
    pub more: u64,
    /// Whether the innermost loop around the block writes one of the registers; holds outside of loops.
    pub varies: bool,
}

/// A value that a distance is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Addend {
    /// The value of a register where the distance is tested.
    Register(RegisterId),
    /// The result of a step.
    Step(usize),
}

/// The loads that a search is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Search {
    /// Those that wait for a store since an assembler does not know the distance to it. It may be tested.
    Waiting,
    /// All, of read-only memory too. Their distances are known.
    Apart,
}

impl Search {
    /// The most accesses of a kind, if these are the most of those that wait.
    fn most(self, waiting: usize) -> usize {
        match self {
            Search::Waiting => waiting,
            Search::Apart => MAX_IN_TURNS,
        }
    }
}

/// Values of a sum's parts that make bytes meet: from the least to the largest.
type Excluded = BTreeMap<Vec<(Addend, i64)>, Vec<(i64, i64)>>;

/// The stores that a load is moved over, whether there are others, not to global memory, and the search.
type Over<'a> = (&'a [&'a PlainStore], bool, Search);

/// Instructions of a block between which nothing orders memory accesses.
struct Stretch {
    block: BlockId,
    /// The block's first instruction.
    start: InstId,
    range: InstRange,
}

/// The function's accesses.
struct Accesses {
    /// By instruction, the index in the trace.
    at: FxHashMap<InstId, usize>,
    stores: FxHashMap<InstId, PlainStore>,
}

impl Legality<'_, '_, '_> {
    /// The groups that the function's loads fall into, in program order; without those that wait for nothing.
    pub fn batched(&mut self, trace: &mut KernelTrace) -> Vec<Batched> {
        self.all_batched(trace, Search::Waiting)
    }

    /// The groups of loads that could be performed in front of stores without a test, in program order. An assembler may
    /// do that itself; but it makes no vectors of them, since their alignment is not known.
    pub fn in_turns(&mut self, trace: &mut KernelTrace) -> Vec<Batched> {
        self.all_batched(trace, Search::Apart)
    }

    fn all_batched(&mut self, trace: &mut KernelTrace, search: Search) -> Vec<Batched> {
        if self.options.strict || self.observes_lanes || self.is_irreducible() {
            return Vec::new();
        }
        let plain = self.plain_stores(trace);
        if plain.is_empty() {
            return Vec::new();
        }
        let accesses = Accesses {
            at: trace.accesses.iter().enumerate().map(|(index, one)| (one.inst, index)).collect(),
            stores: plain.into_iter().map(|store| (store.access.inst, store)).collect(),
        };
        let mut found = Vec::new();
        for block in self.flow().block_ids() {
            if trace.arena.is_nearly_spent() {
                break;
            }
            if self.is_version(block) || !trace.reachable[block] {
                continue;
            }
            for stretch in self.stretches(trace, block, &accesses) {
                self.add_batches(trace, (&stretch, search), &accesses, &mut found);
            }
        }
        found
    }

    /// The stretches of a block.
    fn stretches(&self, trace: &KernelTrace, block: BlockId, accesses: &Accesses) -> Vec<Stretch> {
        let flow = self.flow();
        let all = flow.block(block).instructions();
        let start = all.start;
        trace.arena.charge(all.len() as u64);
        let ends = |at: InstId| {
            let inst = &flow.insts[at];
            let weak = || {
                let known = accesses.at.get(&at).map(|&index| &trace.accesses[index]);
                known.is_some_and(|access| access.strong.is_none())
            };
            let is_known = || {
                let index = accesses.at.get(&at);
                let space = index.map(|&index| trace.accesses[index].space);
                accesses.stores.contains_key(&at)
                    || matches!(
                        space,
                        Some(StateSpace::Shared | StateSpace::Local | StateSpace::Param)
                    )
            };
            let stays = match effect(inst) {
                Effect::Pure | Effect::Hint => true,
                Effect::Load => weak(),
                Effect::Store => weak() && is_known(),
                Effect::Barrier => planted!(Bug::BatchOverFence),
                _ => false,
            };
            !stays || inst.args.iter().any(is_observed)
        };
        let (mut found, mut from) = (Vec::new(), start);
        let end = all.end;
        let mut close = |range: InstRange| {
            if range.len() > 1 {
                found.push(Stretch { block, start, range });
            }
        };
        for at in start.to(end) {
            let parted = at > from && !self.side_effect_free(trace).in_one_piece(at.before(), at);
            if parted {
                close(from.to(at));
                from = at;
            }
            if ends(at) {
                close(from.to(at));
                from = at.next();
            }
        }
        close(from.to(end.max(from)));
        found
    }

    /// Adds the groups of a stretch.
    fn add_batches(
        &mut self,
        trace: &mut KernelTrace,
        (stretch, search): (&Stretch, Search),
        accesses: &Accesses,
        found: &mut Vec<Batched>,
    ) {
        let mut from = stretch.range.start;
        let is_global = |trace: &KernelTrace, at: &InstId| {
            let index = accesses.at.get(at);
            index.is_some_and(|&index| trace.accesses[index].is_global_load())
        };
        loop {
            let mut rest = from.to(stretch.range.end);
            let Some(store) = rest.find(|at| accesses.stores.contains_key(at)) else {
                return;
            };
            let first = from.to(store).find(|at| is_global(trace, at));
            let of = (stretch, search);
            let early = first.map(|test| self.batch(trace, of, accesses, (from, test, store)));
            let late = self.batch(trace, of, accesses, (from, store, store));
            let (group, stopped) = match early {
                Some(early) if early.0.moved.len() >= late.0.moved.len() => early,
                _ => late,
            };
            let is_wanted = match search {
                Search::Waiting => group.is_open && group.moved.iter().any(|one| one.waited),
                Search::Apart => !group.moved.is_empty(),
            };
            if !is_wanted {
                from = stopped.unwrap_or(store).max(store.next());
                if stopped.is_none() {
                    return;
                }
                continue;
            }
            from = group.end.max(store.next());
            let mut group = group;
            self.find_invariant(&mut group);
            found.push(group);
        }
    }

    /// The loads behind `from` that are performed in front of a store if distances are tested in front of some
    /// instruction, and the load behind them, if any, that has to stay.
    fn batch(
        &mut self,
        trace: &mut KernelTrace,
        (stretch, search): (&Stretch, Search),
        accesses: &Accesses,
        (from, test, place): (InstId, InstId, InstId),
    ) -> (Batched, Option<InstId>) {
        let flow = self.flow();
        let mut sums = [Sums::of_block(flow, stretch.start), Sums::of_block(flow, test)];
        let mut steps = Steps::in_front_of(flow, place).at_most(MAX_COPIES);
        let mut measured = Steps::in_front_of(flow, test).at_most(MAX_COPIES);
        let mut excluded = Excluded::new();
        let mut waiting = Waiting::default();
        let mut stores: Vec<&PlainStore> = Vec::new();
        let mut loads = Vec::new();
        let mut others = false;
        let mut group = Batched::new(stretch, test, place);
        let mut stopped = None;
        for at in from.to(stretch.range.end) {
            trace.arena.charge(2);
            let inst = &flow.insts[at];
            if effect(inst) == Effect::Store {
                waiting.stored(&mentions(inst));
                match accesses.stores.get(&at) {
                    Some(store) if stores.len() < search.most(MAX_STORES) => stores.push(store),
                    Some(_) => break,
                    None => others = true,
                }
                continue;
            }
            let index = accesses.at.get(&at).copied();
            let is_load = index.is_some_and(|index| trace.accesses[index].is_global_load());
            let moves = |access: &Access| search == Search::Apart || !access.read_only;
            if at > place && is_load && moves(&trace.accesses[index.unwrap_or(0)]) {
                let index = index.unwrap_or(0);
                let trial = ((&stores[..], others, search), index, test);
                let noted = (&mut measured, &mut excluded);
                let earlier = self.may_be_earlier(trace, &mut sums, trial, noted);
                let Some((base, open)) =
                    earlier.filter(|_| group.moved.len() < search.most(MAX_MOVED))
                else {
                    stopped = Some(at);
                    break;
                };
                let loaded = self.load(trace, index).ok();
                let stays = |load: &Load| {
                    let guard = load.guard.map(|(register, _)| register);
                    guard.filter(|_| !planted!(Bug::BatchGuardLate)).is_some_and(|guard| {
                        place.to(at).any(|at| definitions(&flow.insts[at]).contains(&guard))
                    })
                };
                let moves = search == Search::Waiting;
                let step = if moves { steps.of(base, at) } else { Some(None) };
                let known = loaded.filter(|load| !stays(load)).zip(step);
                let Some((load, base)) = known else {
                    stopped = Some(at);
                    break;
                };
                let tests = tests(&excluded);
                if tests.len() > MAX_TESTS {
                    stopped = Some(at);
                    break;
                }
                group.tests = tests;
                group.is_open |= open;
                let apart = nearest(trace, &loads, index);
                group.moved.push(MovedLoad { load, base, waited: waiting.ends(), apart });
                group.end = at.next();
            }
            let address = index.filter(|_| is_load).and_then(|index| trace.accesses[index].address);
            loads.extend(address);
            waiting.executed(&mentions(inst), &definitions(inst), is_load);
        }
        group.steps = steps.found;
        group.measured = measured.found;
        (group, stopped)
    }

    /// The base of a load's address, if the load may be performed in front of some stores under tests, which are added;
    /// and whether the block does not tell the distance to one of them.
    fn may_be_earlier(
        &self,
        trace: &mut KernelTrace,
        sums: &mut [Sums<'_, '_, '_>; 2],
        ((stores, others, search), index, test): (Over<'_>, usize, InstId),
        (measured, excluded): (&mut Steps<'_, '_, '_>, &mut Excluded),
    ) -> Option<(RegisterId, bool)> {
        let load = &trace.accesses[index];
        let (at, bytes, address) = (load.inst, i64::from(load.bytes()), load.address?);
        // A store to shared memory may write the bytes of a generic load.
        if trace.arena.width(address) != 64 || others && load.space == StateSpace::Generic {
            return None;
        }
        let (mut added, mut open) = (Vec::new(), false);
        for store in stores {
            trace.arena.charge(16);
            match (search, is_apart(trace, index, &store.access)) {
                (Search::Apart, true) => continue,
                (Search::Apart, false) if planted!(Bug::TurnsNotApart) => continue,
                (Search::Apart, false) => return None,
                (Search::Waiting, _) => {}
            }
            let places = (at, store.access.inst, test);
            let (parts, constant) = self.distance(sums, measured, places)?;
            open |= !parts.is_empty();
            if is_apart(trace, index, &store.access) || planted!(Bug::BatchUntested) {
                continue;
            }
            let loaded = ByteRange::new(0, bytes as u64);
            let meets =
                |distance| loaded.meets(ByteRange::new(distance, store.access.bytes as u64));
            let known = trace.arena.constant_difference(store.access.address, address);
            match (parts.is_empty(), known) {
                (true, _) if meets(constant) => return None,
                (true, _) => {}
                (false, Some(known)) if meets(known) => return None,
                (false, Some(_)) => {}
                (false, None) => added.push(((parts, constant), store.access.bytes)),
            }
        }
        for (distance, stored) in added {
            exclude(excluded, distance, (bytes, stored))?;
        }
        Some((address_base(self.flow(), at)?, open))
    }

    /// The address of a load or store as a sum.
    fn address_sum(&self, sums: &mut Sums<'_, '_, '_>, at: InstId) -> Option<Sum> {
        let args = &self.flow().insts[at].args;
        let (base, offset) = args.iter().find_map(|arg| match arg {
            Arg::Memory { base: Base::Register(base), offset, rest } if rest.is_empty() => {
                Some((*base, *offset))
            }
            _ => None,
        })?;
        let is_wide = self.flow().registers[base].ty.bits() == 64;
        let mut sum = is_wide.then(|| sums.of(base, at))?;
        sum.constant = sum.constant.wrapping_add(offset);
        Some(sum)
    }

    /// The distance from a load to a store, over the values of registers in front of `test`, or of steps there. The
    /// sums end at registers that have another value by then.
    fn distance(
        &self,
        sums: &mut [Sums<'_, '_, '_>; 2],
        measured: &mut Steps<'_, '_, '_>,
        (load, store, test): (InstId, InstId, InstId),
    ) -> Option<(Vec<(Addend, i64)>, i64)> {
        sums.iter_mut().find_map(|sums| {
            let distance = self.address_sum(sums, store)?.minus(&self.address_sum(sums, load)?);
            let mut parts = Vec::new();
            for (held, factor) in &distance.parts {
                let is_there = held.by.is_none_or(|by| by < test)
                    && sums.writer(held.register, test) == held.by;
                let part = match is_there {
                    true => Addend::Register(held.register),
                    false if held.by.is_some_and(|by| by < test) => return None,
                    false => Addend::Step(measured.of(held.register, held.by?.next())??),
                };
                parts.push((part, *factor));
            }
            parts.sort_unstable();
            Some((parts, distance.constant))
        })
    }
}

/// Bytes from the nearest of some addresses to that of an access, of those that are a constant apart.
fn nearest(trace: &mut KernelTrace, addresses: &[TermId], index: usize) -> Option<u64> {
    let own = trace.accesses[index].address?;
    let last = addresses.iter().rev().take(MAX_MOVED);
    let known = last.filter_map(|&other| trace.arena.constant_difference(other, own));
    known.map(i64::unsigned_abs).min()
}

/// Adds the values of a distance, from a load's first byte to a store's, at which bytes meet; `None` if constants are too
/// large.
fn exclude(
    excluded: &mut Excluded,
    (mut parts, constant): (Vec<(Addend, i64)>, i64),
    (read, stored): (i64, i64),
) -> Option<()> {
    let less = i64::from(planted!(Bug::BatchByteLess));
    let (least, largest) = (1 - stored + less, read - 1);
    if constant.checked_abs()? > MAX_CONSTANT {
        return None;
    }
    // Of a sum and its negative one is tested.
    let negative = parts.first().is_some_and(|(_, factor)| *factor < 0);
    let (least, largest) = match negative {
        true => {
            parts.iter_mut().for_each(|(_, factor)| *factor = factor.wrapping_neg());
            (constant - largest, constant - least)
        }
        false => (least - constant, largest - constant),
    };
    let intervals = excluded.entry(parts).or_default();
    intervals.push((least, largest));
    intervals.sort_unstable();
    let mut joined: Vec<(i64, i64)> = Vec::new();
    for &(least, largest) in intervals.iter() {
        match joined.last_mut().filter(|last| least <= last.1 + MAX_GAP) {
            Some(last) => last.1 = last.1.max(largest),
            None => joined.push((least, largest)),
        }
    }
    *intervals = joined;
    Some(())
}

/// The tests that exclude some distances.
fn tests(excluded: &Excluded) -> Vec<Distance> {
    let mut tests = Vec::new();
    for (parts, intervals) in excluded {
        for &(least, largest) in intervals {
            let more = largest.wrapping_sub(least) as u64;
            tests.push(Distance { parts: parts.clone(), least, more, varies: true });
        }
    }
    tests
}

/// The registers that hold, or depend on, the value of a load that may still be under way.
#[derive(Default)]
struct Waiting {
    registers: FxHashSet<RegisterId>,
    waited: bool,
}

impl Waiting {
    /// A store waits for its operands, and so does everything behind it.
    fn stored(&mut self, read: &[RegisterId]) {
        if read.iter().any(|register| self.registers.contains(register)) {
            self.waited = true;
            self.registers.clear();
        }
    }

    /// An instruction reads and writes registers.
    fn executed(&mut self, read: &[RegisterId], written: &[RegisterId], is_load: bool) {
        let waits = is_load || read.iter().any(|register| self.registers.contains(register));
        for register in written {
            match waits {
                true => self.registers.insert(*register),
                false => self.registers.remove(register),
            };
        }
    }

    /// Whether something has waited since the last question.
    fn ends(&mut self) -> bool {
        std::mem::take(&mut self.waited)
    }
}
