//! Which blocks of a launch the executed ones stand for, in two kernels at once.
//!
//! In: for some blocks of both kernels the [`Trace`] of their execution. Out: the blocks that are covered, until all are; or why
//! it cannot be said. Blocks are taken in groups: if one kernel has four times as many of them along x, then four of its blocks
//! and one of the other's are a group, and groups are compared.

use std::collections::{BTreeMap, BTreeSet};

use fixedbitset::FixedBitSet;
use rangemap::RangeSet;

use super::observer::{Touched, Trace};
use super::{LEVEL, Slope};

/// The groups that are executed before the effort is weighed.
const TRIAL: u64 = 8;
/// The fewest groups that each executed one has to stand for.
const WORTH: u64 = 4;
/// The most ranges of bytes that are looked at.
const MOST_RANGES: usize = 1 << 28;

/// The blocks of two launches that are covered.
#[derive(Debug)]
pub struct Cover {
    grids: [[u64; 3]; 2],
    /// Groups along each axis.
    groups: [u64; 3],
    covered: FixedBitSet,
    classes: Vec<Class>,
}

/// Groups that are alike.
#[derive(Debug)]
struct Class {
    /// The one that was executed.
    origin: [u64; 3],
    members: Vec<u64>,
    /// What its execution has shown, in each kernel.
    traces: [Trace; 2],
}

/// Why a few blocks do not stand for all.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Apart {
    /// Two groups access the same bytes of this buffer, and one of them writes.
    Shared(String),
    /// Each executed group stands for few others; why, if that is known.
    Few(Option<String>),
}

impl Cover {
    /// No block of two launches with these grids yet; none if there are too few of them, or they cannot be grouped.
    pub fn new(grids: [[u32; 3]; 2]) -> Option<Cover> {
        let grids = grids.map(|grid| grid.map(u64::from));
        let groups: [u64; 3] = std::array::from_fn(|axis| gcd(grids[0][axis], grids[1][axis]));
        let count = groups.iter().product::<u64>();
        let covered = FixedBitSet::with_capacity(usize::try_from(count).ok()?);
        let classes = Vec::new();
        (count >= TRIAL * WORTH).then_some(Cover { grids, groups, covered, classes })
    }

    /// The next group to execute: its number, and its blocks in each launch. None if all groups are covered.
    pub fn next(&self) -> Option<(u64, [Vec<u64>; 2])> {
        let group = self.covered.zeroes().next()? as u64;
        Some((group, self.grids.map(|grid| self.blocks(group, grid))))
    }

    /// The blocks of a group in a launch.
    fn blocks(&self, group: u64, grid: [u64; 3]) -> Vec<u64> {
        let at = self.index(group);
        let per: [u64; 3] = std::array::from_fn(|axis| grid[axis] / self.groups[axis]);
        let mut blocks = Vec::new();
        for inner in 0..per.iter().product::<u64>() {
            let inner = [inner % per[0], inner / per[0] % per[1], inner / per[0] / per[1]];
            let [x, y, z] = [0, 1, 2].map(|axis| at[axis] * per[axis] + inner[axis]);
            blocks.push(x + grid[0] * (y + grid[1] * z));
        }
        blocks
    }

    fn index(&self, group: u64) -> [u64; 3] {
        let [width, height, _] = self.groups;
        [group % width, group / width % height, group / width / height]
    }

    /// Notes that a group was executed by both kernels, which leave the same. Returns how many groups this covers, itself
    /// among them.
    ///
    /// # Errors
    /// The effort is not worth it.
    pub fn cover(&mut self, group: u64, traces: &[Trace; 2]) -> Result<u64, Apart> {
        let traces = [0, 1].map(|side| self.by_group(side, &traces[side]));
        let origin = self.index(group);
        let obstacle = traces.iter().find_map(|trace| trace.obstacle.clone());
        let obstacle = obstacle.or_else(|| crossing(&traces));
        let is_alike = |&other: &usize| {
            let by = difference(origin, self.index(other as u64));
            obstacle.is_none() && traces.iter().all(|trace| trace.holds(by))
        };
        let mut members: Vec<u64> =
            self.covered.zeroes().filter(is_alike).map(|other| other as u64).collect();
        if members.is_empty() {
            members.push(group);
        }
        let count = members.len() as u64;
        members.iter().for_each(|&member| self.covered.insert(member as usize));
        self.classes.push(Class { origin, members, traces });
        let covered = self.covered.count_ones(..);
        let executed = self.classes.len() as u64;
        let is_whole = covered == self.covered.len();
        if !is_whole && executed >= TRIAL && (covered as u64) < WORTH * executed {
            return Err(Apart::Few(obstacle));
        }
        Ok(count)
    }

    /// A trace by the difference of group indices, in place of block indices.
    fn by_group(&self, side: usize, trace: &Trace) -> Trace {
        let grid = self.grids[side];
        let per = |slope: &Slope| -> Slope {
            let per = |axis: usize| (grid[axis] / self.groups[axis]) as i64;
            std::array::from_fn(|axis| slope[axis].wrapping_mul(per(axis)))
        };
        let (regions, obstacle) = (trace.regions.clone(), trace.obstacle.clone());
        let mut result = Trace { regions, obstacle, ..Trace::default() };
        for (slope, &interval) in &trace.intervals {
            result.stay(per(slope), interval);
        }
        for ((region, slope), touched) in &trace.touched {
            let all = result.touched.entry((*region, per(slope))).or_default();
            all.read.extend(touched.read.iter().cloned());
            all.written.extend(touched.written.iter().cloned());
            all.summed.extend(touched.summed.iter().cloned());
        }
        result
    }

    /// Checks, once all groups are covered, that no group accesses what another one writes.
    ///
    /// # Errors
    /// Two groups do, or there is too much to look at.
    pub fn check(&self) -> Result<(), Apart> {
        for side in [0, 1] {
            let all = || self.classes.iter().flat_map(|class| class.traces[side].by_name());
            let written: BTreeSet<&str> = all()
                .filter(|(_, _, touched)| !touched.written.is_empty() || !touched.summed.is_empty())
                .map(|(name, ..)| name)
                .collect();
            for name in written {
                let mut own = all().filter(|access| access.0 == name);
                let is_sum =
                    |touched: &Touched| touched.written.is_empty() && touched.read.is_empty();
                if !own.all(|(.., touched)| is_sum(touched)) {
                    self.check_buffer(side, name)?;
                }
            }
        }
        Ok(())
    }

    /// Checks that each byte of a buffer is accessed by one group at most.
    fn check_buffer(&self, side: usize, name: &str) -> Result<(), Apart> {
        let mut owned = FixedBitSet::new();
        let mut ranges = 0;
        for class in &self.classes {
            let mut slopes: BTreeMap<Slope, RangeSet<u64>> = BTreeMap::new();
            for (_, slope, all) in class.traces[side].by_name().filter(|access| access.0 == name) {
                // One group alone may access bytes in several ways.
                let slope = if class.members.len() == 1 { LEVEL } else { slope };
                let touched = slopes.entry(slope).or_default();
                for some in [&all.read, &all.written, &all.summed] {
                    touched.extend(some.iter().cloned());
                }
            }
            let moves =
                slopes.iter().flat_map(|slope| class.members.iter().map(move |&m| (slope, m)));
            for ((&slope, touched), member) in moves {
                let shift = moved(slope, difference(class.origin, self.index(member)));
                ranges += touched.len();
                if ranges > MOST_RANGES {
                    return Err(Apart::Few(Some(format!("`{name}` is accessed in pieces"))));
                }
                for range in touched.iter() {
                    let at = |byte: u64| (i128::from(byte) + shift) as usize;
                    let (start, end) = (at(range.start), at(range.end));
                    owned.grow(end);
                    if owned.contains_any_in_range(start..end) {
                        return Err(Apart::Shared(name.to_owned()));
                    }
                    owned.insert_range(start..end);
                }
            }
        }
        Ok(())
    }
}

impl Trace {
    /// The accesses to each region, by its name: their slope, and the bytes.
    fn by_name(&self) -> impl Iterator<Item = (&str, Slope, &Touched)> {
        let name = |region: usize| self.regions.get(region).map_or("", String::as_str);
        self.touched.iter().map(move |(&(region, slope), all)| (name(region), slope, all))
    }

    /// Whether the block indices may differ by `by`.
    fn holds(&self, by: [i128; 3]) -> bool {
        self.intervals.iter().all(|(&slope, &(low, high))| (low..=high).contains(&moved(slope, by)))
    }
}

/// How far an affine value moves.
fn moved(slope: Slope, by: [i128; 3]) -> i128 {
    slope.iter().zip(by).map(|(&slope, by)| i128::from(slope) * by).sum()
}

fn difference(origin: [u64; 3], at: [u64; 3]) -> [i128; 3] {
    std::array::from_fn(|axis| i128::from(at[axis]) - i128::from(origin[axis]))
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// A buffer some of whose bytes are accessed with two slopes: in other groups they would be different ones. A buffer that is
/// written has to have one slope.
fn crossing(traces: &[Trace; 2]) -> Option<String> {
    let mut read: BTreeMap<&str, BTreeMap<Slope, RangeSet<u64>>> = BTreeMap::new();
    let mut written = BTreeSet::new();
    for (name, slope, touched) in traces.iter().flat_map(Trace::by_name) {
        let all = read.entry(name).or_default().entry(slope).or_default();
        all.extend(touched.read.iter().cloned());
        if !touched.written.is_empty() || !touched.summed.is_empty() {
            written.insert(name);
        }
    }
    for (name, slopes) in read.iter().filter(|(_, slopes)| slopes.len() > 1) {
        let all: Vec<&RangeSet<u64>> = slopes.values().collect();
        let meets = |at: usize| {
            all[..at].iter().any(|other| all[at].iter().any(|range| other.overlaps(range)))
        };
        if written.contains(name) || (1..all.len()).any(meets) {
            return Some(format!("elements of `{name}` move by different distances"));
        }
    }
    None
}
