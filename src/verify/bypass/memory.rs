//! Shared memory of one thread block: elements at constant distances from the start of an array, and whether threads
//! race for them between two barriers.

use std::collections::BTreeMap;

use super::values::{Unknown, Values};
use crate::bytes::ByteRange;
use crate::expr::TermId;

/// The largest element in bytes.
const LARGEST: i64 = 16;

/// Who has accessed an element since the last barrier.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Readers {
    None,
    One(u32),
    Several,
}

/// An element of an array.
struct Element {
    bytes: u32,
    term: TermId,
    written: bool,
    writer: Option<u32>,
    readers: Readers,
}

/// Shared memory, by the start of an array and bytes from there.
#[derive(Default)]
pub(super) struct Memory {
    elements: BTreeMap<(TermId, i64), Element>,
    /// Elements that have been accessed since the last barrier.
    touched: Vec<(TermId, i64)>,
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
}

impl Memory {
    /// The value that a thread reads; `None` where it races with another thread, or elements overlap.
    pub(super) fn read(&mut self, values: &mut Values, access: Access) -> Option<TermId> {
        let element = self.element(values, access)?;
        if element.writer.is_some_and(|writer| writer != access.thread) {
            return None;
        }
        element.readers = match element.readers {
            Readers::None => Readers::One(access.thread),
            Readers::One(one) if one == access.thread => Readers::One(one),
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
        let element = self.element(values, access)?;
        let alone = match element.readers {
            Readers::None => true,
            Readers::One(reader) => reader == access.thread,
            Readers::Several => false,
        };
        if !alone || element.writer.is_some_and(|writer| writer != access.thread) {
            return None;
        }
        element.writer = Some(access.thread);
        (element.term, element.written) = (term, true);
        Some(())
    }

    fn element(&mut self, values: &mut Values, access: Access) -> Option<&mut Element> {
        let Access { start, offset, bytes, thread } = access;
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
            let new = Element { bytes, term, written: false, writer: None, readers: Readers::None };
            self.elements.insert((start, offset), new);
        }
        self.touched.push((start, offset));
        self.elements.get_mut(&(start, offset)).filter(|element| element.bytes == bytes)
    }

    /// All threads have waited for each other.
    pub(super) fn barrier(&mut self) {
        for at in std::mem::take(&mut self.touched) {
            if let Some(element) = self.elements.get_mut(&at) {
                (element.writer, element.readers) = (None, Readers::None);
            }
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

    /// Whether both hold the same everywhere. Bytes that one of them has not accessed are unchanged.
    pub(super) fn same(&self, other: &Memory) -> bool {
        let within = |one: &Memory, other: &Memory| {
            one.elements.iter().filter(|(_, element)| element.written).all(|(at, element)| {
                let counterpart = other.elements.get(at);
                counterpart
                    .is_some_and(|known| (known.bytes, known.term) == (element.bytes, element.term))
            })
        };
        within(self, other) && within(other, self)
    }
}
