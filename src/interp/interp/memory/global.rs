//! Global and constant memory: module variables, the launch's buffers, and memory of the host.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::{StateSpaceLayout, Window, new_words};
use crate::interp::fault::Fault;
use crate::ptx::StateSpace;

/// Memory of the host that a kernel reads and writes in place, at its own addresses.
#[derive(Clone, Copy, Debug)]
pub struct HostMemory<'h> {
    /// What messages call it.
    pub name: &'h str,
    /// The address of its first byte, a multiple of 8.
    pub address: u64,
    /// Its words.
    pub words: &'h [AtomicU32],
    /// Whether kernels may only read it.
    pub read_only: bool,
}

/// The words of a region.
#[derive(Debug)]
enum Words<'h> {
    Own(Vec<AtomicU32>),
    Host(&'h [AtomicU32]),
}

impl Deref for Words<'_> {
    type Target = [AtomicU32];

    #[inline(always)]
    fn deref(&self) -> &[AtomicU32] {
        match self {
            Words::Own(words) => words,
            Words::Host(words) => words,
        }
    }
}

/// A buffer, a module variable, or memory of the host.
#[derive(Debug)]
pub(crate) struct Region<'h> {
    /// The buffer's or variable's name.
    pub name: String,
    /// Whether it is in global or constant memory.
    pub space: StateSpace,
    /// The address of its first byte.
    pub base: u64,
    /// Its length in bytes.
    pub len: u64,
    /// Whether it belongs to the host, which does not let it be written.
    pub read_only: bool,
    words: Words<'h>,
    /// The marks of poison, once a bulk copy has brought some here.
    poison: OnceLock<Vec<AtomicU32>>,
    /// For each word where that poison was read: the lower half and the upper half.
    sources: OnceLock<Vec<AtomicU32>>,
    /// The value of a word of the marks whose bits are all determined.
    unmarked: u32,
}

impl<'h> Region<'h> {
    fn new(name: &str, (space, base): (StateSpace, u64), bytes: &[u8]) -> Region<'h> {
        let mut words = new_words(bytes.len() as u64);
        let (whole, rest) = bytes.as_chunks();
        for (word, chunk) in words.iter_mut().zip(whole) {
            // Zeros that nobody writes take no room.
            if *chunk != [0; 4] {
                *word.get_mut() = u32::from_le_bytes(*chunk);
            }
        }
        if let Some(last) = words.get_mut(whole.len()) {
            let mut chunk = [0; 4];
            chunk[..rest.len()].copy_from_slice(rest);
            *last.get_mut() = u32::from_le_bytes(chunk);
        }
        let len = bytes.len() as u64;
        Region::with(name, (space, base), len, Words::Own(words))
    }

    fn with(
        name: &str,
        (space, base): (StateSpace, u64),
        len: u64,
        words: Words<'h>,
    ) -> Region<'h> {
        Region {
            name: name.to_owned(),
            space,
            base,
            len,
            read_only: false,
            words,
            poison: OnceLock::new(),
            sources: OnceLock::new(),
            unmarked: 0,
        }
    }

    fn of_host(memory: &HostMemory<'h>) -> Region<'h> {
        let HostMemory { name, address, words, read_only } = *memory;
        let len = 4 * words.len() as u64;
        let region = Region::with(name, (StateSpace::Global, address), len, Words::Host(words));
        Region { read_only, ..region }
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
        let window = Window { base: 0, ..self.window(None) };
        let poisoned = window.marks().map_or(0, |marks| marks.read(offset, 0, bytes));
        (window.read(offset, 0, bytes), poisoned)
    }

    #[inline(always)]
    fn window(&self, region: Option<usize>) -> Window<'_> {
        let poison = self.poison.get().map(Vec::as_slice);
        let sources = self.sources.get().map(Vec::as_slice);
        let (base, words, unmarked) = (self.base, &*self.words, self.unmarked);
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
        let words: Vec<u32> = self.words.iter().map(|word| word.load(Relaxed).to_le()).collect();
        bytemuck::cast_slice(&words)[..self.len as usize].to_vec()
    }
}

/// All regions of a launch.
#[derive(Debug)]
pub(crate) struct Global<'h> {
    /// Those in windows of their own, and then those of the host, in ascending order.
    regions: Vec<Region<'h>>,
    /// How many regions have windows of their own.
    in_windows: usize,
}

impl<'h> Global<'h> {
    /// The module's variables with their initial values or those that `given` has, followed by the buffers in their order.
    ///
    /// # Errors
    /// A buffer is larger than an address window.
    pub(crate) fn new<'b>(
        layout: &StateSpaceLayout,
        given: &BTreeMap<String, Vec<u8>>,
        buffers: impl Iterator<Item = (&'b str, &'b [u8])>,
    ) -> Result<Global<'h>, Fault> {
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
            let base = layout.region_base(regions.len());
            regions.push(Region::new(name, (space, base), bytes));
        }
        let in_windows = regions.len();
        Ok(Global { regions, in_windows })
    }

    /// The same with memory of the host, in ascending order; without memory in windows that are taken.
    pub(crate) fn with_host(
        mut self,
        layout: &StateSpaceLayout,
        host: &[HostMemory<'h>],
    ) -> Global<'h> {
        let taken = layout.first_window()..layout.region_base(self.in_windows);
        let free = host.iter().filter(|memory| !taken.contains(&memory.address));
        self.regions.extend(free.map(Region::of_host));
        self
    }

    /// Whether kernels reach memory of the host.
    pub(crate) fn has_host(&self) -> bool {
        self.in_windows < self.regions.len()
    }

    /// The regions in windows of their own: module variables, then buffers.
    pub(crate) fn in_windows(&self) -> &[Region<'h>] {
        &self.regions[..self.in_windows]
    }

    /// The index of the region that an address belongs to; the address may still lie behind the region's end.
    #[inline(always)]
    pub(crate) fn index(&self, layout: &StateSpaceLayout, address: u64) -> Option<usize> {
        let index = layout.region_index(address).filter(|&index| index < self.in_windows);
        index.or_else(|| self.host_index(address))
    }

    fn host_index(&self, address: u64) -> Option<usize> {
        let host = &self.regions[self.in_windows..];
        let behind = host.partition_point(|region| region.base <= address);
        Some(self.in_windows + behind.checked_sub(1)?)
    }

    /// The regions, module variables first, memory of the host last.
    pub(crate) fn regions(&self) -> &[Region<'h>] {
        &self.regions
    }

    /// The same, for changes.
    pub(crate) fn regions_mut(&mut self) -> &mut Vec<Region<'h>> {
        &mut self.regions
    }

    /// The region whose window holds an address (the address may still lie behind its end).
    #[inline(always)]
    pub(crate) fn window(
        &self,
        layout: &StateSpaceLayout,
        address: u64,
    ) -> Option<(Window<'_>, &Region<'h>)> {
        let index = self.index(layout, address)?;
        let region = self.regions.get(index)?;
        Some((region.window(Some(index)), region))
    }
}
