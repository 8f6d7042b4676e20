//! Shared memory of one thread block: elements at constant distances from the start of an array, and whether threads
//! race for them between two barriers of the block or of their warp.

use std::collections::{BTreeMap, BTreeSet};

use super::values::{Unknown, Values};
use crate::bytes::ByteRange;
use crate::expr::TermId;
use crate::isa::limits::WARP_SIZE;

/// The largest element in bytes.
const LARGEST: i64 = 16;

/// Who has read an element since the last barrier of the block; each with the number of barriers of the warp before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Readers {
    None,
    One(u32, u32),
    /// Lanes of this warp.
    Warp(u32, u32),
    Several,
}

/// An element of an array.
#[derive(Clone)]
struct Element {
    bytes: u32,
    term: TermId,
    /// Whether a thread has accessed it, or has written it, and not only in front of the place where the evaluation starts.
    any: Uses,
    /// The same under no condition.
    certain: Uses,
    /// The thread that has written it since the last barrier of the block, and the number of barriers of its warp before.
    writer: Option<(u32, u32)>,
    readers: Readers,
}

/// How threads use an element.
#[derive(Clone, Copy, Default, Debug)]
struct Uses {
    accessed: bool,
    written: bool,
}

impl Uses {
    /// Whether these uses are among others.
    fn are_among(self, others: Uses) -> bool {
        self.accessed <= others.accessed && self.written <= others.written
    }
}

/// Shared memory, by the start of an array and bytes from there.
#[derive(Clone, Default)]
pub(super) struct Memory {
    elements: BTreeMap<(TermId, i64), Element>,
    /// Elements that have been accessed since the last barrier.
    touched: Vec<(TermId, i64)>,
    /// Elements that are accessed together, by the first one and their bytes: their address has to be a multiple of these.
    vectors: BTreeSet<(TermId, i64, u32)>,
    /// By warp, how often its lanes have waited for each other.
    waited: BTreeMap<u32, u32>,
    /// The largest number of a thread that has accessed any.
    last_thread: Option<u32>,
}

/// An access of a thread.
#[derive(Clone, Copy)]
pub(super) struct Access {
    /// The start of the array.
    pub start: TermId,
    /// Bytes from there.
    pub offset: i64,
    /// The element's size.
    pub bytes: u32,
    /// The number of the thread.
    pub thread: u32,
    /// Whether it happens under no condition.
    pub is_certain: bool,
}

impl Memory {
    /// The value that a thread reads; `None` where it races with another thread, or elements overlap.
    pub(super) fn read(&mut self, values: &mut Values, access: Access) -> Option<TermId> {
        let (warp, now) = self.now(access.thread);
        let element = self.element(values, access)?;
        element.may_follow_writer(access.thread, now).then_some(())?;
        element.readers = match element.readers {
            Readers::One(one, _) if one == access.thread => Readers::One(one, now),
            Readers::None => Readers::One(access.thread, now),
            Readers::One(one, _) if one / WARP_SIZE == warp => Readers::Warp(warp, now),
            Readers::Warp(one, _) if one == warp => Readers::Warp(warp, now),
            _ => Readers::Several,
        };
        Some(element.term)
    }

    /// Writes a thread's value; `None` where it races with another thread, or elements overlap.
    pub(super) fn write(
        &mut self,
        values: &mut Values,
        access: Access,
        term: TermId,
    ) -> Option<()> {
        let (warp, now) = self.now(access.thread);
        let element = self.element(values, access)?;
        let alone = match element.readers {
            Readers::None => true,
            Readers::One(reader, _) if reader == access.thread => true,
            Readers::One(reader, then) => reader / WARP_SIZE == warp && then < now,
            Readers::Warp(one, then) => one == warp && then < now,
            Readers::Several => false,
        };
        (alone && element.may_follow_writer(access.thread, now)).then_some(())?;
        element.writer = Some((access.thread, now));
        element.term = term;
        element.any.written = true;
        element.certain.written |= access.is_certain;
        Some(())
    }

    /// A thread's warp, and how often its lanes have waited for each other.
    fn now(&self, thread: u32) -> (u32, u32) {
        (thread / WARP_SIZE, self.waited(thread))
    }

    /// How often the lanes of a thread's warp have waited for each other.
    pub(super) fn waited(&self, thread: u32) -> u32 {
        self.waited.get(&(thread / WARP_SIZE)).copied().unwrap_or_default()
    }

    fn element(&mut self, values: &mut Values, access: Access) -> Option<&mut Element> {
        let Access { start, offset, bytes, thread, is_certain } = access;
        self.last_thread = self.last_thread.max(Some(thread));
        if !self.elements.contains_key(&(start, offset)) {
            let own = ByteRange::new(offset, bytes);
            for at in (-LARGEST..i64::from(bytes)).map(|ahead| offset.wrapping_add(ahead)) {
                let other = self.elements.get(&(start, at));
                if other.is_some_and(|other| own.meets(ByteRange::new(at, other.bytes))) {
                    return None;
                }
            }
            let unknown = Unknown::Memory(start, offset as u32, bytes);
            let term = values.unknown(unknown, 8 * bytes as u8);
            let new = Element {
                bytes,
                term,
                any: Uses::default(),
                certain: Uses::default(),
                writer: None,
                readers: Readers::None,
            };
            self.elements.insert((start, offset), new);
        }
        self.touched.push((start, offset));
        let known = self.elements.get_mut(&(start, offset));
        let element = known.filter(|element| element.bytes == bytes)?;
        element.any.accessed = true;
        element.certain.accessed |= is_certain;
        Some(element)
    }

    /// All threads have waited for each other.
    pub(super) fn barrier(&mut self) {
        for at in std::mem::take(&mut self.touched) {
            if let Some(element) = self.elements.get_mut(&at) {
                (element.writer, element.readers) = (None, Readers::None);
            }
        }
    }

    /// Elements are accessed together, from one on.
    pub(super) fn vector(&mut self, first: Access, bytes: u32) {
        self.vectors.insert((first.start, first.offset, bytes));
    }

    /// All lanes of a warp have waited for each other.
    pub(super) fn warp_barrier(&mut self, warp: u32) {
        *self.waited.entry(warp).or_default() += 1;
    }

    /// Takes the contents so far for those at the start, behind a barrier.
    pub(super) fn start(&mut self) {
        self.barrier();
        self.last_thread = None;
        for element in self.elements.values_mut() {
            (element.any, element.certain) = (Uses::default(), Uses::default());
        }
    }

    /// Whether some thread has accessed memory since the last barrier.
    pub(super) fn is_open(&self) -> bool {
        !self.touched.is_empty()
    }

    /// The largest number of a thread that has accessed memory.
    pub(super) fn last_thread(&self) -> Option<u32> {
        self.last_thread
    }

    /// The elements that are accessed, each with the start of its array.
    pub(super) fn accessed(&self) -> impl Iterator<Item = (TermId, ByteRange)> {
        let elements = self.elements.iter();
        elements.map(|((start, at), element)| (*start, ByteRange::new(*at, element.bytes)))
    }

    /// Whether all elements that are accessed, or written, are so in the other one, too; `is_safe`: whether it is enough
    /// that they may be.
    pub(super) fn is_within(
        &self,
        other: &Memory,
        is_safe: &dyn Fn(TermId, ByteRange) -> bool,
    ) -> bool {
        let mut accessed = self.elements.iter().filter(|(_, element)| element.any.accessed);
        self.vectors.is_subset(&other.vectors)
            && accessed.all(|(at, element)| {
                let known = other.elements.get(at).filter(|known| known.bytes == element.bytes);
                known.is_some_and(|known| {
                    let own = ByteRange::new(at.1, element.bytes);
                    element.any.are_among(known.certain)
                        || element.any.are_among(known.any) && is_safe(at.0, own)
                })
            })
    }

    /// Whether the elements that threads have accessed since the last barrier are accessed by the same threads in the other
    /// one.
    pub(super) fn is_left_like(&self, other: &Memory) -> bool {
        self.touched.iter().all(|at| {
            let (own, known) = (self.elements.get(at), other.elements.get(at));
            own.zip(known).is_some_and(|(own, known)| {
                let writers = [own.writer, known.writer].map(|one| one.map(|(thread, _)| thread));
                (own.writer.is_none() || writers[0] == writers[1])
                    && (own.readers == Readers::None || own.readers == known.readers)
            })
        })
    }

    /// The elements that do not hold the same in both. Bytes that one of them has not accessed are unchanged.
    pub(super) fn difference<'m>(
        &'m self,
        other: &'m Memory,
    ) -> impl Iterator<Item = (TermId, ByteRange)> + 'm {
        let within = |one: &'m Memory, other: &'m Memory| {
            one.elements.iter().filter(|(at, element)| {
                let counterpart = other.elements.get(at);
                let same = counterpart.is_some_and(|known| {
                    (known.bytes, known.term) == (element.bytes, element.term)
                });
                element.any.written && !same
            })
        };
        let all = within(self, other).chain(within(other, self));
        all.map(|((start, at), element)| (*start, ByteRange::new(*at, element.bytes)))
    }

    /// Whether an element is known.
    pub(super) fn has(&self, (start, own): (TermId, ByteRange)) -> bool {
        let mut known = self.accessed();
        known.any(|one| one == (start, own))
    }
}

impl Element {
    /// Whether the last write is known to come before an access of a thread whose warp has waited that often.
    fn may_follow_writer(&self, thread: u32, now: u32) -> bool {
        self.writer.is_none_or(|(writer, then)| {
            writer == thread || writer / WARP_SIZE == thread / WARP_SIZE && then < now
        })
    }
}
