//! Global and constant memory: module variables and the launch's buffers.

use std::collections::BTreeMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::{StateSpaceLayout, Window, new_words};
use crate::interp::fault::Fault;
use crate::ptx::StateSpace;

/// A buffer or a module variable.
#[derive(Debug)]
pub(crate) struct Region {
    /// The buffer's or variable's name.
    pub name: String,
    /// Whether it is in global or constant memory.
    pub space: StateSpace,
    /// Its length in bytes.
    pub len: u64,
    words: Vec<AtomicU32>,
    /// The marks of poison, once a bulk copy has brought some here.
    poison: OnceLock<Vec<AtomicU32>>,
    /// For each word where that poison was read: the lower half and the upper half.
    sources: OnceLock<Vec<AtomicU32>>,
    /// The value of a word of the marks whose bits are all determined.
    unmarked: u32,
}

impl Region {
    fn new(name: &str, space: StateSpace, bytes: &[u8]) -> Region {
        let words = new_words(bytes.len() as u64);
        let (whole, rest) = bytes.as_chunks();
        let mut last = [0; 4];
        last[..rest.len()].copy_from_slice(rest);
        for (word, chunk) in words.iter().zip(whole.iter().chain([&last])) {
            // Zeros that nobody writes take no room.
            if *chunk != [0; 4] {
                word.store(u32::from_le_bytes(*chunk), Relaxed);
            }
        }
        let (name, len) = (name.to_owned(), bytes.len() as u64);
        Region {
            name,
            space,
            len,
            words,
            poison: OnceLock::new(),
            sources: OnceLock::new(),
            unmarked: 0,
        }
    }

    /// Notes that bits of the word at an aligned offset are poison that was read at `source`.
    pub(crate) fn poison(&self, offset: u64, bits: u32, source: u64) {
        let (bytes, at) = (4 * self.words.len() as u64, (offset >> 2) as usize);
        let marks = self.poison.get_or_init(|| new_words(bytes));
        marks[at].store(bits ^ self.unmarked, Relaxed);
        let sources = self.sources.get_or_init(|| new_words(2 * bytes));
        sources[2 * at].store(source as u32, Relaxed);
        sources[2 * at + 1].store((source >> 32) as u32, Relaxed);
    }

    /// Follows poison here from now on: all bits are poison, or none.
    pub(crate) fn follow(&mut self, poisoned: bool) {
        self.unmarked = if poisoned { u32::MAX } else { 0 };
        self.poison = OnceLock::from(new_words(4 * self.words.len() as u64));
    }

    /// The bits of an element of 1, 2, 4 or 8 bytes at an aligned offset, and those of them that are poison.
    pub(crate) fn element(&self, offset: u64, bytes: u32) -> (u64, u64) {
        let window = self.window_at(0, None);
        let poisoned = window.marks().map_or(0, |marks| marks.read(offset, 0, bytes));
        (window.read(offset, 0, bytes), poisoned)
    }

    #[inline(always)]
    fn window_at(&self, base: u64, region: Option<usize>) -> Window<'_> {
        let poison = self.poison.get().map(Vec::as_slice);
        let sources = self.sources.get().map(Vec::as_slice);
        let (words, unmarked) = (self.words.as_slice(), self.unmarked);
        Window { base, len: self.len, words, spread: 0, region, poison, sources, unmarked }
    }

    /// Whether a bulk copy has brought poison here.
    pub(crate) fn has_poison(&self) -> bool {
        self.poison.get().is_some()
    }

    /// Its bytes that hold poison: how many there are, and the offset of the first one.
    pub(crate) fn poisoned(&self) -> Option<(u64, u64)> {
        let marks = self.poison.get()?;
        let poisoned = |&at: &u64| {
            let bits = marks[(at >> 2) as usize].load(Relaxed) ^ self.unmarked;
            bits >> (8 * (at & 3)) & 0xff != 0
        };
        let first = (0..self.len).find(poisoned)?;
        Some(((first..self.len).filter(poisoned).count() as u64, first))
    }

    /// Its present contents.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; 4 * self.words.len()];
        for (to, word) in bytes.chunks_exact_mut(4).zip(&self.words) {
            to.copy_from_slice(&word.load(Relaxed).to_le_bytes());
        }
        bytes.truncate(self.len as usize);
        bytes
    }
}

/// All regions of a launch.
#[derive(Debug)]
pub(crate) struct Global {
    regions: Vec<Region>,
    shift: u32,
}

impl Global {
    /// The module's variables with their initial values or those that `given` has, followed by the buffers in their order.
    ///
    /// # Errors
    /// A buffer is larger than an address window.
    pub(crate) fn new<'b>(
        layout: &StateSpaceLayout,
        given: &BTreeMap<String, Vec<u8>>,
        buffers: impl Iterator<Item = (&'b str, &'b [u8])>,
    ) -> Result<Global, Fault> {
        let statics = layout.statics.iter().map(|s| {
            let bytes = given.get(&s.name).unwrap_or(&s.bytes);
            (s.name.as_str(), s.space, bytes.as_slice())
        });
        let buffers = buffers.map(|(name, bytes)| (name, StateSpace::Global, bytes));
        let mut regions = Vec::new();
        for (name, space, bytes) in statics.chain(buffers) {
            if bytes.len() as u64 > layout.region_limit() {
                return Err(Fault::launch(format!(
                    "`{name}` has {} bytes; at most {} are possible",
                    bytes.len(),
                    layout.region_limit()
                )));
            }
            regions.push(Region::new(name, space, bytes));
        }
        Ok(Global { regions, shift: layout.shift })
    }

    /// The regions, module variables first.
    pub(crate) fn regions(&self) -> &[Region] {
        &self.regions
    }

    /// The same, for changes.
    pub(crate) fn regions_mut(&mut self) -> &mut Vec<Region> {
        &mut self.regions
    }

    /// The region whose window holds an address (the address may still lie behind its end).
    #[inline(always)]
    pub(crate) fn window(
        &self,
        layout: &StateSpaceLayout,
        address: u64,
    ) -> Option<(Window<'_>, &Region)> {
        let index = layout.region_index(address)?;
        let region = self.regions.get(index)?;
        let base = address >> self.shift << self.shift;
        let window = region.window_at(base, Some(index));
        Some((window, region))
    }
}
