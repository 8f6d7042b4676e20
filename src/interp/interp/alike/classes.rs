//! The blocks of one launch, by the executed block that does the same.
//!
//! In: the [`Trace`] of some blocks. Out: for each block the one that was executed in its place, and which block accesses which
//! bytes that are written.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use rangemap::{RangeMap, RangeSet};

use super::axes::moved;
use super::observer::{Touched, Trace};
use super::{AXES, Slope};

/// The blocks that are executed before the effort is weighed.
const TRIAL: u64 = 8;
/// The fewest blocks that each executed one has to stand for.
pub(super) const WORTH: u64 = 4;
/// The most ranges of bytes that are looked at.
const MOST_RANGES: usize = 1 << 22;

/// The blocks of a launch, by the executed one that does the same.
#[derive(Debug, Default)]
pub struct Classes {
    /// The executed blocks, each with its trace.
    executed: Vec<(u64, Trace)>,
    /// The number of the executed one for each block.
    of: Vec<Option<u32>>,
    covered: u64,
}

/// Why a few blocks do not stand for all.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Apart {
    /// Two blocks of a launch access the same bytes of this buffer, and one of them writes; which two, if they are known.
    Shared(String, Option<[u64; 2]>),
    /// Each executed block stands for few others; why, if that is known.
    Few(Option<String>),
}

/// The blocks that access the bytes of buffers which some block writes.
#[derive(Debug, Default)]
pub(super) struct Owners {
    /// The block of each byte, by the buffer's name.
    bytes: BTreeMap<String, RangeMap<u64, u64>>,
    /// The buffers that all blocks add to.
    pub sums: BTreeSet<String>,
}

impl Owners {
    /// The block that accesses a byte.
    pub(super) fn at(&self, buffer: &str, byte: u64) -> Option<u64> {
        self.bytes.get(buffer)?.get(&byte).copied()
    }

    /// The blocks that access some bytes, each with the first of these bytes.
    pub(super) fn within(
        &self,
        buffer: &str,
        bytes: Range<u64>,
    ) -> impl Iterator<Item = (u64, u64)> {
        let ranges = self.bytes.get(buffer).into_iter();
        let (start, found) =
            (bytes.start, ranges.flat_map(move |all| all.overlapping(bytes.clone())));
        found.map(move |(range, &block)| (block, range.start.max(start)))
    }
}

impl Classes {
    /// The next block to execute; none if all are covered.
    pub(crate) fn next(&self) -> Option<u64> {
        if self.of.is_empty() {
            return Some(0);
        }
        self.of.iter().position(Option::is_none).map(|next| next as u64)
    }

    /// Notes that a block was executed.
    ///
    /// # Errors
    /// The effort is not worth it.
    pub(crate) fn add(&mut self, block: u64, trace: Trace) -> Result<(), Apart> {
        let axes = trace.axes;
        if self.of.is_empty() {
            self.of = vec![None; axes.blocks() as usize];
        }
        let (number, origin) = (self.executed.len() as u32, axes.indices(block));
        for (other, class) in self.of.iter_mut().enumerate().filter(|(_, class)| class.is_none()) {
            let is_alike =
                trace.obstacle.is_none() && trace.reaches(origin, axes.indices(other as u64));
            if is_alike || other as u64 == block {
                *class = Some(number);
                self.covered += 1;
            }
        }
        let obstacle = trace.obstacle.clone();
        self.executed.push((block, trace));
        let executed = self.executed.len() as u64;
        let is_whole = self.covered == self.of.len() as u64;
        if !is_whole && executed >= TRIAL && self.covered < WORTH * executed {
            return Err(Apart::Few(obstacle));
        }
        Ok(())
    }

    /// How many blocks there are.
    pub(super) fn blocks(&self) -> u64 {
        self.of.len() as u64
    }

    /// The number of the executed block that does the same as a block.
    pub(super) fn class(&self, block: u64) -> Option<u32> {
        self.of.get(block as usize).copied().flatten()
    }

    /// What a block accesses: the buffer, the slope, and the bytes of the executed block in whose place it stands.
    pub(super) fn accesses(&self, block: u64) -> impl Iterator<Item = (&str, Slope, &Touched)> {
        let executed = self.class(block).and_then(|class| self.executed.get(class as usize));
        executed.into_iter().flat_map(|(_, trace)| trace.by_name())
    }

    /// How far the bytes with a slope move from one block to another.
    pub(super) fn distance(&self, slope: Slope, from: u64, to: u64) -> i128 {
        let indices = |block: u64| -> [i64; AXES] {
            self.executed.first().map_or([0; AXES], |(_, trace)| trace.axes.indices(block))
        };
        moved(slope, indices(from), indices(to))
    }

    /// How far the bytes with a slope move to a block from the executed one in whose place it stands.
    pub(super) fn shift(&self, slope: Slope, block: u64) -> i128 {
        let executed = self.class(block).and_then(|class| self.executed.get(class as usize));
        executed.map_or(0, |&(origin, _)| self.distance(slope, origin, block))
    }

    /// Which block accesses which byte of the buffers that some block writes.
    ///
    /// # Errors
    /// Two blocks access the same bytes, or there is too much to look at.
    pub(super) fn owners(&self) -> Result<Owners, Apart> {
        let all = || self.executed.iter().flat_map(|(_, trace)| trace.by_name());
        let is_changed =
            |touched: &Touched| !touched.written.is_empty() || !touched.summed.is_empty();
        let is_sum = |touched: &Touched| touched.written.is_empty() && touched.read.is_empty();
        let changed = all().filter(|(.., touched)| is_changed(touched));
        let changed: BTreeSet<&str> = changed.map(|(name, ..)| name).collect();
        let mut owners = Owners::default();
        for name in changed {
            if all().filter(|access| access.0 == name).all(|(.., touched)| is_sum(touched)) {
                owners.sums.insert(name.to_owned());
            } else {
                owners.bytes.insert(name.to_owned(), self.owners_of(name)?);
            }
        }
        Ok(owners)
    }

    fn owners_of(&self, name: &str) -> Result<RangeMap<u64, u64>, Apart> {
        let mut owners: RangeMap<u64, u64> = RangeMap::new();
        let mut ranges = 0;
        for block in 0..self.blocks() {
            let mut own: RangeSet<u64> = RangeSet::new();
            for (_, slope, touched) in self.accesses(block).filter(|access| access.0 == name) {
                let shift = self.shift(slope, block);
                let moved = |range: &Range<u64>| shifted(range, shift);
                let all = touched.read.iter().chain(touched.written.iter());
                own.extend(all.chain(touched.summed.iter()).map(moved));
            }
            ranges += own.len();
            if ranges > MOST_RANGES {
                return Err(Apart::Few(Some(format!("`{name}` is accessed in small pieces"))));
            }
            for range in own {
                if let Some((_, &other)) = owners.overlapping(range.clone()).next()
                    && !planted!(Bug::BlocksMeet)
                {
                    return Err(Apart::Shared(name.to_owned(), Some([other, block])));
                }
                owners.insert(range, block);
            }
        }
        Ok(owners)
    }
}

/// A range of bytes, moved.
pub(super) fn shifted(range: &Range<u64>, shift: i128) -> Range<u64> {
    let at = |byte: u64| (i128::from(byte) + shift) as u64;
    at(range.start)..at(range.end)
}

impl Trace {
    /// The accesses to each region, by its name: their slope, and the bytes.
    fn by_name(&self) -> impl Iterator<Item = (&str, Slope, &Touched)> {
        let name = |region: usize| self.regions.get(region).map_or("", String::as_str);
        self.touched.iter().map(move |(&(region, slope), all)| (name(region), slope, all))
    }

    /// Whether a block with other indices does the same.
    fn reaches(&self, origin: [i64; AXES], other: [i64; AXES]) -> bool {
        if planted!(Bug::IntervalsIgnored) {
            return true;
        }
        let mut intervals = self.intervals.iter();
        intervals.all(|(&slope, &(low, high))| (low..=high).contains(&moved(slope, origin, other)))
    }
}
