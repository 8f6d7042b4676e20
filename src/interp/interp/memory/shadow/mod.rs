//! Which thread touched which bytes last: finds races, and tells whether blocks that ran side by side
//! could have seen each other's writes.
//!
//! For each cell of memory the last write is kept, and two reads of different threads; the same again for strong
//! accesses, because an access may race with a weak access of a thread and not with a strong one of the same thread.
//! Two accesses race if they come from different threads, one of them writes, no barrier lies between them (of the
//! block, or of the warp for lanes of one warp), no release and acquire does (`orders`), and not both are strong
//! (volatile, atomic, ...). That lanes execute an instruction together orders nothing (PTX ISA, "Memory Consistency
//! Model: Causality order"), nor do shuffles and votes. The detector errs on the side of silence:
//!
//! - a barrier at which all threads of a block wait orders all that came before it, any `bar.warp.sync` all of its warp;
//! - stores that leave the bytes as they were are never reported;
//! - of the reads of a cell two are remembered, if possible of different blocks or warps.
//!
//! A cell is a word until an access is narrower, and then as narrow as that access, so that
//! neighbouring bytes of different threads do not meet.

mod clock;
mod copies;
mod orders;
mod phases;
mod reports;
mod seen;
mod sparse;
mod stamp;
mod warp;

pub(in crate::interp) use phases::{Phase, Phases};
pub(in crate::interp) use reports::Reports;
pub(in crate::interp) use stamp::{PhaseId, Site};

use std::ops::Range;

use crate::interp::memory::{Order, Scope, Strength};
use crate::interp::registers::Mask;

use self::copies::{Copies, Owner};
use self::orders::{Location, Orders, Thread};
use self::phases::Concurrency;
use self::sparse::Sparse;
use self::stamp::Stamp;

/// If all blocks may touch all bytes, regions larger than this, in bytes, always have cells of one word, and narrower
/// accesses to them are not watched.
const MAX_FINE: usize = 1 << 24;

/// The thread that accesses, and the instruction.
#[derive(Clone, Debug)]
pub(crate) struct Accessor {
    /// The phase that the warp is in.
    pub phase: PhaseId,
    /// Phases that are known to lie before that phase: of the same block, in front of its last
    /// barrier.
    pub before: Range<PhaseId>,
    /// The micro-operation.
    pub site: Site,
}

/// How a cell is accessed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// It is read.
    Read,
    /// It is written.
    Write {
        /// Whether the bytes differ afterwards.
        changes: bool,
    },
}

/// An earlier access that races with the present one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Race {
    /// Whether the earlier access was a write.
    pub wrote: bool,
    /// Why the two clash.
    pub conflict: Conflict,
    /// Its block and warp.
    pub phase: Phase,
    /// Whether its block is that of the present access.
    pub same_block: bool,
    /// Its lane in the warp.
    pub lane: usize,
    /// Its micro-operation.
    pub site: Site,
}

/// Why two accesses clash.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Conflict {
    /// Nothing orders them.
    Unordered,
    /// The earlier one is a copy by `cp.async` that its thread has not waited for.
    Copies,
    /// They are of two lanes of a warp, and both volatile or relaxed; which comes first is open.
    Order,
    /// The later one is an `ld.global.nc`, which may only read what no thread of the launch writes (PTX ISA, "ld").
    ReadOnly,
}

/// The accesses that are remembered of a cell.
#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    /// The last write.
    write: Stamp,
    /// A read.
    read: Stamp,
    /// A read by another thread than that of `read`.
    other: Stamp,
}

/// The cells of a region.
#[derive(Debug, Default)]
struct Cells {
    /// log2 of a cell's bytes.
    shift: u32,
    /// How many there are.
    len: usize,
    /// Whether all of them may be touched.
    whole: bool,
    /// The weak accesses.
    weak: Sparse<Cell>,
    /// The strong accesses, once there is one.
    strong: Option<Sparse<Cell>>,
}

impl Cells {
    fn new(bytes: u64, whole: bool) -> Cells {
        let len = bytes.div_ceil(4) as usize;
        Cells { shift: 2, len, whole, weak: Sparse::new(len), strong: None }
    }

    /// Makes room for strong accesses.
    #[inline]
    fn expect(&mut self, strong: bool) {
        if strong && self.strong.is_none() {
            self.strong = Some(Sparse::new(self.len));
        }
    }

    /// Cuts the cells to `bytes` bytes; each new cell remembers what the cell that it was a part of
    /// did. Returns whether there are cells of this size.
    #[cold]
    fn refine(&mut self, bytes: u32) -> bool {
        if self.whole && self.len << self.shift > MAX_FINE {
            return false;
        }
        let parts = 1 << (self.shift - bytes.ilog2());
        self.weak = self.weak.split(parts);
        self.strong = self.strong.as_ref().map(|strong| strong.split(parts));
        self.len *= parts;
        self.shift = bytes.ilog2();
        true
    }

    /// Notes an access to a cell; returns an earlier access that races with it, and whether that is a write.
    #[inline]
    fn note(&mut self, at: usize, me: &Me<'_>, kind: Kind) -> Option<(Stamp, bool)> {
        let weak = self.weak.get_mut(at);
        let strong = self.strong.as_mut().map(|strong| strong.get_mut(at));
        let mut race = weak.race(me, kind);
        if let Some(strong) = &strong {
            race = race.or_else(|| strong.race(me, kind));
        }
        match (strong, kind) {
            (Some(strong), Kind::Read) if me.stamp.strong() => strong.note_read(me),
            (Some(strong), Kind::Write { .. }) if me.stamp.strong() => strong.write = me.stamp,
            (_, Kind::Read) => weak.note_read(me),
            (strong, Kind::Write { .. }) => {
                weak.write = me.stamp;
                // An access that is not ordered behind an earlier strong write is not ordered behind this one either.
                if let Some(strong) = strong {
                    strong.write = Stamp::NONE;
                }
            }
        }
        race
    }

    /// The last write of a cell, the last weak one if there are both.
    fn last_write(&self, at: usize) -> Stamp {
        let write = |cells: &Sparse<Cell>| cells.get(at).map_or(Stamp::NONE, |cell| cell.write);
        match (write(&self.weak), &self.strong) {
            (Stamp::NONE, Some(strong)) => write(strong),
            (weak, _) => weak,
        }
    }

    /// The places of all cells that were accessed, and of their neighbours.
    fn made(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        self.weak.made().chain(self.strong.iter().flat_map(Sparse::made))
    }

    /// The memory of a cell.
    fn touched(&self, at: usize) -> (bool, bool) {
        let strong = self.strong.as_ref().and_then(|strong| strong.get(at));
        let both = [self.weak.get(at), strong].into_iter().flatten();
        both.fold((false, false), |(written, touched), cell| {
            (written || cell.written(), touched || cell.touched())
        })
    }
}

/// The stamps of a launch, or of a part of its blocks.
#[derive(Debug)]
pub(crate) struct Shadow {
    global: Vec<Cells>,
    shared: Cells,
    copies: Copies,
    phases: Phases,
    /// The order of threads by other means than barriers, if the program has any.
    orders: Option<Orders>,
    /// Which races are reported.
    reports: Reports,
    /// Whether there was a volatile or relaxed access that orders nothing.
    has_loose: bool,
}

impl Shadow {
    /// Stamps for regions of the given sizes in bytes, and for a block's shared memory.
    /// `orders`: something besides barriers may order threads; `whole`: all blocks run.
    pub(crate) fn new(
        regions: impl Iterator<Item = u64>,
        (shared, whole): (u64, bool),
        (reports, orders): (Reports, bool),
    ) -> Shadow {
        let global = regions.map(|bytes| Cells::new(bytes, whole)).collect();
        let orders = orders.then(Orders::default);
        let (shared, copies) = (Cells::new(shared, whole), Copies::default());
        Shadow { global, shared, copies, phases: Phases::new(), orders, reports, has_loose: false }
    }

    /// Forgets the shared memory, for another block.
    pub(crate) fn next_block(&mut self) {
        self.shared.weak.forget();
        self.shared.strong.iter_mut().for_each(Sparse::forget);
        self.copies.clear();
    }

    /// The number of the phase that begins next.
    pub(crate) fn next_phase(&self) -> PhaseId {
        self.phases.next()
    }

    /// Begins a phase of a warp.
    pub(crate) fn begin(&mut self, phase: Phase) -> PhaseId {
        if let Some(orders) = &mut self.orders {
            orders.sync_warp(phase.block, phase.warp);
        }
        self.phases.begin(phase)
    }

    /// The lanes of a warp have executed a `.sync` instruction together; their next accesses belong to another phase.
    pub(crate) fn gather(&mut self, phase: PhaseId) -> PhaseId {
        if self.has_loose { self.phases.gather(phase) } else { phase }
    }

    /// A block has passed a barrier.
    pub(crate) fn barrier(&mut self, block: u64) {
        if let Some(orders) = &mut self.orders {
            orders.barrier(block, self.phases.next());
        }
    }

    /// Lanes of a warp, `whole`: all that have not ended, arrive at a barrier with a thread count; their next accesses
    /// belong to another phase.
    pub(crate) fn arrive(&mut self, who: &mut Accessor, lanes: (Mask, bool), gate: u32) {
        let thread = self.thread(who, 0);
        let Some(orders) = &mut self.orders else { return };
        orders.arrive(thread, lanes, gate);
        who.phase = self.phases.split(who.phase);
    }

    /// A barrier opens for the lanes of each warp that wait at it, which are not all threads of the block.
    pub(crate) fn open(&mut self, block: u64, gate: u32, waiting: &[Mask]) {
        if let Some(orders) = &mut self.orders {
            orders.open(block, gate, waiting);
        }
    }

    fn thread(&self, who: &Accessor, lane: usize) -> Thread {
        Thread { phase: *self.phases.get(who.phase), id: who.phase, lane }
    }

    fn location(&self, who: &Accessor, region: Option<usize>, offset: u64) -> Location {
        let block = self.phases.get(who.phase).block;
        (region.ok_or(block), offset >> 2)
    }

    /// Lanes execute a fence; their next accesses belong to another phase.
    pub(crate) fn fence(&mut self, who: &mut Accessor, mask: Mask, scope: Scope) {
        let thread = self.thread(who, 0);
        let Some(orders) = &mut self.orders else { return };
        orders.fences(thread, mask, scope);
        who.phase = self.phases.split(who.phase);
    }

    /// A lane has performed a strong access; `writes`: whether it has written, and whether independently of the old
    /// value.
    pub(crate) fn strong(
        &mut self,
        region: Option<usize>,
        offset: u64,
        (who, lane): (&mut Accessor, usize),
        (order, reads, writes): (Order, bool, Option<bool>),
    ) {
        let (thread, location) = (self.thread(who, lane), self.location(who, region, offset));
        let Some(orders) = &mut self.orders else { return };
        if reads {
            orders.observe(thread, location, order);
        }
        if let Some(replaces) = writes {
            orders.publish(thread, location, order, replaces);
            if order.releases {
                who.phase = self.phases.split(who.phase);
            }
        }
    }

    /// A thread has begun a copy by `cp.async` to `bytes` bytes at an offset of shared memory.
    pub(crate) fn begin_copy(&mut self, owner: Owner, place: (u64, u32), who: &Accessor) {
        let stamp = Stamp::new(who.phase, owner.1, who.site, None);
        self.copies.begin(owner, place, stamp);
    }

    /// A thread makes a group of its copies.
    pub(crate) fn commit_copies(&mut self, owner: Owner) {
        self.copies.commit(owner);
    }

    /// A thread waits for all its groups of copies except for the `keep` newest, or for all its copies if that is none: they
    /// count as its writes at this place.
    pub(crate) fn wait_for_copies(&mut self, owner: Owner, keep: Option<usize>, who: &Accessor) {
        for (offset, site) in self.copies.wait(owner, keep) {
            let who = Accessor { site, ..who.clone() };
            let kind = (Kind::Write { changes: true }, None);
            // (A race with this was reported when the copy began, or when the other access was.)
            self.access(None, (offset, 4), (&who, owner.1), kind);
        }
    }

    /// Whether some bytes of shared memory are written by a copy that its thread has not waited for.
    #[inline]
    fn copied(&self, region: Option<usize>, place: (u64, u32), who: &Accessor) -> Option<Race> {
        if region.is_some() {
            return None;
        }
        let copy = self.copies.find(place).filter(|_| self.reports.wants(region, place))?;
        Some(Race { conflict: Conflict::Copies, ..self.race(who, copy, true) })
    }

    /// Notes a lane's access to `bytes` bytes at an offset of a region, or of shared memory.
    #[inline]
    pub(crate) fn access(
        &mut self,
        region: Option<usize>,
        (offset, bytes): (u64, u32),
        (who, lane): (&Accessor, usize),
        (kind, strong): (Kind, Option<Strength>),
    ) -> Option<Race> {
        if let Some(race) = self.copied(region, (offset, bytes), who) {
            return Some(race);
        }
        let cells = match region {
            Some(region) => &mut self.global[region],
            None => &mut self.shared,
        };
        if bytes < 1 << cells.shift && !cells.refine(bytes) {
            return None;
        }
        cells.expect(strong.is_some());
        self.has_loose |= strong.is_some_and(|strong| strong.loose);
        let me = Me {
            stamp: Stamp::new(who.phase, lane, who.site, strong),
            before: who.before.clone(),
            phases: &self.phases,
            orders: self.orders.as_ref(),
            place: (region, offset),
        };
        let first = (offset >> cells.shift) as usize;
        let end = (offset + u64::from(bytes)).div_ceil(1 << cells.shift) as usize;
        let mut race = None;
        for at in first..end {
            let found = cells.note(at, &me, kind);
            race = race.or(found);
        }
        let (earlier, wrote) = race.filter(|_| self.reports.wants(region, (offset, bytes)))?;
        Some(Race { conflict: me.conflict(earlier), ..self.race(who, earlier, wrote) })
    }

    fn race(&self, who: &Accessor, earlier: Stamp, wrote: bool) -> Race {
        let phase = *self.phases.get(earlier.phase());
        let same_block = phase.block == self.phases.get(who.phase).block;
        Race {
            wrote,
            conflict: Conflict::Unordered,
            phase,
            same_block,
            lane: earlier.lane(),
            site: earlier.site(),
        }
    }

    /// Whether the blocks of this record and those of `other`, which ran at the same time on the same
    /// memory, touched the same bytes and one of them wrote some.
    pub(crate) fn meets(&self, other: &Shadow) -> bool {
        self.global.iter().zip(&other.global).any(|(mine, theirs)| {
            let fine = mine.shift.min(theirs.shift);
            let (mine_by, theirs_by) = (mine.shift - fine, theirs.shift - fine);
            let count = (mine.len << mine_by).min(theirs.len << theirs_by);
            let made = mine.made().map(|cells| cells.start << mine_by..cells.end << mine_by);
            made.flatten().filter(|at| *at < count).any(|at| {
                let (a, b) = (mine.touched(at >> mine_by), theirs.touched(at >> theirs_by));
                a.0 && b.1 || b.0 && a.1
            })
        })
    }
}

impl Cell {
    fn written(&self) -> bool {
        self.write != Stamp::NONE
    }

    fn touched(&self) -> bool {
        self.written() || self.read != Stamp::NONE
    }

    /// The remembered access that races with the present one, and whether it is a write.
    #[inline]
    fn race(&self, me: &Me<'_>, kind: Kind) -> Option<(Stamp, bool)> {
        match kind {
            Kind::Read => {
                let races = me.races(self.write) || me.races_in_step(self.write);
                races.then_some((self.write, true))
            }
            Kind::Write { changes: false } => None,
            Kind::Write { changes: true } => {
                let earlier = [(self.write, true), (self.read, false), (self.other, false)];
                let in_step = |stamp, wrote: bool| !wrote && me.races_in_step(stamp);
                earlier.into_iter().find(|&(stamp, wrote)| me.races(stamp) || in_step(stamp, wrote))
            }
        }
    }

    /// Notes a read.
    #[inline]
    fn note_read(&mut self, me: &Me<'_>) {
        let mine = me.stamp;
        let (read, other) = (self.read, self.other);
        if read == Stamp::NONE {
            self.read = mine;
        } else if !read.same_thread(mine) && !read.two_lanes(other, mine) {
            let concurrency = me.concurrency(read);
            if concurrency == Concurrency::Ordered {
                // An access that is ordered behind this read is ordered behind the other, too.
                self.read = mine;
            } else if other == Stamp::NONE
                || me.concurrency(other) == Concurrency::Ordered
                || concurrency > me.phases.concurrency(read, other)
            {
                self.other = mine;
            }
        }
    }
}

/// The present access, to be compared with earlier ones.
struct Me<'a> {
    stamp: Stamp,
    before: Range<PhaseId>,
    phases: &'a Phases,
    orders: Option<&'a Orders>,
    /// The region, or none for shared memory, and the offset.
    place: (Option<usize>, u64),
}

impl Me<'_> {
    /// The order between an earlier access and this one, if there is one.
    #[inline]
    fn concurrency(&self, earlier: Stamp) -> Concurrency {
        if self.before.contains(&earlier.phase()) {
            return Concurrency::Ordered;
        }
        let concurrency = self.phases.concurrency(earlier, self.stamp);
        if concurrency != Concurrency::Ordered
            && self.orders.is_some_and(|orders| self.knows(orders, earlier))
        {
            return Concurrency::Ordered;
        }
        concurrency
    }

    fn thread(&self, stamp: Stamp) -> Thread {
        let id = stamp.phase();
        Thread { phase: *self.phases.get(id), id, lane: stamp.lane() }
    }

    fn knows(&self, orders: &Orders, earlier: Stamp) -> bool {
        orders.covers(self.thread(self.stamp), self.thread(earlier))
    }

    /// Whether the thread has acquired all that was released at the location: then it knows of the strong accesses there.
    fn has_acquired(&self) -> bool {
        let (region, offset) = self.place;
        let thread = self.thread(self.stamp);
        let location = (region.ok_or(thread.phase.block), offset >> 2);
        self.orders.is_some_and(|orders| orders.has_acquired(thread, location))
    }

    /// Whether an earlier access and this one are both strong, each in a scope that includes the other's thread.
    #[inline]
    fn both_strong(&self, earlier: Stamp) -> bool {
        earlier.strong()
            && self.stamp.strong()
            && (!(earlier.narrow() || self.stamp.narrow())
                || self.phases.concurrency(earlier, self.stamp) != Concurrency::Blocks)
    }

    /// Why this access clashes with an earlier one that it races with.
    fn conflict(&self, earlier: Stamp) -> Conflict {
        if self.both_strong(earlier) { Conflict::Order } else { Conflict::Unordered }
    }

    /// Whether an earlier access and this one are volatile or relaxed ones of two lanes of a warp, and nothing has brought
    /// the lanes together in between. (Of two writes one wins, and which one may well be open.)
    #[inline]
    fn races_in_step(&self, earlier: Stamp) -> bool {
        earlier.loose()
            && self.stamp.loose()
            && earlier.lane() != self.stamp.lane()
            && self.phases.apart(earlier, self.stamp)
            && self.concurrency(earlier) == Concurrency::Lanes
    }

    /// Whether an earlier access and this one are unordered, and one of them weak.
    #[inline]
    fn races(&self, earlier: Stamp) -> bool {
        earlier != Stamp::NONE
            && !earlier.same_thread(self.stamp)
            && !self.both_strong(earlier)
            && self.concurrency(earlier) != Concurrency::Ordered
            && !(earlier.strong() && self.has_acquired())
    }
}
