//! A stretch of memory as 32-bit words, and how elements are read and written in it.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Zeroed memory of at least `bytes` bytes; what nobody touches takes no room.
pub(crate) fn new_words(bytes: u64) -> Vec<AtomicU32> {
    bytemuck::zeroed_vec(bytes.div_ceil(4) as usize)
}

/// Unwritten memory of at least `bytes`: junk, the same in every run, with `first` as the number of
/// its first word.
pub(crate) fn new_junk(first: u64, bytes: u64) -> Vec<AtomicU32> {
    let words = first..first + bytes.div_ceil(4);
    words.map(|word| AtomicU32::new(junk(word))).collect()
}

/// The initial contents of memory, a function of the seed and the number of the word.
fn junk(word: u64) -> u32 {
    const SEED: u64 = 0x5bd1_e995_9d1c_40c7;
    let bits = (word ^ SEED).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((bits ^ bits >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 32) as u32
}

/// The marks of as many bytes that nobody has written: a bit for each bit.
pub(crate) fn new_unwritten(bytes: u64) -> Vec<AtomicU32> {
    std::iter::repeat_with(|| AtomicU32::new(u32::MAX)).take(bytes.div_ceil(4) as usize).collect()
}

/// A part of the address space as one lane sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window<'a> {
    /// Address of its first byte in the state space that is accessed.
    pub base: u64,
    /// Its length in bytes.
    pub len: u64,
    /// Its words.
    pub words: &'a [AtomicU32],
    /// log2 of the distance of neighbouring words; 5 in local memory, whose lanes are interleaved.
    pub spread: u32,
    /// The region's index, if the window is that of a region.
    pub region: Option<usize>,
    /// For each bit whether it is poison: nobody has written it, or a value that depends on such bits was. None where that
    /// is not asked.
    pub poison: Option<&'a [AtomicU32]>,
    /// What [`Window::poison_source`] returns, two words for each word.
    pub sources: Option<&'a [AtomicU32]>,
    /// The value of a word of `poison` whose bits are all determined: 0, or all ones.
    pub unmarked: u32,
}

/// The marks of poison of a part of the address space.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MarksOf<'a>(Window<'a>);

impl MarksOf<'_> {
    #[inline(always)]
    fn unmarked(&self, bytes: u32) -> u64 {
        let word = u64::from(self.0.unmarked);
        (word << 32 | word) & u64::MAX >> (64 - 8 * bytes.min(8))
    }

    /// The poisoned bits of an element, as [`Window::read`].
    #[inline(always)]
    pub(crate) fn read(&self, offset: u64, lane: usize, bytes: u32) -> u64 {
        self.0.read(offset, lane, bytes) ^ self.unmarked(bytes)
    }

    /// The poisoned bits of the word at an aligned offset.
    #[inline(always)]
    pub(crate) fn read32(&self, offset: u64, lane: usize) -> u32 {
        self.0.read32(offset, lane) ^ self.0.unmarked
    }

    /// Sets which bits of an element are poison, as [`Window::write`].
    #[inline(always)]
    pub(crate) fn write(&self, offset: u64, lane: usize, bytes: u32, poisoned: u64) {
        self.0.write(offset, lane, bytes, poisoned ^ self.unmarked(bytes));
    }
}

impl<'a> Window<'a> {
    /// The same part of the marks of poison.
    #[inline(always)]
    pub(crate) fn marks(&self) -> Option<MarksOf<'a>> {
        Some(MarksOf(Window { words: self.poison?, poison: None, ..*self }))
    }

    /// Where the poison of the word at an offset of a region was read before it was copied there.
    pub(crate) fn poison_source(&self, offset: u64) -> Option<u64> {
        let at = 2 * (offset >> 2) as usize;
        let half = |place: usize| Some(u64::from(self.sources?.get(place)?.load(Relaxed)));
        Some(half(at)? | half(at + 1)? << 32)
    }
}

impl Window<'_> {
    /// The offset of an access in the window, in bytes; `None` if the access does not lie inside.
    #[inline(always)]
    pub(crate) fn offset(&self, address: u64, bytes: u32) -> Option<u64> {
        let offset = address.wrapping_sub(self.base);
        let inside = offset < self.len && u64::from(bytes) <= self.len - offset;
        inside.then_some(offset)
    }

    #[inline(always)]
    fn word(&self, offset: u64, lane: usize) -> &AtomicU32 {
        let interleaved = if self.spread == 0 { 0 } else { lane };
        &self.words[((offset as usize >> 2) << self.spread) + interleaved]
    }

    /// Reads the 32-bit word at an aligned offset.
    #[inline(always)]
    pub(crate) fn read32(&self, offset: u64, lane: usize) -> u32 {
        self.word(offset, lane).load(Relaxed)
    }

    /// Reads an element of 1, 2, 4 or 8 bytes, zero-extended, at an aligned offset.
    #[inline(always)]
    pub(crate) fn read(&self, offset: u64, lane: usize, bytes: u32) -> u64 {
        let low = self.word(offset, lane).load(Relaxed);
        match bytes {
            1 => u64::from(low >> (8 * (offset & 3)) & 0xff),
            2 => u64::from(low >> (8 * (offset & 2)) & 0xffff),
            4 => u64::from(low),
            _ => u64::from(low) | u64::from(self.word(offset + 4, lane).load(Relaxed)) << 32,
        }
    }

    /// Writes the low bits of a value as an element of 1, 2, 4 or 8 bytes at an aligned offset.
    #[inline(always)]
    pub(crate) fn write(&self, offset: u64, lane: usize, bytes: u32, value: u64) {
        let word = self.word(offset, lane);
        let part = |shift: u64, mask: u32| {
            let old = word.load(Relaxed) & !(mask << shift);
            word.store(old | (value as u32 & mask) << shift, Relaxed);
        };
        match bytes {
            1 => part(8 * (offset & 3), 0xff),
            2 => part(8 * (offset & 2), 0xffff),
            4 => word.store(value as u32, Relaxed),
            _ => {
                word.store(value as u32, Relaxed);
                self.word(offset + 4, lane).store((value >> 32) as u32, Relaxed);
            }
        }
    }
}
