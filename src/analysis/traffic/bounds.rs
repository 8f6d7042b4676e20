//! The least and the greatest count of a pattern of addresses, over everything that the pattern leaves open.

use rustc_hash::FxHashMap;

use super::count::{self, BANK_BYTES, SECTOR};
use crate::isa::banks;
use crate::lanes::LANES;

/// The most requests that are counted for one pattern; of a pattern that needs more, only bounds are known.
const MAX_REQUESTS: i64 = 60_000;

/// The unit that is counted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Counted {
    /// Sectors of 32 bytes.
    Sectors,
    /// Wavefronts of shared memory.
    Wavefronts,
    /// Passes of atomic operations on shared memory.
    Passes,
}

/// A uniform factor that is not known, times an integer per lane.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Unknown {
    /// Low bits that are zero in all its values.
    pub zeros: u32,
    /// The least value.
    pub low: i64,
    /// The greatest value.
    pub high: i64,
    /// The integers.
    pub lanes: [i64; LANES],
}

/// The addresses of a request: `base + numbers[lane] + Σ factor * lanes[lane]`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Pattern {
    /// The unit that is counted.
    pub counted: Counted,
    /// Bytes of each lane; its address is a multiple of them.
    pub bytes: i64,
    /// The lanes that take part, a bit for each.
    pub mask: u32,
    /// Their number. Everything per lane holds for these, in order.
    pub lanes: usize,
    /// Low bits of the base that are known.
    pub known_bits: u32,
    /// Their value.
    pub base: i64,
    /// The numbers.
    pub numbers: [i64; LANES],
    /// Factors that differ between lanes.
    pub unknowns: Vec<Unknown>,
}

/// The counts of an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Span {
    /// The least.
    pub min: u32,
    /// The greatest.
    pub max: u32,
    /// The count that would hold the same bytes.
    pub ideal: u32,
    /// The least value above zero of the unknown factor from which on the count is always the greatest; 0 if it is for
    /// all of them, `None` for several factors, or where counts never stay at the greatest.
    pub from: Option<u64>,
    /// The least count while the unknown factor is not 0; `None` unless there is one such factor.
    pub moved: Option<u32>,
    /// The least count while the unknown factors are so large that lanes which they move differently share nothing; `None`
    /// without such a factor, or if it is never so large.
    pub apart: Option<u32>,
}

impl Span {
    /// The span that holds both.
    pub fn join(self, other: Span) -> Span {
        Span {
            min: self.min.min(other.min),
            max: self.max.max(other.max),
            ideal: if other.max > self.max { other.ideal } else { self.ideal },
            from: self.from.zip(other.from).map(|(one, other)| one.max(other)),
            moved: self.moved.zip(other.moved).map(|(one, other)| one.min(other)),
            apart: self.apart.zip(other.apart).map(|(one, other)| one.min(other)),
        }
    }

    /// The bounds that hold for every request of `lanes` lanes.
    pub fn of_any(counted: Counted, bytes: i64, lanes: usize) -> Span {
        let lanes_count = lanes as u32;
        let (min, ideal) = match counted {
            Counted::Sectors => {
                (count::holding(bytes, SECTOR), count::holding(lanes as i64 * bytes, SECTOR))
            }
            Counted::Wavefronts => {
                let phases = lanes.div_ceil(banks::together(bytes as u64)) as u32;
                (phases, phases)
            }
            Counted::Passes => (1, 1),
        };
        let per_lane = if counted == Counted::Sectors { min } else { 1 };
        Span { min, max: lanes_count * per_lane, ideal, from: None, moved: None, apart: None }
    }
}

/// Spans by pattern: accesses of a kernel mostly repeat a few.
#[derive(Default)]
pub(super) struct Spans {
    known: FxHashMap<Pattern, Option<Span>>,
}

impl Spans {
    /// The span of a pattern; `None` if no base makes all addresses multiples of the size.
    pub(super) fn of(&mut self, pattern: Pattern) -> Option<Span> {
        if let Some(known) = self.known.get(&pattern) {
            return *known;
        }
        let span = match &pattern.unknowns[..] {
            [] => over_bases(&pattern, &pattern.numbers),
            [unknown] => over_factor(&pattern, unknown),
            _ => by_groups(&pattern),
        };
        self.known.insert(pattern, span);
        span
    }
}

/// One request.
fn counted(pattern: &Pattern, base: i64, numbers: &[i64; LANES]) -> Span {
    let addresses: [i64; LANES] = std::array::from_fn(|lane| base + numbers[lane]);
    let addresses = &addresses[..pattern.lanes];
    let bytes = pattern.bytes;
    let (count, ideal) = match pattern.counted {
        Counted::Sectors => {
            let held = i64::from(count::distinct(addresses)) * bytes;
            (count::pieces(addresses, bytes, SECTOR), count::holding(held, SECTOR))
        }
        Counted::Wavefronts => {
            let least = banks::least(addresses, pattern.mask, bytes as u64);
            (count::wavefronts(addresses, pattern.mask, bytes), least)
        }
        Counted::Passes => (count::passes(addresses), 1),
    };
    Span { min: count, max: count, ideal, from: None, moved: None, apart: None }
}

/// The span over all bases, numbers per lane being known.
fn over_bases(pattern: &Pattern, numbers: &[i64; LANES]) -> Option<Span> {
    // (Banks repeat each 128 bytes; their wavefronts are the same for all bases of whole words.)
    let (period, counted_below) = match pattern.counted {
        Counted::Sectors => (SECTOR, SECTOR),
        Counted::Wavefronts | Counted::Passes => (BANK_BYTES, 4),
    };
    let known_bits = pattern.known_bits.min(period.trailing_zeros());
    let natural = pattern.bytes.max(1);
    let modulo = natural.min(period);
    let aligned =
        |base: i64| numbers[..pattern.lanes].iter().all(|number| (base + number) % modulo == 0);
    let step = 1 << known_bits;
    let first = pattern.base.rem_euclid(step);
    let all = (first..period).step_by(step as usize).filter(|&base| aligned(base));
    let mut span: Option<Span> = None;
    for base in all {
        if span.is_some() && base >= counted_below.max(step) {
            break;
        }
        let one = counted(pattern, base, numbers);
        span = Some(span.map_or(one, |span| span.join(one)));
    }
    span
}

/// The span over all values of one factor. Beyond a value, groups of lanes that the factor moves alike share nothing any
/// more, and the count depends on the factor modulo 128.
fn over_factor(pattern: &Pattern, unknown: &Unknown) -> Option<Span> {
    let mut moves = unknown.lanes[..pattern.lanes].to_vec();
    moves.sort_unstable();
    moves.dedup();
    let apart = moves.windows(2).map(|two| two[1] - two[0]).min().unwrap_or(1).max(1);
    let numbers = &pattern.numbers[..pattern.lanes];
    let low = numbers.iter().min().copied().unwrap_or(0);
    let width = numbers.iter().max().copied().unwrap_or(0).checked_sub(low)?;
    let period = if pattern.counted == Counted::Sectors { SECTOR } else { BANK_BYTES };
    let beyond = (width.checked_add(2 * period)? / apart).checked_add(1)?;
    let step = 1_i64 << unknown.zeros.min(40);
    let last = beyond.checked_add(period)?.div_euclid(step) + 1;
    let (first, last) = (
        (-last).max(unknown.low.clamp(-beyond, beyond).div_euclid(step)),
        last.min(unknown.high.clamp(-beyond, beyond).div_euclid(step) + period),
    );
    if last - first > MAX_REQUESTS / 16 {
        return by_groups(pattern);
    }
    let mut span: Option<Span> = None;
    let mut counts: Vec<(i64, u32)> = Vec::new();
    let (mut moved, mut apart): (Option<u32>, Option<u32>) = (None, None);
    for value in (first..=last).map(|value| value * step) {
        let mut all = pattern.numbers;
        for (number, by) in all.iter_mut().zip(&unknown.lanes) {
            *number = number.checked_add(by.checked_mul(value)?)?;
        }
        if let Some(one) = over_bases(pattern, &all) {
            span = Some(span.map_or(one, |span| span.join(one)));
            counts.push((value, one.max));
            if value != 0 {
                moved = Some(moved.map_or(one.min, |moved| moved.min(one.min)));
            }
            if value.abs() > beyond {
                apart = Some(apart.map_or(one.min, |apart| apart.min(one.min)));
            }
        }
    }
    let mut span = span?;
    span.from = greatest_from(&counts, span.max, beyond);
    span.moved = moved;
    span.apart = apart;
    Some(span)
}

/// The value from which on a count is the greatest one, of counts by values in ascending order. (Behind `beyond`
/// counts repeat, so one that is less there is so for ever.)
fn greatest_from(counts: &[(i64, u32)], most: u32, beyond: i64) -> Option<u64> {
    let positive = counts.iter().filter(|(value, _)| *value > 0);
    let Some(below) = positive.filter(|(_, count)| *count < most).map(|(value, _)| *value).max()
    else {
        return Some(0);
    };
    let next = counts.iter().map(|(value, _)| *value).find(|value| *value > below);
    next.filter(|_| below <= beyond).map(|value| value as u64)
}

/// Bounds for factors that move lanes independently: lanes that all factors move alike keep their distances.
fn by_groups(pattern: &Pattern) -> Option<Span> {
    let moves = |lane: usize| pattern.unknowns.iter().map(move |unknown| unknown.lanes[lane]);
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for lane in 0..pattern.lanes {
        match groups.iter_mut().find(|group| moves(group[0]).eq(moves(lane))) {
            Some(group) => group.push(lane),
            None => groups.push(vec![lane]),
        }
    }
    let any = Span::of_any(pattern.counted, pattern.bytes, pattern.lanes);
    if pattern.counted != Counted::Sectors {
        return Some(any);
    }
    let mut span: Option<Span> = None;
    for group in groups {
        let first = pattern.numbers[group[0]];
        let mut numbers = [0; LANES];
        for (at, lane) in group.iter().enumerate() {
            numbers[at] = pattern.numbers[*lane] - first;
        }
        let alone = Pattern { lanes: group.len(), known_bits: 0, base: 0, ..pattern.clone() };
        let one = over_bases(&alone, &numbers)?;
        let one = Span { apart: Some(one.min), ..one };
        span = Some(span.map_or(one, |span| Span {
            min: span.min.max(one.min),
            max: span.max + one.max,
            ideal: 0,
            from: None,
            moved: None,
            apart: span.apart.zip(one.apart).map(|(one, other)| one + other),
        }));
    }
    span.map(|span| Span { ideal: any.ideal.min(span.max), ..span })
}

#[cfg(feature = "internals")]
mod tests {
    use super::*;

    crate::unit_tests!(
        rows_at_all_bases,
        columns_of_unknown_length,
        tiles_of_two_rows,
        the_least_value_of_the_greatest_count
    );

    fn pattern(stride: i64, known_bits: u32) -> Pattern {
        Pattern {
            counted: Counted::Sectors,
            bytes: 4,
            mask: u32::MAX,
            lanes: LANES,
            known_bits,
            base: 0,
            numbers: std::array::from_fn(|lane| stride * lane as i64),
            unknowns: Vec::new(),
        }
    }

    fn span(pattern: Pattern) -> (u32, u32, u32) {
        let span = Spans::default().of(pattern).expect("some base is aligned");
        (span.min, span.max, span.ideal)
    }

    fn rows_at_all_bases() {
        assert_eq!(span(pattern(4, 8)), (4, 4, 4));
        assert_eq!(span(pattern(4, 0)), (4, 5, 4));
        assert_eq!(span(Pattern { base: 4, ..pattern(4, 8) }), (5, 5, 4));
        assert_eq!(span(pattern(0, 0)), (1, 1, 1));
        assert_eq!(span(pattern(16, 8)), (16, 16, 4));
        assert_eq!(span(pattern(16, 0)), (16, 17, 4));
        let shared = Pattern { counted: Counted::Wavefronts, ..pattern(128, 0) };
        assert_eq!(span(shared), (32, 32, 1));
    }

    fn columns_of_unknown_length() {
        let unknown = Unknown {
            zeros: 0,
            low: 1,
            high: i64::MAX,
            lanes: std::array::from_fn(|lane| 4 * lane as i64),
        };
        let columns = Pattern { unknowns: vec![unknown.clone()], ..pattern(0, 2) };
        assert_eq!(span(columns.clone()), (4, 32, 4));
        let found = Spans::default().of(columns.clone()).expect("a span");
        assert_eq!(found.from, Some(8));
        let any = Unknown { low: i64::MIN, ..unknown.clone() };
        assert_eq!(span(Pattern { unknowns: vec![any], ..columns.clone() }).0, 1);
        let two = Unknown { lanes: unknown.lanes.map(|one| one / 2), ..unknown.clone() };
        assert_eq!(span(Pattern { unknowns: vec![unknown, two], ..columns }), (1, 32, 4));
    }

    /// Counts of the values around the threshold, one by one.
    fn the_least_value_of_the_greatest_count() {
        // Bytes of a lane, bytes per unit of the factor, known bits of the base and their value, the threshold.
        for (bytes, times, known_bits, base, from) in [
            (1, 1, 8, 0, 32),
            (1, 1, 8, 31, 31),
            (1, 1, 0, 0, 31),
            (2, 2, 8, 30, 16),
            (2, 1, 8, 30, 32),
            (4, 1, 8, 0, 32),
            (4, 4, 2, 0, 8),
            (16, 16, 8, 16, 2),
        ] {
            let lanes = std::array::from_fn(|lane| times * lane as i64);
            let unknown = Unknown { zeros: 0, low: i64::MIN, high: i64::MAX, lanes };
            let shape = Pattern { bytes, base, ..pattern(0, known_bits) };
            let of_all = Pattern { unknowns: vec![unknown], ..shape.clone() };
            let found = Spans::default().of(of_all).expect("a span");
            assert_eq!((found.max, found.from), (32, Some(from)), "{shape:?}");
            let counts: Vec<(i64, u32)> = (1..200)
                .filter_map(|value| {
                    let span = over_bases(&shape, &lanes.map(|lane| lane * value))?;
                    Some((value, span.max))
                })
                .collect();
            let before = counts.iter().rfind(|(value, _)| *value < from as i64);
            assert!(before.is_none_or(|(_, count)| *count < 32), "{shape:?}");
            let mut behind = counts.iter().filter(|(value, _)| *value >= from as i64);
            assert!(behind.all(|(_, count)| *count == 32), "{shape:?}");
        }
        // Rows of 16 bytes: two sectors each, but one where the distance is a multiple of 16.
        let unknown = Unknown {
            zeros: 0,
            low: 1,
            high: i64::MAX,
            lanes: std::array::from_fn(|lane| 4 * (lane as i64 / 4)),
        };
        let numbers = std::array::from_fn(|lane| 4 * (lane as i64 % 4));
        let rows = Pattern { numbers, unknowns: vec![unknown], ..pattern(0, 8) };
        assert_eq!(Spans::default().of(rows).expect("a span").from, None);
    }

    fn tiles_of_two_rows() {
        // 16 threads in a row, rows at a distance that is a multiple of 32 bytes, then at any.
        let unknown = |zeros| Unknown {
            zeros,
            low: i64::MIN,
            high: i64::MAX,
            lanes: std::array::from_fn(|lane| 4 * (lane as i64 / 16)),
        };
        let tile = |zeros, known_bits| Pattern {
            numbers: std::array::from_fn(|lane| 4 * (lane as i64 % 16)),
            unknowns: vec![unknown(zeros)],
            ..pattern(0, known_bits)
        };
        assert_eq!(span(tile(3, 8)), (2, 4, 4));
        assert_eq!(span(tile(0, 8)), (2, 5, 4));
    }
}
